"""Reads the chats of Open WebUI: `history` with messages by id, also without its wrapper `chat`."""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
from typing import Any

from chatsite.conversations.imports.formats import values as of
from chatsite.conversations.imports.formats.values import Chat, FileRef, Node, Said

PROGRAM = "Open WebUI"
# What an answer thought and called stands folded in its text.
_FOLDED = re.compile(
    r'<details\s+type="(reasoning|tool_calls)"([^>]*)>\s*(?:<summary>.*?</summary>)?(.*?)</details>',
    re.DOTALL,
)
_CALLS = ("function_call", "custom_tool_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")
_ATTRIBUTE = re.compile(r'([a-z]+)="([^"]*)"')


def recognises(value: dict[str, Any]) -> bool:
    chat = of.fields(value.get("chat")) or value
    listed = isinstance(value.get("chat"), dict) and isinstance(chat.get("messages"), list)
    return isinstance(of.fields(chat.get("history")).get("messages"), dict) or listed


def read(value: dict[str, Any]) -> Chat:
    inner = of.fields(value.get("chat")) or value
    history = of.fields(inner.get("history"))
    chat = Chat(
        program=PROGRAM,
        id=of.key(value.get("id")) or of.key(inner.get("id")) or "",
        title=of.text(inner.get("title")) or of.text(value.get("title")),
        created=of.moment(value.get("created_at")) or of.moment(inner.get("timestamp")),
        updated=of.moment(value.get("updated_at")),
        current=of.key(history.get("currentId")),
    )
    former = None
    for name, message in _messages(inner, history):
        parent = of.key(message.get("parentId")) if "parentId" in message else former
        created, said = of.moment(message.get("timestamp")), _said(chat, message)
        chat.nodes.append(Node(key=name, parent=parent, said=said, created=created))
        former = name
    return chat


def _messages(inner: dict[str, Any], history: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    if found := of.fields(history.get("messages")):
        return [(name, of.fields(one)) for name, one in found.items()]
    listed = map(of.fields, of.items(inner.get("messages")))
    return [(of.key(one.get("id")) or f"#{index}", one) for index, one in enumerate(listed)]


def _said(chat: Chat, message: dict[str, Any]) -> list[Said]:
    role, words = of.text(message.get("role")), of.words(message.get("content"))
    files = tuple(map(_file, map(of.fields, of.items(message.get("files")))))
    if role == "user":
        return [Said(role=role, text=words, files=files)]
    if role != "assistant":
        chat.left_out["system" if role == "system" else "role"] += bool(words)
        return []
    # Since 0.8 an answer may stand in its items alone, and its text is empty.
    said = _folded(words) if words.strip() else _itemized(chat, of.items(message.get("output")))
    said[-1].files = files
    for one in said:
        one.model = of.text(message.get("model")) if one.role == role else ""
    return said


def _folded(words: str) -> list[Said]:
    said, end = [Said(role="assistant")], 0
    for found in _FOLDED.finditer(words):
        said[-1].text += words[end : found.start()].strip()
        end = found.end()
        if found[1] == "reasoning":
            lines = (line.removeprefix(">").removeprefix(" ") for line in found[3].split("\n"))
            said[-1].reasoning += html.unescape("\n".join(lines).strip())
        else:
            facts = {name: html.unescape(one) for name, one in _ATTRIBUTE.findall(found[2])}
            said[-1].call = facts.get("name") or "tool", _unpacked(facts.get("arguments"))
            result = _unpacked(facts.get("result"))
            words_of = of.text(result.get("input")) or json.dumps(result, ensure_ascii=False)
            said += [Said(role="tool", text=words_of), Said(role="assistant")]
    said[-1].text += words[end:].strip()
    return said


def _itemized(chat: Chat, output: list[Any]) -> list[Said]:
    """Of the items of OpenAI's Responses. A call and its result stand apart there."""
    items = list(map(of.fields, output))
    results = {
        of.key(one.get("call_id")): of.words(one.get("output"))
        for one in items
        if one.get("type") in _RESULTS
    }
    said = [Said(role="assistant")]
    for one in items:
        kind, id = one.get("type"), of.key(one.get("call_id"))
        if kind == "message":
            said[-1].text = of.joined((said[-1].text, of.words(one.get("content"))))
        elif kind == "reasoning":
            said[-1].reasoning += of.words(one.get("content")) or of.words(one.get("summary"))
        elif kind in _CALLS:
            given = one.get("arguments") or one.get("input")
            said[-1].call = of.text(one.get("name")) or "tool", of.arguments(given)
            if id in results:
                said.append(Said(role="tool", text=results.pop(id)))
            said.append(Said(role="assistant"))
        elif kind not in _RESULTS:
            chat.left_out["content"] += 1
    # Of calls that aren't there.
    said[-1:-1] = [Said(role="tool", text=one) for one in results.values()]
    return said


def _unpacked(words: str | None) -> dict[str, Any]:
    """Arguments or a result: JSON, often once more as a text of JSON."""
    found = of.arguments(words or "")
    return of.arguments(found["input"]) if found.keys() == {"input"} else found


def _file(one: dict[str, Any]) -> FileRef:
    inner, url = of.fields(one.get("file")), of.text(one.get("url"))
    name = of.text(one.get("name")) or of.text(inner.get("filename"))
    if url.startswith("data:"):
        head, _, encoded = url.partition(",")
        try:
            data = base64.b64decode(encoded) if head.endswith(";base64") else None
        except (binascii.Error, ValueError):
            data = None
        kind = re.sub(r"\W.*", "", head.partition("/")[2]) or "bin"
        return FileRef(name=name or f"image.{kind}", data=data)
    content = of.text(of.fields(inner.get("data")).get("content"))
    id = of.key(one.get("id")) or name or url
    return FileRef(name=name or id or "file", key=id, data=content.encode() or None)
