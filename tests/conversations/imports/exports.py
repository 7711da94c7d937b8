"""Exports of other programs, as they write them, made by hand."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

from PIL import Image

BEGAN = 1_700_000_000.5
SOURCE = "\ue200cite\ue202x\ue201"


def picture() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (40, 30), "teal").save(file, "PNG")
    return file.getvalue()


def zipped(files: Mapping[str, bytes | str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


def node(
    id: str,
    parent: str | None,
    role: str,
    *parts: Any,
    kind: str = "text",
    at: float | None = None,
    content: Mapping[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """A node of ChatGPT's `mapping`."""
    said = {"content_type": kind, **({"parts": list(parts)} if parts else {}), **(content or {})}
    message = {"id": id, "author": {"role": role}, "content": said, "create_time": at}
    return {"id": id, "parent": parent, "children": [], "message": message | fields}


def chatgpt(
    *nodes: dict[str, Any], id: str = "c-1", title: Any = "Tides", current: str = ""
) -> dict[str, Any]:
    return {
        "conversation_id": id,
        "title": title,
        "create_time": BEGAN,
        "update_time": BEGAN + 900,
        "current_node": current or nodes[-1]["id"],
        "mapping": {one["id"]: one for one in nodes},
    }


ROOT: dict[str, Any] = {"id": "root", "parent": None, "children": [], "message": None}


def tides(id: str = "c-1", title: str = "Tides") -> dict[str, Any]:
    """A question with a picture, two answers to it of which the second is shown, and more."""
    model: dict[str, Any] = {"metadata": {"model_slug": "gpt-4o"}}
    attached = {"attachments": [{"id": "file-abc", "name": "map.png"}]}
    pointer = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-abc"}
    return chatgpt(
        ROOT,
        node("sys", "root", "system", "You are ChatGPT.", weight=0),
        node(
            "u1",
            "sys",
            "user",
            pointer,
            "When is high water?",
            kind="multimodal_text",
            at=BEGAN + 1,
            metadata=attached,
        ),
        node("a1", "u1", "assistant", "At noon.", at=BEGAN + 2, **model),
        node("a2", "u1", "assistant", f"At noon{SOURCE}, twice.", at=BEGAN + 3, **model),
        node("u2", "a2", "user", "Thanks", at=BEGAN + 4),
        node("a3", "u2", "assistant", "Gladly.", at=BEGAN + 5, **model),
        id=id,
        title=title,
    )


def tides_zip() -> bytes:
    return zipped(
        {
            "export/conversations.json": json.dumps([tides()]),
            "export/file-abc-map.png": picture(),
            "export/user.json": '{"id": "user-1"}',
            "__MACOSX/export/._conversations.json": b"\0\5\x16\7",
        }
    )


def many(chats: int, messages: int) -> bytes:
    """ChatGPT's `conversations.json` with so many chats of so many messages."""
    found = []
    for chat in range(chats):
        nodes = [ROOT]
        for place in range(messages):
            role, above = ("assistant" if place % 2 else "user"), nodes[-1]["id"]
            words = f"Message {place} of chat {chat}: " + "the harbour at low water. " * 8
            nodes.append(node(f"m{place}", above, role, words, at=BEGAN + 60 * place))
        found.append(chatgpt(*nodes, id=f"chat-{chat}", title=f"Chat {chat}"))
    return json.dumps(found).encode()
