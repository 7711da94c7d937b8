"""Bytes of database that a turn takes: the file's growth over many turns, beside their texts."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.bench.figures import Options, Row, table
from tests.bench.people import Ask, page_asker, people_at, question
from tests.bench.processes import application, fake_provider

PEOPLE = 20
TOKENS = 200
# The first turns of a conversation have shorter receipts, and fill pages that are there already.
FIRST = 20
MOST = 5_000


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes of the database's pages, those of its texts, and by table and index."""

    file: int
    texts: int
    parts: dict[str, int]

    @classmethod
    def of(cls, folder: Path) -> Size:
        with closing(sqlite3.connect(folder / "chatsite.sqlite3")) as database:
            [[pages], [free], [size]] = (
                database.execute(f"PRAGMA {name}").fetchone()
                for name in ("page_count", "freelist_count", "page_size")
            )
            [texts] = database.execute(
                "SELECT SUM(LENGTH(CAST(content AS BLOB))) FROM conversations_message"
            ).fetchone()
            parts = database.execute("SELECT name, SUM(pgsize) FROM dbstat GROUP BY name")
            return cls((pages - free) * size, texts, dict(parts.fetchall()))


async def run(options: Options) -> list[Row]:
    each = options.times(101, 15)
    print(
        f"{PEOPLE} conversations of {FIRST} turns (the demo agent: lastN 20), then {each} more\n"
        f"turns in each, with a short message and an answer of {TOKENS} tokens.\n"
    )
    with fake_provider() as provider, application(provider) as server:
        async with people_at(server.url, PEOPLE) as pages:
            people = [page_asker(page) for page in pages]
            await asyncio.gather(*(_talk(ask, FIRST) for ask in people))
            before = Size.of(server.folder)
            await asyncio.gather(*(_talk(ask, each) for ask in people))
            after = Size.of(server.folder)
    turns = PEOPLE * each
    grown = (after.file - before.file) / turns
    texts = (after.texts - before.texts) / turns
    parts = {name: (size - before.parts.get(name, 0)) / turns for name, size in after.parts.items()}
    shown = sorted(((size, name) for name, size in parts.items() if size >= 1), reverse=True)
    print(
        table(("table or index", "bytes a turn"), [[name, f"{size:,.0f}"] for size, name in shown])
    )
    return [
        Row(
            what=f"bytes of database a turn, over {turns:,} turns",
            baseline=f"{texts:,.0f} (its texts)",
            ours=f"{grown:,.0f}",
            ratio=f"{grown / texts:.1f}",
            target=f"at most {MOST:,}: {'holds' if grown <= MOST else 'MISSED'}",
        )
    ]


async def _talk(ask: Ask, turns: int) -> None:
    for _ in range(turns):
        await ask(question(tokens=TOKENS, rate=100_000, first=0.0))
