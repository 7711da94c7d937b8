"""Messages in the form of Anthropic's messages API: blocks, user and assistant alternating."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from chatsite.messages import Message, ToolCall, plain_text
from chatsite.providers.anthropic.thinking import PrefixDigest, unpack_thinking
from chatsite.providers.base.role_order import SameRole

Block = dict[str, Any]
# The source of each file's block, by the file's id: its bytes, or the id of an upload.
Sources = Mapping[str, Mapping[str, Any]]

_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


def wire_system(order: Sequence[SameRole]) -> list[Block]:
    """Return the instructions; the API takes them apart from the messages."""
    return [
        _text(message.content or "")
        for same in order
        if same.role == "system"
        for message in same.messages
    ]


def wire_tool_name(name: str) -> str:
    """Return a name that a tool may have: a model may have called a tool that doesn't exist."""
    return _NOT_IN_NAMES.sub("_", name)[:64] or "_"


class MessageBuilder:
    """Builds `messages` one by one. `by` is the server and model that will answer: only its own
    thinking is sent back. `head` is what precedes the messages in the request."""

    def __init__(self, *, by: str, head: object, sources: Sources, bound: bool) -> None:
        self.messages: list[dict[str, Any]] = []
        # Where the turn that is being answered begins.
        self.current = 0
        self._by = by
        self._prefix = PrefixDigest(head)
        self._bound = bound
        self._sources = sources
        self._used: set[str] = set()
        self._open: dict[str, str] = {}

    def add_all(self, order: Sequence[SameRole], *, thinking: bool) -> None:
        spoken = [same for same in order if same.role != "system"]
        last_asked = max(n for n, same in enumerate(spoken) if same.messages[-1].role == "user")
        self.current = last_asked
        for place, same in enumerate(spoken):
            blocks: list[Block] = []
            for message in same.messages:
                if message.role == "user":
                    blocks += self._user(message)
                elif message.role == "tool":
                    blocks.append(self._result(message))
                else:
                    blocks += self._answer(message, thinking and place > last_asked)
            self.messages.append({"role": same.role, "content": blocks})

    def digest(self) -> str:
        """Return the digest of all that the model reads, for the metadata of its thinking."""
        return self._prefix.of(self.messages) if self._bound else ""

    def _user(self, message: Message) -> list[Block]:
        """Files first: Claude understands a file best before the question about it."""
        blocks = []
        for file in message.attachments:
            source = self._sources.get(file.id)
            if source is None:
                continue
            block: Block = {"type": "image", "source": source}
            if file.modality != "image":
                block = {"type": "document", "source": source, "title": file.name[:500]}
            blocks.append(block)
        return [*blocks, *_texts(message.content)] or [_text(plain_text(message))]

    def _answer(self, message: Message, thinking: bool) -> list[Block]:
        calls = self._calls(message.calls)
        if thinking and message.metadata:
            prefix = self._prefix.of(self.messages) if self._bound else None
            whole = unpack_thinking(message, calls, by=self._by, prefix=prefix)
            if whole is not None:
                return whole
        return _texts(message.content) + calls

    def _calls(self, calls: Sequence[ToolCall]) -> list[Block]:
        if calls:
            self._open = {call.id: self._fresh(call.id) for call in calls}
        return [
            {
                "type": "tool_use",
                "id": self._open[call.id],
                "name": wire_tool_name(call.name),
                "input": dict(call.arguments),
            }
            for call in calls
        ]

    def _fresh(self, id: str) -> str:
        """An id that the API takes and that no earlier call has: other providers' ids have other
        forms, and some repeat them in every round."""
        base = id if _ID.fullmatch(id) else f"call_{hashlib.sha256(id.encode()).hexdigest()[:24]}"
        found, number = base, 1
        while found in self._used:
            number += 1
            found = f"{base[:56]}_{number}"
        self._used.add(found)
        return found

    def _result(self, message: Message) -> Block:
        block: Block = {"type": "tool_result", "tool_use_id": self._open[message.call_id or ""]}
        content = message.content or ""
        if content.strip():
            block["content"] = content
        if _is_error(content):
            block["is_error"] = True
        return block


def _is_error(content: str) -> bool:
    """`{"error": {"name": ..., "message": ...}}` is how a failed call's result is stored."""
    if not content.startswith('{"error"'):
        return False
    try:
        result = json.loads(content)
    except ValueError:
        return False
    return len(result) == 1 and isinstance(result["error"], dict)


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _texts(content: str | None) -> list[Block]:
    """Blank text is refused."""
    return [_text(content)] if content and content.strip() else []
