"""Messages of many owners to search among: stored in bulk, and indexed as the product does it."""

from __future__ import annotations

import itertools
import random
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from django.db import connection, transaction

from chatsite.conversations.database.columns import new_row
from chatsite.conversations.database.statements import MESSAGES
from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.search.word_index import index_words
from chatsite.storage import flush_write_log, next_piece

FEW = 200
IN_ONE = 5_000
WORDS = 60
# The first in one message of 5,000, the second in four of ten.
RARE, COMMON = "albatross", "commonly"
KANJI = "東京都大阪駅前行電車時間朝夜雨海山川人日月火水木金土"
FLUSHED = 50


def owner_of_many(count: int) -> int:
    """How many of all messages are one owner's."""
    return count // 5


def fill(count: int) -> dict[str, str]:
    """Store so many messages: `FEW` of the owner "few", a fifth of the owner "many", the others of
    owners like the first. What storing and indexing took."""
    began, texts = time.perf_counter(), _texts(count)
    for number, (owner, size) in enumerate(_conversations(count)):
        _store(owner, size, number, texts)
    stored = time.perf_counter() - began
    _settle()
    before, pieces = _size(), _index()
    _settle()
    return {
        "storing, s": f"{stored:.0f}",
        "indexing, s": f"{sum(pieces):.0f}",
        "indexing a message, us": f"{1e6 * sum(pieces) / count:.0f}",
        "the longest piece, ms": f"{1000 * max(pieces):.0f}",
        "bytes of index a message": f"{(_size() - before) / count:,.0f}",
    }


def _conversations(count: int) -> Iterator[tuple[str, int]]:
    """Owner and size of each."""
    many = owner_of_many(count)
    yield "few", FEW
    for start in range(0, many, IN_ONE):
        yield "many", min(IN_ONE, many - start)
    for start in range(FEW + many, count, FEW):
        yield f"owner {start}", min(FEW, count - start)


def _texts(count: int) -> Iterator[str]:
    """Words as often as in a language: the n-th most frequent one with a weight of 1/n."""
    chance = random.Random(7)
    letters = "abcdefghijklmnoprstuvw"
    words = ["".join(chance.choices(letters, k=chance.randint(3, 10))) for _ in range(60_000)]
    weights = list(itertools.accumulate(1 / (place + 8) for place in range(len(words))))
    pool = [chance.choices(words, cum_weights=weights, k=WORDS) for _ in range(20_000)]
    for number in range(count):
        text = list(chance.choice(pool))
        if chance.random() < 0.4:
            text[-1] = COMMON
        if number % 5_000 == 7:
            text[-2:] = RARE, COMMON
        if number % 50 == 0:
            text[0] = "".join(chance.choices(KANJI, k=40))
        yield " ".join(text)


def _store(owner: str, size: int, number: int, texts: Iterator[str]) -> None:
    """A conversation under an id that is the same in every database."""
    now = datetime.now(UTC)
    row = Conversation.objects.create(
        id=uuid.UUID(int=number), guest=owner, agent="demo", title="bench", created=now, updated=now
    )
    with transaction.atomic():
        MESSAGES.insert(
            new_row(
                Message,
                id=uuid.uuid4(),
                conversation_id=row.id,
                seq=seq,
                turn_seq=seq,
                role="user",
                content=next(texts),
                created=now,
            )
            for seq in range(1, size + 1)
        )


def _index() -> list[float]:
    """The seconds of each piece."""
    pieces, more = [], True
    while more:
        ended, steps, result = False, index_words.pieces(), None
        while not ended:
            began = time.perf_counter()
            ended, result = next_piece(steps)
            pieces.append(time.perf_counter() - began)
        more = bool(result)
        if len(pieces) % FLUSHED == 0:
            flush_write_log.here()  # as the server does every few seconds
    return pieces


def _settle() -> None:
    """As the databases do from time to time by themselves."""
    with connection.cursor() as cursor:
        on_sqlite = connection.vendor == "sqlite"
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)" if on_sqlite else "VACUUM (ANALYZE)")


def _size() -> int:
    if connection.vendor == "sqlite":
        return Path(connection.settings_dict["NAME"]).stat().st_size
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_total_relation_size('conversations_words')")
        return int(cursor.fetchone()[0])
