"""The books of the engine's cache in the messages' rows: the cells of each message, and what a
cleanup unloaded. What a saved slot holds is in `saved_sessions`."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chatsite.conversations.database.columns import (
    execute_many,
    fetch,
    in_batches,
    key,
    placeholders,
)
from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.statements import (
    CACHE_PLACES,
    CLEANED_UP,
    IN_CACHE,
    OF_TURNS,
    SAVE_CACHE_PLACE,
)
from chatsite.conversations.models import Conversation, Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import owned_conversation
from chatsite.errors import TurnRunning
from chatsite.kv_cache.books import LOADED, MARKED, UNLOADED
from chatsite.storage import writing
from chatsite.wording import later, say

CachePlace = tuple[int, int, int]  # kv_size, kv_start_position, kv_status
NOT_THERE: CachePlace = (-1, -1, LOADED)
RUNNING = later("An answer is still being written here. Stop it first, or wait for its end.")


@writing
def place_books(*, conversation: str, places: Mapping[str, tuple[int, int]]) -> dict[str, int]:
    """Store the cells of all messages: `places` has first cell and size by message id.

    A message that isn't in `places` loses its cells, and is unloaded where it was marked for
    cleanup. An unloaded message with cells (it was replied to) is marked, so that the next cleanup
    removes it again. Unknown ids are ignored. Returns the changed statuses by id. Runs once a
    turn, so only rows that change are written.
    """
    hold(conversation=conversation)
    of = key(conversation)
    wanted = {key(id): place for text, place in places.items() if (id := as_uuid(text))}
    rows = fetch(CACHE_PLACES + IN_CACHE, of)
    there = {row[0] for row in rows}
    for some in in_batches([id for id in wanted if id not in there]):
        rows += fetch(f"{CACHE_PLACES}id IN ({placeholders(some)})", of, *some)
    return _write((row, _new_place(row[1:], wanted.get(row[0]))) for row in rows)


@writing
def mark_turns(*, conversation: str, turns: Sequence[int]) -> dict[str, int]:
    """Unload these turns, given by the seq of their user messages: messages in the cache are
    marked for cleanup, the others unloaded at once. Returns the changed statuses by id."""
    hold(conversation=conversation)
    return _write_status(key(conversation), turns)


@writing
def mark_for_cleanup(*, owner: Owner, conversation: str, turns: Sequence[int]) -> dict[str, int]:
    """The same at a person's request. Raises NotFound, TurnRunning while an answer is written."""
    hold(conversation=conversation)
    return _write_status(key(_idle(owner, conversation).id), turns)


@writing
def bring_back_turns(
    *, owner: Owner, conversation: str, turns: Sequence[int] | None = None
) -> dict[str, int]:
    """Undo a cleanup for these turns, or for all. Returns and raises as `mark_for_cleanup`."""
    hold(conversation=conversation)
    return mark_loaded(_idle(owner, conversation), turns)


def mark_loaded(row: Conversation, turns: Sequence[int] | None) -> dict[str, int]:
    """The same for a conversation that the caller holds."""
    of = key(row.id)
    if turns is None:
        rows = fetch(CACHE_PLACES + CLEANED_UP, of)
    else:
        rows = [one for one in _rows_of_turns(of, turns) if one[3] < LOADED]
    return _write((one, _loaded_place(one[1:])) for one in rows)


def _new_place(now: CachePlace, place: tuple[int, int] | None) -> CachePlace:
    size, _, status = now
    if place is not None:
        return place[1], place[0], LOADED if status == LOADED else MARKED
    return NOT_THERE if status == LOADED else (size, -1, UNLOADED)


def _loaded_place(now: CachePlace) -> CachePlace:
    size, start, _ = now
    return NOT_THERE if start < 0 else (size, start, LOADED)


def _write_status(of: Any, turns: Sequence[int]) -> dict[str, int]:
    return _write(
        (row, (row[1], row[2], MARKED if row[2] >= 0 else UNLOADED))
        for row in _rows_of_turns(of, turns)
    )


def _rows_of_turns(of: Any, turns: Sequence[int]) -> list[tuple[Any, ...]]:
    """All versions of answers belong to a turn. Messages before the first turn are never sent."""
    rows: list[tuple[Any, ...]] = []
    for some in in_batches(sorted({turn for turn in turns if turn > 0})):
        rows += fetch(f"{CACHE_PLACES} {OF_TURNS} ({placeholders(some)})", of, True, False, *some)
    return rows


def _write(rows: Iterable[tuple[tuple[Any, ...], CachePlace]]) -> dict[str, int]:
    """Store the places that differ. Returns the changed statuses by id."""
    different = [(row, new) for row, new in rows if row[1:] != new]
    execute_many(SAVE_CACHE_PLACE, [(*new, row[0]) for row, new in different])
    return {id_text(row[0]): new[2] for row, new in different if row[3] != new[2]}


def _idle(owner: Owner, conversation: str) -> Conversation:
    row = owned_conversation(owner, conversation)
    if Turn.objects.filter(conversation=row, state="running").exists():
        raise TurnRunning(say(RUNNING))
    return row


def id_text(id: Any) -> str:
    """An id in the database's form as text."""
    return str(id if isinstance(id, uuid.UUID) else uuid.UUID(id))


def as_uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
