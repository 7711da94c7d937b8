"""The search on SQLite and on PostgreSQL, each in a process of its own: two owners' searches among
the messages of many."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.bench.database import database
from tests.bench.figures import Options, Row, ratios, spread, table
from tests.postgres import Postgres
from tests.running import ROOT

MANY, QUICK = 200_000, 20_000
LARGE, SMALL = 20_000, 200  # messages of the owners who search
WORDS = 60
RARE, COMMON = "albatross", "commonly"
# In one message of 5,000; in four of ten; and so on.
ASKED = {
    "a rare word": RARE,
    "a common word": COMMON,
    "two words": f"{RARE} {COMMON}",
    "a phrase": f'"{RARE} {COMMON}"',
    "a beginning": RARE[:4],
    "two Japanese characters": "東京",
    "nothing, of common words": f'"{COMMON} {COMMON} {COMMON}"',
}
KANJI = "東京都大阪駅前行電車時間朝夜雨海山川人日月火水木金土"


async def run(options: Options) -> list[Row]:
    count, times = QUICK if options.quick else MANY, options.times(21, 5)
    print(f"Searches of owners with {LARGE:,} and {SMALL} messages among {count:,}.\n")
    with Postgres() as postgres:
        lite = await asyncio.to_thread(_measured, count, times, "")
        large = await asyncio.to_thread(_measured, count, times, postgres.url)
    costs = [[name, str(lite["costs"][name]), str(large["costs"][name])] for name in lite["costs"]]
    print(table(("indexing", "SQLite", "PostgreSQL"), costs))
    other = [name for name, hits in lite["hits"].items() if large["hits"][name] != hits]
    assert not other, f"both databases find the same: {other}"
    return [
        Row(
            what=f"search for {name}",
            baseline=f"{spread(lite['searches'][name])} ms (SQLite)",
            ours=f"{spread(large['searches'][name])} ms (PostgreSQL)",
            ratio=spread(ratios(large["searches"][name], lite["searches"][name]), digits=2),
        )
        for name in lite["searches"]
    ]


def _measured(count: int, times: int, url: str) -> dict[str, Any]:
    command = [sys.executable, "-m", __name__, str(count), str(times)]
    environment = {**os.environ, "TEST_DATABASE_URL": url}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


async def _measure(count: int, times: int) -> dict[str, Any]:
    async with database():
        costs = await asyncio.to_thread(_build, count)
        searches, hits = await asyncio.to_thread(_search, times)
    return {"costs": costs, "searches": searches, "hits": hits}


def _texts() -> Iterator[str]:
    """Words as often as in a language: the n-th most frequent one with a weight of 1/n."""
    chance = random.Random(7)
    letters = "abcdefghijklmnoprstuvw"
    words = ["".join(chance.choices(letters, k=chance.randint(3, 10))) for _ in range(60_000)]
    weights = list(itertools.accumulate(1 / (place + 8) for place in range(len(words))))
    for number in itertools.count():
        text = chance.choices(words, cum_weights=weights, k=WORDS)
        if chance.random() < 0.4:
            text[-1] = COMMON
        if number % 5_000 == 7 or number in (SMALL + 11, LARGE + SMALL - 1):
            text[-2:] = RARE, COMMON
        if number % 50 == 0:
            text[0] = "".join(chance.choices(KANJI, k=40))
        yield " ".join(text)


def _build(count: int) -> dict[str, str]:
    from django.db import transaction

    from chatsite.conversations.database.statements import MESSAGES
    from chatsite.conversations.models import Conversation, Message
    from chatsite.conversations.search.word_index import index_words
    from chatsite.storage import flush_write_log, next_piece

    now, texts, left = datetime.now(UTC), _texts(), count
    while left > 0:
        # The small owner, the large one, then others like the small one.
        size = LARGE if left == count - SMALL else SMALL
        owner = f"owner {left}" if left < count - SMALL else "small" if size == SMALL else "large"
        row = Conversation.objects.create(
            id=uuid.uuid4(), guest=owner, agent="demo", title="bench", created=now, updated=now
        )
        with transaction.atomic():
            MESSAGES.insert(
                Message(
                    id=uuid.uuid4(),
                    conversation=row,
                    seq=seq,
                    turn_seq=seq,
                    role="user",
                    content=next(texts),
                    created=now,
                )
                for seq in range(1, size + 1)
            )
        left -= size
    _settle()
    before, pieces, more = _size(), [], True
    while more:
        ended, steps = False, index_words.pieces()
        while not ended:
            began = time.perf_counter()
            ended, result = next_piece(steps)
            pieces.append(1000 * (time.perf_counter() - began))
        more = bool(result)
        if len(pieces) % 50 == 0:
            flush_write_log.here()  # as the server does every few seconds
    _settle()
    return {
        "a piece, ms": spread(pieces),
        "a message, us": f"{1000 * sum(pieces) / count:.0f}",
        "bytes a message": f"{(_size() - before) / count:,.0f}, of {before / count:,.0f}",
    }


def _settle() -> None:
    """As the databases do from time to time: so that what is added can be told by the size."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "PRAGMA wal_checkpoint(TRUNCATE)"
            if connection.vendor == "sqlite"
            else "VACUUM (FULL, ANALYZE)"
        )


def _size() -> int:
    from django.db import connection

    if connection.vendor == "sqlite":
        return Path(connection.settings_dict["NAME"]).stat().st_size
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0])


def _search(times: int) -> tuple[dict[str, list[float]], dict[str, object]]:
    """Milliseconds, and which messages were found, by owner and what is looked for."""
    from chatsite.conversations.owners import Owner
    from chatsite.conversations.search.text_search import search_text

    searches: dict[str, list[float]] = {}
    hits: dict[str, object] = {}
    for guest, (name, text) in itertools.product(("large", "small"), ASKED.items()):
        search: Callable[..., Any] = search_text.here
        taken = []
        for _ in range(times):
            began = time.perf_counter()
            page = search(owner=Owner(guest=guest), text=text)
            taken.append(1000 * (time.perf_counter() - began))
        searches[f"{name}, the {guest} owner"] = taken
        hits[f"{name}, the {guest} owner"] = [[one.seq, one.parts] for one in page.hits]
    return searches, hits


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_measure(int(sys.argv[1]), int(sys.argv[2])))))
