"""Reads a chat of LibreChat: `messagesTree` with nested `children`, or flat `messages`."""

from __future__ import annotations

from typing import Any

from chatsite.conversations.imports.formats import values as of
from chatsite.conversations.imports.formats.values import Chat, FileRef, Node, Said

PROGRAM = "LibreChat"


def recognises(value: dict[str, Any]) -> bool:
    flat = isinstance(value.get("messages"), list) and "conversationId" in value
    return flat or isinstance(value.get("messagesTree"), list)


def read(value: dict[str, Any]) -> Chat:
    chat = Chat(
        program=PROGRAM,
        id=of.key(value.get("conversationId")) or "",
        title=of.text(value.get("title")),
        created=of.moment(value.get("createdAt")),
        updated=of.moment(value.get("updatedAt")),
    )
    former = None
    for above, message in _messages(value):
        name = of.key(message.get("messageId")) or f"#{len(chat.nodes)}"
        said = of.key(message.get("parentMessageId"))
        parent = said if above is None and said else above
        if above is None and "parentMessageId" not in message:
            parent = former
        # The time of an export's writing isn't one of a message.
        created = of.moment(message.get("createdAt"))
        chat.nodes.append(Node(key=name, parent=parent, said=_said(chat, message), created=created))
        former = name
    return chat


def _messages(value: dict[str, Any]) -> list[tuple[str | None, dict[str, Any]]]:
    """Each message with the id of the one that it is nested in. A long chat is a deep nest."""
    flat = of.items(value.get("messagesTree")) or of.items(value.get("messages"))
    waiting: list[tuple[str | None, Any]] = [(None, one) for one in reversed(flat)]
    found = []
    while waiting:
        above, message = waiting.pop()
        if not isinstance(message, dict):
            continue
        found.append((above, message))
        own = of.key(message.get("messageId")) or f"#{len(found) - 1}"
        waiting += [(own, one) for one in reversed(of.items(message.get("children")))]
    return found


def _said(chat: Chat, message: dict[str, Any]) -> list[Said]:
    role = "user" if message.get("isCreatedByUser") else "assistant"
    said = [Said(role=role)]
    for part in map(of.fields, of.items(message.get("content"))):
        kind, call = part.get("type"), of.fields(part.get("tool_call"))
        if kind == "text":
            words = of.text(part.get("text")) or of.text(of.fields(part.get("text")).get("value"))
            said[-1].text = of.joined((said[-1].text, words))
        elif kind == "think":
            said[-1].reasoning += of.text(part.get("think"))
        elif kind == "tool_call" and role == "assistant":
            said[-1].call = of.text(call.get("name")) or "tool", of.arguments(call.get("args"))
            if isinstance(call.get("output"), str):
                said.append(Said(role="tool", text=of.text(call.get("output"))))
            said.append(Said(role=role))
        else:
            chat.left_out["content"] += 1
    if all(one.is_empty for one in said):
        said[-1].text = of.text(message.get("text"))
    files = map(of.fields, [*of.items(message.get("files")), *of.items(message.get("attachments"))])
    said[-1].files = tuple(
        FileRef(name=of.text(one.get("filename")) or "file", key=of.key(one.get("file_id")) or "")
        for one in files
    )
    for one in said:
        one.model = of.text(message.get("model")) if one.role == "assistant" else ""
    return said
