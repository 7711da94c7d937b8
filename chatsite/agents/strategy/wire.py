"""What goes over the worker's pipes: a line of JSON asked, a line answered.

A stored message is known by its sequence number, and comes back as that number and never as text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from chatsite.history.values.evidence import TEXT_ROLES, Slot
from chatsite.messages import UNSOUND, Attachment, Message, TokenCount, ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a strategy builds the context from.

    `history` is what was said before the current message, oldest first, each message with its
    sequence number; `input` is the current message's text. `budget` is how many tokens the
    history may take, `limit` what the whole prompt may.
    """

    history: tuple[tuple[int, Message], ...]
    input: str
    budget: int
    limit: int
    slug: str
    name: str
    personality: str

    def to_dict(self) -> dict[str, object]:
        return {
            "history": [_message_to_dict(seq, message) for seq, message in self.history],
            "input": self.input,
            "budget": self.budget,
            "limit": self.limit,
            "slug": self.slug,
            "name": self.name,
            "personality": self.personality,
        }

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> Given:
        history = tuple((item["seq"], _message_from_dict(item)) for item in said["history"])
        return cls(**{**said, "history": history})


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a strategy gave nothing. `error` is the exception's class, `line` its line in the file.

    `said` is in words of our own, "" where the strategy or Python raised: what those say may hold
    parts of messages. `trace` may, too, and is for the administrator's own screen only. `ended`:
    it was killed at its time limit.
    """

    error: str = ""
    line: int | None = None
    said: str = ""
    trace: str = ""
    ended: bool = False

    def sentence(self, file: str) -> str:
        """File, line and what went wrong, on one line; never a message's text."""
        where = file if self.line is None else f"{file}, line {self.line}"
        return f"{where}: {self.said or self.error}"


def line_of(document: Mapping[str, object]) -> bytes:
    return json.dumps(document).encode() + b"\n"


def read_answer(line: bytes, given: Given) -> tuple[Slot, ...] | Problem:
    """What the worker answered. Texts come without tokens.

    Raises KeyError, TypeError or ValueError for what no worker of ours says.
    """
    answer = json.loads(line)
    if "problem" in answer:
        said = answer["problem"]
        number = said["line"]
        return Problem(
            error=str(said["error"]),
            line=int(number) if number is not None else None,
            said=str(said["said"]),
            trace=str(said["trace"]),
        )
    known = {seq for seq, _ in given.history}
    texts = 0
    slots = []
    for said in answer["slots"]:
        items: list[int | Message] = []
        for item in said["items"]:
            if isinstance(item, int):
                if item not in known:
                    raise ValueError("a message that isn't in the history")
                items.append(item)
            else:
                items.append(_text(item, f"strategy-{texts}"))
                texts += 1
        name, priority = _sound(said["name"]), float(said["priority"])
        slots.append(Slot(name=name, priority=priority, items=tuple(items)))
    return tuple(slots)


def _text(item: Mapping[str, Any], id: str) -> Message:
    if item["role"] not in TEXT_ROLES:
        raise ValueError("no role of a text")
    return Message(id=id, role=item["role"], content=_sound(item["text"]))


def _sound(text: str) -> str:
    """Half characters and NUL can't be sent or stored."""
    return UNSOUND.sub("\N{REPLACEMENT CHARACTER}", text)


def _message_to_dict(seq: int, message: Message) -> dict[str, object]:
    tokens = message.tokens
    return {
        "seq": seq,
        "role": message.role,
        "content": message.content,
        "attachments": [
            [file.id, file.name, file.size, file.modality, file.mime_type]
            for file in message.attachments
        ],
        "calls": [[call.id, call.name, dict(call.arguments)] for call in message.calls],
        "call_id": message.call_id,
        "source": message.source,
        "tokens": [tokens.count, tokens.tokenizer, tokens.basis] if tokens else None,
    }


def _message_from_dict(said: Mapping[str, Any]) -> Message:
    """The message's id is its sequence number: an id of our database is of no use there."""
    return Message(
        id=str(said["seq"]),
        role=said["role"],
        content=said["content"],
        attachments=tuple(_attachment(*file) for file in said["attachments"]),
        calls=tuple(
            ToolCall(id=id, name=name, arguments=arguments) for id, name, arguments in said["calls"]
        ),
        call_id=said["call_id"],
        source=said["source"],
        tokens=_tokens(*said["tokens"]) if said["tokens"] else None,
    )


def _attachment(id: str, name: str, size: int, modality: str, mime_type: str | None) -> Attachment:
    return Attachment(
        id=id, name=name, size=size, modality=cast(Any, modality), mime_type=mime_type
    )


def _tokens(count: int, tokenizer: str, basis: str) -> TokenCount:
    return TokenCount(count=count, tokenizer=tokenizer, basis=cast(Any, basis))
