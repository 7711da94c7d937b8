"""A conversation in the engine's cache as the panel shows it: plain values, no rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from chatsite.encoding import Record
from chatsite.kv_cache.books import LOADED, MARKED, UNLOADED, Place
from chatsite.wording import say

Kind = Literal["head", "message", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedMessage:
    """Holds a message of the path that is in the cache or was unloaded from it.

    `start` is its first cell, -1 where it is in none; `size` is in cells, -1 where unknown.
    """

    id: str
    seq: int
    turn: int
    role: str
    text: str
    tokens: int
    start: int
    size: int
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StripSegment(Record):
    """Holds a run of cells in the panel's strip, or a message without cells; `seq` 0 is no
    message."""

    key: str
    seq: int
    role: str
    kind: Kind
    start: int
    size: int
    status: int
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFile:
    """Describes the file of a saved slot: its bytes, its time, how many cells it holds, and for
    each message its first cell and size."""

    bytes: int
    at: datetime
    cells: int
    places: Mapping[str, Place]

    def to_dict(self) -> dict[str, Any]:
        return {"bytes": self.bytes, "at": self.at.isoformat()}


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheBooks:
    """Holds what the panel shows. `rows` are ordered by sequence number; `saved` is None where
    nothing is saved.

    `turns` are the newest ones whose receipt tells what they reused, oldest first. `head` is the
    number of messages before the first turn in the last request.
    """

    agent: str
    model: str
    rows: tuple[CachedMessage, ...]
    saved: SavedFile | None
    turns: tuple[Mapping[str, Any], ...]
    head: int

    @property
    def unloaded(self) -> dict[str, int]:
        return message_totals(row for row in self.rows if row.status != LOADED)

    def strip(self, *, places: Mapping[str, Place], used: int) -> tuple[StripSegment, ...]:
        """Return the `used` cells of a slot or a file, in order. `places` has the first cell and
        the size of the messages there: the columns may be of another machine, which answered last.

        Unloaded messages are at their place in the conversation.
        """
        rows = tuple(_move_to(row, places.get(row.id)) for row in self.rows)
        head = say("instructions and example turns") if self.head > 1 else say("instructions")
        return tuple(_segments(rows, used, head))


def message_totals(rows: Iterable[CachedMessage]) -> dict[str, int]:
    """Count turns, messages and tokens."""
    counted = list(rows)
    turns = len({row.turn for row in counted})
    return {"turns": turns, "messages": len(counted), "tokens": sum(row.tokens for row in counted)}


def _move_to(row: CachedMessage, place: Place | None) -> CachedMessage:
    """Return the message with other cells than its columns say, or with none."""
    start, size = place or (-1, row.size)
    status = LOADED if row.status == LOADED else MARKED if place else UNLOADED
    return replace(row, start=start, size=size, status=status)


def _segments(rows: Sequence[CachedMessage], used: int, head: str) -> Iterator[StripSegment]:
    loaded = sorted((row for row in rows if row.start >= 0), key=lambda row: row.start)
    unloaded = [row for row in rows if row.start < 0 and row.status != LOADED]
    end = 0
    for row in loaded:
        if row.start > end:
            yield _other_segment(end, row.start, head)
        while unloaded and unloaded[0].seq < row.seq:
            yield _message_segment(unloaded.pop(0))
        yield _message_segment(row)
        end = row.start + row.size
    if used > end:
        yield _other_segment(end, used, head)
    for row in unloaded:
        yield _message_segment(row)


def _other_segment(start: int, end: int, head: str) -> StripSegment:
    """Return a segment of cells that hold no message of the path."""
    return StripSegment(
        key="",
        seq=0,
        role="" if start else "system",
        kind="other" if start else "head",
        start=start,
        size=end - start,
        status=LOADED,
        label=say("quoted or of our own") if start else head,
    )


def _message_segment(row: CachedMessage) -> StripSegment:
    return StripSegment(
        key=row.id,
        seq=row.seq,
        role=row.role,
        kind="message",
        start=row.start,
        size=row.size,
        status=row.status,
        label=row.text,
    )
