"""A turn of somebody with ten conversations, and of somebody with 20,000."""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import time
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.figures import Options, Row, percentile, ratios, spread, verdict
from tests.bench.people import DEFLATE, page_asker, question
from tests.bench.processes import cpu_seconds, fake_provider
from tests.bench.sides import BEFORE, CHAINLIT, NOW, RELAY, Side, sides, turned
from tests.person import Person

FEW, MANY = 10, 20_000
# Turns of one after those of the other, so often in a pass. The first ones fill a policy's reach.
TURNS, CHANGES, FIRST = 25, 4, 20
# The highest ratio of the CPU.
MOST = 1.05
INDEXED_SECONDS = 120.0

# A person, and the conversation that the turns are taken in.
Owner = tuple[Person, str]


@dataclass(slots=True)
class Times:
    """Milliseconds of CPU a turn, pass by pass, and milliseconds to the first tokens."""

    cpu: list[float] = field(default_factory=list)
    firsts: list[float] = field(default_factory=list)


async def run(options: Options) -> list[Row]:
    print(
        f"Two people of one server, of whom one has {FEW} conversations and one {MANY:,} with two\n"
        f"messages each. They take {TURNS} turns with one token in turns, {CHANGES} times a pass.\n"
    )
    with fake_provider() as provider:
        async with (
            sides(options, provider, without=(RELAY, CHAINLIT)) as versions,
            AsyncExitStack() as stack,
        ):
            owners = await asyncio.gather(*(_owners(stack, side) for side in versions))
            people = {side.name: them for side, them in zip(versions, owners, strict=True)}
            found = {side.name: {FEW: Times(), MANY: Times()} for side in versions}
            for number in range(options.times(7, 3)):
                for side in turned(versions, number):
                    await _pass(side, people[side.name], found[side.name])
    return _rows(found)


async def _owners(stack: AsyncExitStack, side: Side) -> dict[int, Owner]:
    """People with so many conversations."""
    assert side.server is not None
    owners = {}
    for count in (FEW, MANY):
        person = await stack.enter_async_context(Person(side.url, compress=DEFLATE))
        page = await person.page()
        await page.say(question(tokens=50, rate=0, first=0.0))
        await asyncio.to_thread(_copy, side.server.folder, page.conversation, count - 1)
        for _ in range(FIRST):
            await page.say(question(tokens=1, rate=0, first=0.0))
        await page.close()
        owners[count] = person, page.conversation
    await asyncio.to_thread(_wait_until_indexed, side.server.folder)
    return owners


async def _pass(side: Side, owners: dict[int, Owner], times: dict[int, Times]) -> None:
    pages = {
        count: await person.page(conversation) for count, (person, conversation) in owners.items()
    }
    used = dict.fromkeys(pages, 0.0)
    for _ in range(CHANGES):
        for count, page in pages.items():
            ask = page_asker(page)
            before = cpu_seconds(side.pid)
            for _ in range(TURNS):
                answer = await ask(question(tokens=1, rate=0, first=0.0))
                times[count].firsts.append(answer.first * 1000)
            used[count] += cpu_seconds(side.pid) - before
    for count, seconds in used.items():
        await pages[count].close()  # an open one would be sent the turns of later passes
        times[count].cpu.append(seconds * 1000 / (TURNS * CHANGES))


# ---- rows ---------------------------------------------------------------------------------------
def _copy(folder: Path, conversation: str, count: int) -> None:
    """Store so many copies of a conversation with its messages, in any version's tables."""
    with closing(_database(folder)) as database:
        database.execute("CREATE TEMP TABLE copies AS WITH RECURSIVE numbers(n) AS (SELECT 1 UNION "
                         "ALL SELECT n + 1 FROM numbers WHERE n < ?) SELECT "
                         "LOWER(HEX(RANDOMBLOB(16))) AS copy FROM numbers", [count])  # fmt: skip
        for table, own in (("conversation", "id"), ("message", "conversation_id")):
            changed = {"words_row": "NULL", "parent_id": "NULL", "turn_id": "NULL",
                       "last_turn_id": "NULL", "id": "LOWER(HEX(RANDOMBLOB(16)))",
                       own: "copy"}  # fmt: skip
            columns = [row[1] for row in database.execute(
                f"PRAGMA table_info(conversations_{table})")]  # fmt: skip
            values = ", ".join(changed.get(column, f'"{column}"') for column in columns)
            database.execute(
                f"INSERT INTO conversations_{table} SELECT {values} FROM conversations_{table} "
                f"CROSS JOIN copies WHERE {own} = ?",
                [conversation.replace("-", "")],
            )
        database.commit()


def _wait_until_indexed(folder: Path) -> None:
    """Until the server has indexed the words, so that it measures turns alone."""
    deadline = time.monotonic() + INDEXED_SECONDS
    query = "SELECT EXISTS (SELECT 1 FROM conversations_message WHERE words_row IS NULL)"
    with closing(_database(folder)) as database:
        while database.execute(query).fetchone()[0]:
            if time.monotonic() > deadline:
                raise RuntimeError("the words aren't indexed yet")
            time.sleep(0.5)


def _database(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(folder / "chatsite.sqlite3", timeout=30)


# ---- output -------------------------------------------------------------------------------------
def _rows(found: dict[str, dict[int, Times]]) -> list[Row]:
    grown = {name: ratios(times[MANY].cpu, times[FEW].cpu) for name, times in found.items()}
    what = f"somebody with {MANY:,} conversations; with {FEW}"
    return [
        Row(
            what=f"server CPU of a turn of {what}",
            baseline=_cpu(BEFORE, found[BEFORE]) if BEFORE in found else "",
            ours=_cpu("", found[NOW]),
            ratio=spread(grown[NOW], digits=2),
            target=verdict(f"at most {MOST} times as much", statistics.median(grown[NOW]) <= MOST),
        ),
        Row(
            what=f"first token of {what}, p50 (p95)",
            baseline=_firsts(BEFORE, found[BEFORE]) if BEFORE in found else "",
            ours=_firsts("", found[NOW]),
        ),
    ]


def _cpu(name: str, times: dict[int, Times]) -> str:
    many, few = (spread(times[count].cpu, digits=2) for count in (MANY, FEW))
    ratio = spread(ratios(times[MANY].cpu, times[FEW].cpu), digits=2)
    return f"{name} {many}; {few} ms{f', ratio {ratio}' if name else ''}".strip()


def _firsts(name: str, times: dict[int, Times]) -> str:
    many, few = (
        f"{percentile(times[count].firsts, 50):.1f} ({percentile(times[count].firsts, 95):.1f})"
        for count in (MANY, FEW)
    )
    return f"{name} {many}; {few} ms".strip()
