"""Reads the chats of ChatGPT's `conversations.json`: a `mapping` of nodes and the current one."""

from __future__ import annotations

import re
from typing import Any

from chatsite.conversations.imports.formats import values as of
from chatsite.conversations.imports.formats.tree import fenced
from chatsite.conversations.imports.formats.values import Chat, FileRef, Node, Said

PROGRAM = "ChatGPT"
# References to sources, which only ChatGPT's page can show.
_CITATION = re.compile("\ue200[^\ue201]*\ue201|【[^】]*†[^】]*】")
_POINTER = re.compile(r"(?:file-service|sediment)://(?:[^/#]*/)?([^/#?]+)")
_CONTEXT = ("user_editable_context", "model_editable_context")


def recognises(value: dict[str, Any]) -> bool:
    return isinstance(value.get("mapping"), dict)


def read(value: dict[str, Any]) -> Chat:
    chat = Chat(
        program=PROGRAM,
        id=of.key(value.get("conversation_id")) or of.key(value.get("id")) or "",
        title=of.text(value.get("title")),
        created=of.moment(value.get("create_time")),
        updated=of.moment(value.get("update_time")),
        current=of.key(value.get("current_node")),
    )
    for name, node in of.fields(value.get("mapping")).items():
        message = of.fields(of.fields(node).get("message"))
        chat.nodes.append(
            Node(
                key=name,
                parent=of.key(of.fields(node).get("parent")),
                said=_said(chat, message) if message else [],
                created=of.moment(message.get("create_time")),
            )
        )
    return chat


def _said(chat: Chat, message: dict[str, Any]) -> list[Said]:
    role = of.text(of.fields(message.get("author")).get("role"))
    content, metadata = of.fields(message.get("content")), of.fields(message.get("metadata"))
    kind = of.text(content.get("content_type"))
    words, files = _content(chat, kind, content)
    files |= {
        id: FileRef(key=id, name=of.text(of.fields(one).get("name")) or id)
        for one in of.items(metadata.get("attachments"))
        if (id := of.key(of.fields(one).get("id")))
    }
    hidden = metadata.get("is_visually_hidden_from_conversation") or message.get("weight") == 0
    if hidden or role == "system" or kind in _CONTEXT:
        chat.left_out["system"] += bool(words or kind in _CONTEXT)
        return []
    if kind == "reasoning_recap":
        return []
    attached = tuple(files.values())
    if role == "user":
        return [Said(role="user", text=words, files=attached)]
    if role == "tool":
        # The pictures of a tool are an answer's.
        shown = [Said(role="assistant", files=attached)] if attached else []
        return [Said(role="tool", text=words), *shown]
    if role != "assistant":
        chat.left_out["role"] += 1
        return []
    model = of.text(metadata.get("model_slug"))
    if kind == "thoughts":
        return [Said(role="assistant", reasoning=words, model=model)]
    recipient = of.text(message.get("recipient")) or "all"
    if recipient != "all":
        return [Said(role="assistant", call=(recipient, of.arguments(words)), model=model)]
    if kind == "code" and words:
        words = fenced(words, of.text(content.get("language")).replace("unknown", ""))
    return [Said(role="assistant", text=words, files=attached, model=model)]


def _content(chat: Chat, kind: str, content: dict[str, Any]) -> tuple[str, dict[str, FileRef]]:
    """The text of a message, and its files by their keys."""
    if kind == "thoughts":
        thoughts = map(of.fields, of.items(content.get("thoughts")))
        steps = [(of.text(one.get("summary")), of.text(one.get("content"))) for one in thoughts]
        return of.joined("\n".join(filter(None, step)) for step in steps), {}
    words, files = (
        [of.text(content.get("title")), of.text(content.get("url"))],
        dict[str, FileRef](),
    )
    if kind != "tether_quote":
        words = []
    for name in ("text", "result", "content"):
        words.append(of.text(content.get(name)))
    for part in of.items(content.get("parts")):
        words.append(of.text(part) or of.text(of.fields(part).get("text")))
        nested = of.fields(of.fields(part).get("audio_asset_pointer"))
        pointer = of.text(of.fields(part).get("asset_pointer")) or of.text(
            nested.get("asset_pointer")
        )
        if found := _POINTER.match(pointer):
            files[found[1]] = FileRef(key=found[1], name=found[1])
        elif isinstance(part, dict) and not words[-1]:
            chat.left_out["content"] += 1
    return _CITATION.sub("", of.joined(words)), files
