"""What the page shows of a conversation in the engine's cache: its messages' places, what a cleanup
unloaded, what each turn reused, and what is saved."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from chatsite.conversations.database.columns import fetch, key, placeholders
from chatsite.conversations.database.rows import brief
from chatsite.conversations.database.statements import CACHED_MESSAGES, CLEANED_UP, IN_CACHE
from chatsite.conversations.models import Conversation, KvSession, Turn
from chatsite.conversations.reads.loading import in_batches
from chatsite.conversations.reads.queries import owned
from chatsite.conversations.values.owners import Owner
from chatsite.kv import LOADED, MARKED, UNLOADED

TURNS = 20
LABEL = 80
Kind = Literal["head", "message", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A message of the path that lies in the cache or was unloaded; `start` and `size` -1: not
    there, not known."""

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
class Piece:
    """A run of cells, or a message that has none now. `seq` 0: it is no message."""

    key: str
    seq: int
    role: str
    kind: Kind
    start: int
    size: int
    status: int
    label: str

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFile:
    """What is on disk: the bytes of the file, when, how many cells it holds, and where each
    message lies among them."""

    bytes: int
    at: datetime
    cells: int
    places: Mapping[str, tuple[int, int]]

    def to_dict(self) -> dict[str, Any]:
        return {"bytes": self.bytes, "at": self.at.isoformat()}


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheBooks:
    """`rows` by sequence number; `saved` None where nothing is. `turns` are the newest that have
    an account of what they reused, oldest first; `head` is how many messages stood before the
    first turn in the last request."""

    agent: str
    model: str
    rows: tuple[Row, ...]
    saved: SavedFile | None
    turns: tuple[Mapping[str, Any], ...]
    head: int

    @property
    def unloaded(self) -> dict[str, int]:
        return count(row for row in self.rows if row.status != LOADED)

    def strip(self, *, place: str, used: int) -> tuple[Piece, ...]:
        """The `used` cells of the slot, or of the file where it is only "saved", in order; what is
        unloaded stands where it was said. With "none" nothing lies anywhere."""
        rows = self.rows
        if place != "slot":
            places = self.saved.places if self.saved and place == "saved" else {}
            rows = tuple(_at(row, places.get(row.id)) for row in rows)
        head = "instructions and example turns" if self.head > 1 else "instructions"
        return tuple(_pieces(rows, used, head))


def count(rows: Iterable[Row]) -> dict[str, int]:
    """How much that is, for a sentence."""
    all_of = list(rows)
    turns = len({row.turn for row in all_of})
    return {"turns": turns, "messages": len(all_of), "tokens": sum(row.tokens for row in all_of)}


def books_of(*, owner: Owner, conversation: str) -> CacheBooks:
    """Raises NotFound unless it is this owner's."""
    row = owned(owner, conversation)
    saved = _saved(row)
    rows = _rows(row, IN_CACHE) | _rows(row, CLEANED_UP)
    if saved is not None:
        known = {one.id for one in rows.values()}
        others = [key(uuid.UUID(id)) for id in saved.places if _is_id(id) and id not in known]
        for some in in_batches(others):
            rows |= _rows(row, f"id IN ({placeholders(some)})", *some)
    receipt: Mapping[str, Any] = (row.last_turn.receipt if row.last_turn else None) or {}
    return CacheBooks(
        agent=row.agent,
        model=row.model,
        rows=tuple(rows[seq] for seq in sorted(rows)),
        saved=saved,
        turns=tuple(_turns(row)),
        head=receipt.get("head", {}).get("messages", 0),
    )


def how_much(*, owner: Owner, conversation: str, ids: Sequence[str]) -> dict[str, Any]:
    """What these messages are together, as far as they are on the path: `turns` by the sequence
    number of what was said first, `messages` and `tokens`. Raises NotFound as `books_of` does."""
    row = owned(owner, conversation)
    found: dict[int, Row] = {}
    for some in in_batches([key(uuid.UUID(id)) for id in ids]):
        found |= _rows(row, f"id IN ({placeholders(some)})", *some)
    rows = found.values()
    return count(rows) | {"turns": sorted({one.turn for one in rows})}


def _rows(row: Conversation, condition: str, *values: Any) -> dict[int, Row]:
    return {
        seq: Row(
            id=str(id if isinstance(id, uuid.UUID) else uuid.UUID(id)),
            seq=seq,
            turn=turn,
            role=role,
            text=brief(text or "", LABEL),
            tokens=tokens,
            start=start,
            size=size,
            status=status,
        )
        for id, seq, turn, role, text, tokens, size, start, status in fetch(
            CACHED_MESSAGES + condition, key(row.id), True, *values
        )
    }


def _saved(row: Conversation) -> SavedFile | None:
    found = KvSession.objects.filter(key=str(row.id)).only("spans", "size", "created").first()
    if found is None:
        return None
    places: dict[str, tuple[int, int]] = {}
    start = 0
    for name, size in found.spans:
        places.setdefault(name, (start, size))
        start += size
    return SavedFile(bytes=found.size, at=found.created, cells=start, places=places)


def _turns(row: Conversation) -> Iterator[dict[str, Any]]:
    told = Turn.objects.filter(conversation=row, receipt__isnull=False).order_by("-number")
    for number, receipt in reversed(told.values_list("number", "receipt")[:TURNS]):
        told_of = receipt or {}
        if account := told_of.get("cache"):
            names = ("expected", "reused", "evaluated", "origin")
            first = told_of.get("reported", {}).get("first_token_ms")
            yield {"number": number, "first_token_ms": first} | {n: account[n] for n in names}


def _at(row: Row, place: tuple[int, int] | None) -> Row:
    """The row as it lies, or doesn't, somewhere else than its columns say."""
    start, size = place or (-1, row.size)
    away = MARKED if place else UNLOADED
    return replace(row, start=start, size=size, status=LOADED if row.status == LOADED else away)


def _pieces(rows: Sequence[Row], used: int, head: str) -> Iterator[Piece]:
    live = sorted((row for row in rows if row.start >= 0), key=lambda row: row.start)
    gone = [row for row in rows if row.start < 0 and row.status != LOADED]
    end = 0
    for row in live:
        if row.start > end:
            yield _between(end, row.start, head)
        while gone and gone[0].seq < row.seq:
            yield _piece(gone.pop(0))
        yield _piece(row)
        end = row.start + row.size
    if used > end:
        yield _between(end, used, head)
    for row in gone:
        yield _piece(row)


def _between(start: int, end: int, head: str) -> Piece:
    """Cells of no message of the path."""
    return Piece(
        key="",
        seq=0,
        role="" if start else "system",
        kind="other" if start else "head",
        start=start,
        size=end - start,
        status=LOADED,
        label="quoted or of our own" if start else head,
    )


def _piece(row: Row) -> Piece:
    return Piece(
        key=row.id,
        seq=row.seq,
        role=row.role,
        kind="message",
        start=row.start,
        size=row.size,
        status=row.status,
        label=row.text,
    )


def _is_id(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
