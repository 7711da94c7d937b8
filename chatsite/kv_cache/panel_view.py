"""Reads what the panel shows of a conversation in the engine's cache: the cells of its messages,
what a cleanup unloaded, what each turn reused, and what is saved."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chatsite.conversations.database.columns import fetch, in_batches, key, placeholders
from chatsite.conversations.database.rows import excerpt
from chatsite.conversations.database.statements import CACHED_MESSAGES, CLEANED_UP, IN_CACHE
from chatsite.conversations.models import Conversation, Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import owned_conversation
from chatsite.conversations.path.cache_places import as_uuid, id_text
from chatsite.kv_cache.books import Book, Span
from chatsite.kv_cache.models import KvSession
from chatsite.kv_cache.records import (
    CacheBooks,
    CachedMessage,
    SavedFile,
    message_totals,
)
from chatsite.kv_cache.saved_sessions import machine_key
from chatsite.storage import reading

TURNS = 20
LABEL = 80
REUSE = ("expected", "reused", "evaluated", "origin")


@reading
def cache_books(*, owner: Owner, conversation: str) -> CacheBooks:
    """Read a conversation's places in the cache. Raises NotFound unless it is this owner's."""
    row = owned_conversation(owner, conversation)
    saved = _saved_file(row)
    rows = _cached_messages(row, IN_CACHE) | _cached_messages(row, CLEANED_UP)
    if saved is not None:
        read = {one.id for one in rows.values()}
        rows |= _messages_with(row, [id for id in saved.places if as_uuid(id) and id not in read])
    receipt: Mapping[str, Any] = (row.last_turn.receipt if row.last_turn else None) or {}
    return CacheBooks(
        agent=row.agent,
        model=row.model,
        rows=tuple(rows[seq] for seq in sorted(rows)),
        saved=saved,
        turns=tuple(_reuse_by_turn(row)),
        head=receipt.get("head", {}).get("messages", 0),
    )


@reading
def totals_of(*, owner: Owner, conversation: str, ids: Sequence[str]) -> dict[str, Any]:
    """Add up these messages, as far as they are on the path: `turns` are the sequence numbers
    of their user messages, `messages` and `tokens` are counts. Raises NotFound."""
    row = owned_conversation(owner, conversation)
    rows = _messages_with(row, ids).values()
    return message_totals(rows) | {"turns": sorted({one.turn for one in rows})}


def _messages_with(row: Conversation, ids: Sequence[str]) -> dict[int, CachedMessage]:
    messages: dict[int, CachedMessage] = {}
    for some in in_batches([key(uuid.UUID(id)) for id in ids]):
        messages |= _cached_messages(row, f"id IN ({placeholders(some)})", *some)
    return messages


def _cached_messages(row: Conversation, condition: str, *values: Any) -> dict[int, CachedMessage]:
    """Return the messages of the path that fulfil the condition, by sequence number."""
    return {
        seq: CachedMessage(
            id=id_text(id),
            seq=seq,
            turn=turn,
            role=role,
            text=excerpt(text or "", LABEL),
            tokens=tokens,
            start=start,
            size=size,
            status=status,
        )
        for id, seq, turn, role, text, tokens, size, start, status in fetch(
            CACHED_MESSAGES + condition, key(row.id), True, *values
        )
    }


def _saved_file(row: Conversation) -> SavedFile | None:
    sessions = KvSession.objects.filter(key=machine_key(str(row.id)))
    session = sessions.only("spans", "size", "created").first()
    if session is None:
        return None
    book = Book(spans=tuple(Span(*stored) for stored in session.spans))
    cells = sum(span.size for span in book.spans)
    return SavedFile(bytes=session.size, at=session.created, cells=cells, places=book.places)


def _reuse_by_turn(row: Conversation) -> Iterator[dict[str, Any]]:
    """Yield the newest turns, oldest first, with what each reused of the cache."""
    turns = Turn.objects.filter(conversation=row, receipt__isnull=False).order_by("-number")
    for number, receipt in reversed(turns.values_list("number", "receipt")[:TURNS]):
        stored = receipt or {}
        if account := stored.get("cache"):
            first = stored.get("reported", {}).get("first_token_ms")
            yield {"number": number, "first_token_ms": first} | {n: account[n] for n in REUSE}
