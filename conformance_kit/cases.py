"""One case: the messages that a function chooses from, and how much it may send."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from hypothesis.vendor.pretty import RepresentationPrinter

from chatsite.messages import Message, TokenCount

PLENTY = 9_999_999  # Tokens: more than any case takes.

C = TypeVar("C", bound="Case")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseEntry:
    """A message of the path in its place: `seq` orders the path, with gaps. Marks are the user's.

    `unanswered`: the answer to this user message failed, with nothing of it stored.
    `forgets_above`: nothing above this message may be sent. `at` is when it was stored.
    """

    message: Message
    seq: int
    pinned: bool = False
    excluded: bool = False
    unanswered: bool = False
    forgets_above: bool = False
    at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """A conversation to choose from, oldest message first; the last turn is the current one.

    `head` stands before the conversation in every request: instructions, then example turns.
    `limit` is how many tokens the request may take, head included.
    """

    head: tuple[Message, ...]
    entries: tuple[CaseEntry, ...]
    limit: int

    @property
    def instructions(self) -> tuple[Message, ...]:
        """The system messages of the head."""
        return tuple(message for message in self.head if message.role == "system")

    @property
    def afresh(self: C) -> C:
        """The case without any memory of an earlier request."""
        return self

    def within(self: C, limit: int) -> C:
        """The case under another limit."""
        return replace(self, limit=limit)

    @property
    def unlimited(self: C) -> C:
        return self.within(PLENTY)

    def with_entries(self: C, entries: Sequence[CaseEntry]) -> C:
        return replace(self, entries=tuple(entries))

    def _repr_pretty_(self, printer: RepresentationPrinter, cycle: bool) -> None:
        """How hypothesis shows a failing example: one word a message instead of twelve lines."""
        printer.text(self.in_short())

    def in_short(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        head = " ".join(message_in_short(message) for message in self.head)
        path = " ".join(entry_in_short(entry) for entry in self.entries)
        return [f"head: {head or '-'}", f"path: {path}", f"limit: {self.limit}"]


def entry_in_short(entry: CaseEntry) -> str:
    """3u* is a pinned user message with number 3; ! excluded, ? unanswered, ^ forgets above,
    ~ background, - unloaded."""
    message = entry.message
    marks = "*" * entry.pinned + "!" * entry.excluded + "?" * entry.unanswered
    marks += "^" * entry.forgets_above
    marks += "~" * (message.source != "web") + "-" * (message.kv_status <= 0)
    reply = f">{message.reply_to}" if message.reply_to else ""
    return f"{entry.seq}{message_in_short(message, marks + reply)}"


def message_in_short(message: Message, marks: str = "") -> str:
    """Role's letter, last letters of the calls' ids, 0 where it has no text, tokens."""
    ids = [call.id[-1:] for call in message.calls] or [(message.call_id or "")[-1:]]
    blank = "" if message.content else "0"
    size = f"({message.tokens.count})" if message.tokens else ""
    return f"{message.role[0]}{''.join(ids)}{blank}{marks}{size}"


def with_tokens(message: Message, tokens: int | None = None) -> Message:
    """The message with a token count: about a quarter of its bytes, as real ones are."""
    size = len((message.content or "").encode()) // 4 + 4 + 8 * len(message.calls)
    count = TokenCount(count=tokens or size, tokenizer="test", basis="counted")
    return replace(message, tokens=count)


def total_tokens(messages: Sequence[Message]) -> int:
    return sum(message.tokens.count for message in messages if message.tokens)


def split_turns(entries: Sequence[CaseEntry]) -> list[tuple[CaseEntry, ...]]:
    """Split at every user message, system messages left out.

    What stands before the first user message comes first.
    """
    found: list[list[CaseEntry]] = []
    for entry in entries:
        if entry.message.role == "system":
            continue
        if entry.message.role == "user" or not found:
            found.append([])
        found[-1].append(entry)
    return [tuple(turn) for turn in found]
