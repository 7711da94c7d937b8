"""The layout of a request: what follows its head, in order, stored messages and texts of our own.

A receipt keeps the layout. From it the request can be built again, and the next decision computes
how much of the prompt's beginning stayed the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from chatsite.encoding import Record
from chatsite.messages import Message

AddedKind = Literal["summary", "recalled", "text", "continue"]
ADDED_KINDS: tuple[AddedKind, ...] = ("summary", "recalled", "text", "continue")


@dataclass(frozen=True, slots=True)
class StoredRun:
    """Stored messages in their places: all of the path from `first` to `last`.

    `shortened` is the number of characters that an answer was cut to, 0 for no cut.
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

    What it was made from: a summary by its `id`; quotes by the sequence numbers of their `sources`;
    a strategy's text has no source, and only its digest is kept. Of an answer that is continued,
    the kind "continue" means two messages: the assistant's, with its source and as `id` the
    number of characters it had, and the user's instruction, which is always the same.
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
