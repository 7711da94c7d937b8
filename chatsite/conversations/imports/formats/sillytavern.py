"""Reads a chat of SillyTavern: a line about the chat, then a line for each message."""

from __future__ import annotations

from typing import Any

from chatsite.conversations.imports.formats import values as of
from chatsite.conversations.imports.formats.values import Chat, FileRef, Node, Said

PROGRAM = "SillyTavern"


def begins(value: Any) -> bool:
    """Whether this is the line about a chat."""
    known = of.fields(value)
    return "chat_metadata" in known or "user_name" in known and "character_name" in known


def is_message(value: Any) -> bool:
    return "mes" in of.fields(value) and "is_user" in of.fields(value)


def read(lines: list[Any]) -> Chat:
    about = of.fields(lines[0]) if begins(lines[0]) else {}
    messages = list(map(of.fields, lines[1:] if about else lines))
    name = of.text(about.get("character_name"))
    names = [of.text(one.get("name")) for one in messages if not one.get("is_user")]
    chat = Chat(
        program=PROGRAM,
        id="",
        title=name or next(filter(None, names), ""),
        created=of.moment(about.get("create_date")),
    )
    former = None
    for index, message in enumerate(messages):
        if message.get("is_system") or of.text(of.fields(message.get("extra")).get("type")):
            chat.left_out["system"] += 1
            continue
        former = _add(chat, str(index), former, message)
    chat.current = former
    return chat


def _add(chat: Chat, name: str, former: str | None, message: dict[str, Any]) -> str:
    """Add a message with its swipes, which are versions, and return the key of the chosen one."""
    role = "user" if message.get("is_user") else "assistant"
    extra, created = of.fields(message.get("extra")), of.moment(message.get("send_date"))
    shown = of.text(message.get("mes"))
    file = of.text(extra.get("image")) or of.text(of.fields(extra.get("file")).get("name"))
    files = (FileRef(name=file.rpartition("/")[2] or "file", key=file),) if file else ()
    swipes, told = of.items(message.get("swipes")), of.items(message.get("swipe_info"))
    chosen = message.get("swipe_id")
    if type(chosen) is not int or not 0 <= chosen < len(swipes):
        chosen, swipes = 0, [shown]
    for index, swipe in enumerate(swipes):
        about = of.fields(told[index]) if index < len(told) else {}
        facts = extra if index == chosen else of.fields(about.get("extra"))
        said = Said(
            role=role,
            text=shown if index == chosen else of.text(swipe),
            reasoning=of.text(facts.get("reasoning")),
            files=files if index == chosen else (),
            model=of.text(facts.get("model")) if role == "assistant" else "",
        )
        at = created if index == chosen else of.moment(about.get("send_date")) or created
        own = f"{name}/{index}"
        chat.nodes.append(Node(key=own, parent=former, said=[said], created=at))
    return f"{name}/{chosen}"
