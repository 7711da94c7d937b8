"""What is gathered before a decision, because `decide` never waits: also the request before, by its
layout.

A layout lists what follows a request's head, in order, stored messages and texts of our own. A
receipt keeps it. From it the request can be built again, and the next decision computes how much of
the prompt's beginning stayed the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

from chatsite.encoding import Record
from chatsite.history.token_estimate import estimate
from chatsite.messages import Message, Role, TokenCount

AddedKind = Literal["summary", "recalled", "text", "continue", "instructions", "date", "told"]
ADDED_KINDS: tuple[AddedKind, ...] = get_args(AddedKind)
# In place of a number of characters: a line of ours stands for the message's result or the texts of
# its files, because they gave way (also with some exact values of the result), or because the
# person left the result out.
GAVE_WAY, LEFT_OUT, GAVE_WAY_WITH_VALUES = -1, -2, -3
BECAUSE_OF_ROOM = frozenset({GAVE_WAY, GAVE_WAY_WITH_VALUES})


@dataclass(frozen=True, slots=True)
class StoredRun:
    """Stored messages in their places: all of the path from `first` to `last`.

    `shortened` is the number of characters that an answer was cut to, 0 for no cut, or one of the
    constants above.
    """

    first: int
    last: int
    shortened: int = 0

    def to_dict(self) -> dict[str, object]:
        found: dict[str, object] = {"first": self.first, "last": self.last}
        return found | {"shortened": self.shortened} if self.shortened else found

    def to_stored(self) -> list[int]:
        """As receipts store it; those of before have the dictionary."""
        run = [self.first, self.last]
        return [*run, self.shortened] if self.shortened else run


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedMessage(Record):
    """A message of our own. `digest` is the first 16 hex digits of the sha256 of role and text.

    What it was made from: a summary by its `id`; quotes and instructions that a person keeps in
    force by the sequence numbers of their `sources`;
    a strategy's text has no source, and only its digest is kept. Of an answer that is continued,
    the kind "continue" means two messages: the assistant's, with its source and as `id` the
    number of characters it had, and the user's instruction, which is always the same. The text of
    a "date" and of what the model is "told" that it isn't shown follows from the `id`.
    """

    kind: AddedKind
    role: str
    digest: str
    tokens: int
    id: str = ""
    sources: tuple[int, ...] = ()

    def to_stored(self) -> dict[str, object]:
        return self.to_dict()

    @classmethod
    def of(
        cls, message: Message, kind: AddedKind, *, sources: Sequence[int] = (), id: str = ""
    ) -> AddedMessage:
        count = message.tokens.count if message.tokens else 0
        return cls(
            kind=kind,
            role=message.role,
            digest=message_digest(message),
            tokens=count,
            id=id,
            sources=tuple(sources),
        )


LayoutItem = StoredRun | AddedMessage


def message_digest(message: Message) -> str:
    said = f"{message.role}\n{message.as_read().content or ''}"
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_layout(layout: Iterable[object]) -> tuple[LayoutItem, ...]:
    """Read a stored layout. Raises KeyError, TypeError or ValueError for anything else."""
    return tuple(_item(item) for item in layout)


def _item(item: object) -> LayoutItem:
    if isinstance(item, list):
        first, last, *shortened = (int(number) for number in item)
        return StoredRun(first, last, *shortened)
    if not isinstance(item, Mapping):
        raise ValueError("not an item")
    if "kind" not in item:
        return StoredRun(int(item["first"]), int(item["last"]), int(item.get("shortened", 0)))
    if item["kind"] not in ADDED_KINDS:
        raise ValueError(f"unknown kind {item['kind']!r}")
    return AddedMessage(
        kind=item["kind"],
        role=str(item["role"]),
        digest=str(item["digest"]),
        tokens=int(item["tokens"]),
        id=str(item["id"]),
        sources=tuple(int(seq) for seq in item["sources"]),
    )


Report = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """The last request on this path, from its receipt.

    `layout` lists what followed the head, in order. `cut` is where the tail began, None when
    nothing was cut; `under` names the settings of that cut, which is kept only while they stay
    the same. `room` is how many tokens it could have before results gave way.
    """

    head_hash: str
    layout: tuple[LayoutItem, ...]
    cut: int | None = None
    under: str = ""
    room: int = 0

    @classmethod
    def from_dict(cls, receipt: Mapping[str, object]) -> Previous | None:
        """None for a receipt that can't be read: then nothing is known of the previous request."""
        try:
            return cls._read(receipt)
        except (KeyError, TypeError, ValueError):
            return None

    @classmethod
    def _read(cls, receipt: Mapping[str, Any]) -> Previous:
        match receipt:
            case {"head": {"hash": str(head_hash)}, "layout": list(layout)}:
                items = read_layout(layout)
            case _:
                raise ValueError("not a receipt")
        cut, under = receipt.get("cut"), receipt.get("under")
        return cls(
            head_hash=head_hash,
            layout=items,
            cut=cut if isinstance(cut, int) else None,
            under=under if isinstance(under, str) else "",
            room=_room(receipt),
        )


def _room(receipt: Mapping[str, Any]) -> int:
    """The limit, or the share of it from which results gave way; 0 in receipts of before."""
    limit = receipt.get("limit") or receipt.get("window", 0) - receipt.get("reply", 0)
    share = receipt.get("settings", {}).get("give_way_at", {}).get("value", 100)
    return int(limit * share // 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """An older message that matters for the current one.

    `score` only orders hits. `why` completes "chosen because ...", for a reader.
    """

    seq: int
    score: float
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The lexical selector's hits, the best first."""

    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageChoice:
    """What the fast model chose: `turns` by the sequence numbers of their first messages."""

    turns: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningSummary:
    """A summary of the path from the message `first` to the message `last`; `messages` of them.

    `tokens` is what the summary takes as a message of its own, labels included. `by` is the model
    that wrote it, or "you" where a person did. `compaction` is the version that a person applied,
    which this one is or was made from, 0 for none; `kept` are the turns that it doesn't stand for,
    by the sequence numbers of their first messages. `values` is a line with exact values that it
    lost.
    """

    id: str
    version: int
    text: str
    first: int
    last: int
    messages: int
    by: str
    tokens: TokenCount
    compaction: int = 0
    kept: tuple[int, ...] = ()
    values: str = ""

    def with_values(self) -> RunningSummary:
        """The same with the line as a part of its text."""
        if not self.values:
            return self
        count = self.tokens.count + estimate(self.values) + 1
        tokens = replace(self.tokens, count=count, basis="estimated")
        return replace(self, text=f"{self.text}\n\n{self.values}", tokens=tokens, values="")

    @property
    def report(self) -> Report:
        """What the receipt says of it."""
        found = {"version": self.version, "messages": self.messages, "by": self.by}
        return found | {"compaction": self.compaction} if self.compaction else found


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategySlot:
    """What a strategy put together under one name, in order.

    An item is the sequence number of a stored message, or a text of the strategy's own: a
    message with its tokens. Over budget, items are dropped from the slot of the lowest priority
    first.
    """

    name: str
    priority: float
    items: tuple[int | Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyChoice:
    """A strategy's context, slot by slot. `role` of its texts is system, user or assistant."""

    slots: tuple[StrategySlot, ...]


TEXT_ROLES: tuple[Role, ...] = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """`reply_to` holds ids of messages replied to, besides the one that the current message names.

    Evidence that a policy needs and that is None could not be gathered: then the newest turns are
    sent. `notes` say why, a sentence each; `reports` say for the receipt what gathering cost, by
    the key of the evidence.
    """

    previous: Previous | None = None
    reply_to: frozenset[str] = frozenset()
    recall: Recall | None = None
    triaged: TriageChoice | None = None
    summary: RunningSummary | None = None
    chosen: StrategyChoice | None = None
    notes: tuple[str, ...] = ()
    reports: Mapping[str, Report] = field(default_factory=lambda: MappingProxyType({}), hash=False)


NO_EVIDENCE = Evidence()
