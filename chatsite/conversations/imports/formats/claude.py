"""Reads the chats of Claude's `conversations.json`: a list of `chat_messages` made of blocks."""

from __future__ import annotations

from typing import Any

from chatsite.conversations.imports.formats import values as of
from chatsite.conversations.imports.formats.values import Chat, FileRef, Node, Said

PROGRAM = "Claude"
ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
# They say something about the answer, and nothing in it.
_ASIDE = ("token_budget", "flag")


def recognises(value: dict[str, Any]) -> bool:
    return isinstance(value.get("chat_messages"), list)


def read(value: dict[str, Any]) -> Chat:
    chat = Chat(
        program=PROGRAM,
        id=of.key(value.get("uuid")) or "",
        title=of.text(value.get("name")),
        created=of.moment(value.get("created_at")),
        updated=of.moment(value.get("updated_at")),
        current=of.key(value.get("current_leaf_message_uuid")),
    )
    messages = [one for one in of.items(value.get("chat_messages")) if isinstance(one, dict)]
    linked = any(of.key(one.get("parent_message_uuid")) for one in messages)
    model, former = of.text(value.get("model")), None
    for index, message in enumerate(messages):
        own = of.key(message.get("uuid")) or f"#{index}"
        parent = of.key(message.get("parent_message_uuid")) if linked else former
        said = _said(chat, message, model)
        created = of.moment(message.get("created_at"))
        chat.nodes.append(Node(key=own, parent=parent, said=said, created=created))
        # Two may have one id: then those below hang on the first.
        former = own
    return chat


def _said(chat: Chat, message: dict[str, Any], model: str) -> list[Said]:
    role = ROLES.get(of.text(message.get("sender")))
    if role is None:
        chat.left_out["role"] += 1
        return []
    blocks = [one for one in of.items(message.get("content")) if isinstance(one, dict)]
    if role == "assistant" and blocks:
        said = _answer(chat, blocks)
    else:
        parts = [of.text(one.get("text")) for one in blocks if one.get("type") == "text"]
        said = [Said(role=role, text=of.joined(parts) or of.text(message.get("text")))]
    if role == "assistant" and all(one.is_empty for one in said):
        said.append(Said(role=role, text=of.text(message.get("text"))))
    said[-1].files = _files(message)
    for one in said:
        one.model = model if one.role == "assistant" else ""
    return said


def _answer(chat: Chat, blocks: list[dict[str, Any]]) -> list[Said]:
    """A message for each call, one for its result, and one for what was said in the end."""
    results = {
        of.key(one.get("tool_use_id")): of.words(one.get("content"))
        for one in blocks
        if one.get("type") == "tool_result"
    }
    said = [Said(role="assistant")]
    for block in blocks:
        kind, id = block.get("type"), of.key(block.get("id"))
        if kind == "thinking":
            said[-1].reasoning += of.text(block.get("thinking"))
        elif kind == "text":
            said[-1].text = of.joined((said[-1].text, of.text(block.get("text"))))
        elif kind == "tool_use":
            input = of.storable(block.get("input"))
            said[-1].call = (
                of.text(block.get("name")) or "tool",
                of.fields(input) or {"input": input},
            )
            if id in results:
                said.append(Said(role="tool", text=results.pop(id)))
            said.append(Said(role="assistant"))
        elif kind != "tool_result" and kind not in _ASIDE:
            chat.left_out["content"] += 1
    # Of calls that aren't there.
    said[-1:-1] = [Said(role="tool", text=one) for one in results.values()]
    return said


def _files(message: dict[str, Any]) -> tuple[FileRef, ...]:
    found = []
    for one in map(of.fields, of.items(message.get("attachments"))):
        name, words = of.text(one.get("file_name")), of.text(one.get("extracted_content"))
        data = words.encode() if words else None
        found.append(FileRef(name=name or "text.txt", key=name, data=data))
    for one in map(of.fields, of.items(message.get("files"))):
        name = of.text(one.get("file_name"))
        found.append(FileRef(name=name or "file", key=of.key(one.get("file_uuid")) or name))
    return tuple(found)
