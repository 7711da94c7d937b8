"""5,000 turns of 50 people: what they leave in memory, and then how soon `all` answers.

After them each conversation has some 200 messages, all of which are read, decided on and sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

from tests.bench.figures import Options, Row, judge, percentile, spread, table
from tests.bench.first_token import Times
from tests.bench.memory import MIB
from tests.bench.people import (
    Ask,
    TimedAnswer,
    all_ask,
    page_asker,
    provider_asker,
    question,
    relay_asker,
    relay_sockets,
    unlimited_session,
)
from tests.bench.processes import (
    application,
    bare_relay,
    cpu_seconds,
    fake_provider,
    server_pid,
    unique_bytes,
)
from tests.person import Page, Person

USERS = 50
TURNS = 100
# Turns of each person before memory is measured: they open connections and fill caches.
FIRST = 10
# MiB that 5,000 turns may leave.
GROWTH = 10.0
# Milliseconds added to the first token under `all`, half of what they were.
ADDED = 58.0
QUERY = "historyPolicy=all"
TOKENS = 20
SETTLE_SECONDS = 2.0


async def run(options: Options) -> list[Row]:
    turns = 20 if options.quick else TURNS
    print(
        f"{USERS} people with {FIRST} turns each, then {turns} more, all at once; every answer has"
        " 40\ntokens. Memory is the growth of USS over the later turns, under the agent's own"
        " policy.\nThen everybody asks under `all` within a second, as in `first_token`: in the"
        " first round\nafter a restart (cold), and in later rounds.\n"
    )
    with fake_provider() as provider, application(provider) as server:
        async with AsyncExitStack() as stack:
            people = [await stack.enter_async_context(Person(server.url)) for _ in range(USERS)]
            pages = [await person.page() for person in people]
            grown = await _growth([page_asker(page) for page in pages], server_pid(server), turns)
            theirs = await _relay_growth(provider, turns)
            server.stop()
            server.start()
            again = [
                await person.page(page.conversation, query=QUERY)
                for person, page in zip(people, pages, strict=True)
            ]
            cold, warm, millis = await _under_all(again, provider, server_pid(server), options)
    print(_table(cold, warm))
    growth = Row(
        what=f"growth of memory over {USERS * turns:,} turns (USS)",
        baseline=f"{theirs:.1f} MiB",
        ours=f"{grown:.1f} MiB",
        target=f"at most {GROWTH:.0f} MiB: {'holds' if grown <= GROWTH else 'MISSED'}",
    )
    stored = 2 * (FIRST + turns)
    return [growth, *_rows(cold, warm, stored), _cpu_row(millis, stored)]


# ---- memory ------------------------------------------------------------------------------------
async def _growth(asks: Sequence[Ask], pid: int, turns: int) -> float:
    """MiB that the later turns leave."""
    await _talk(asks, FIRST)
    before = unique_bytes(pid)
    await _talk(asks, turns)
    return (unique_bytes(pid) - before) / MIB


async def _talk(asks: Sequence[Ask], turns: int) -> None:
    prompt = question(tokens=40, rate=0, first=0.0)

    async def many(ask: Ask) -> None:
        for _ in range(turns):
            await ask(prompt)

    await asyncio.gather(*map(many, asks))
    await asyncio.sleep(SETTLE_SECONDS)


async def _relay_growth(provider: str, turns: int) -> float:
    with bare_relay(provider) as (url, pid):
        async with relay_sockets(url, USERS) as sockets:
            return await _growth([relay_asker(socket) for socket in sockets], pid, turns)


# ---- the first token ---------------------------------------------------------------------------
async def _under_all(
    pages: Sequence[Page], provider: str, pid: int, options: Options
) -> tuple[Times, Times, list[float]]:
    """The first round's times, those of the others, and milliseconds of CPU a turn in these."""
    cold, warm = Times(), Times()
    millis: list[float] = []
    async with unlimited_session() as session:
        direct = [provider_asker(session, provider)] * USERS
        ours = [page_asker(page) for page in pages]
        for number in range(options.times(11, 3) + 1):
            alone = await _ask_all(direct)
            before = cpu_seconds(pid)
            answers = await _ask_all(ours)
            (warm if number else cold).take(alone, answers)
            if number:
                millis.append((cpu_seconds(pid) - before) * 1000 / USERS)
    return cold, warm, millis


async def _ask_all(asks: list[Ask]) -> list[TimedAnswer]:
    return await all_ask(asks, question(tokens=TOKENS), seconds=1.0)


def _table(cold: Times, warm: Times) -> str:
    head = ("round", "answers", "added p50 / p95 / p99, ms", "largest, ms")
    return table(head, [_line("cold", cold), _line("warm", warm)])


def _line(name: str, times: Times) -> list[str]:
    added = times.added
    shown = " / ".join(f"{percentile(added, percent):.0f}" for percent in (50, 95, 99))
    return [name, str(len(added)), shown, f"{max(added):.0f}"]


def _rows(cold: Times, warm: Times, stored: int) -> list[Row]:
    return [
        Row(
            what=f"first token under `all`, {stored} messages, {USERS} users, {name}: direct/added",
            baseline=f"{percentile(times.alone, 50):.1f} ({percentile(times.alone, 99):.1f}) ms",
            ours=f"+{percentile(times.added, 50):.1f} ({percentile(times.added, 99):.1f}) ms",
            target=judge(
                f"at most {ADDED:.0f} ms",
                percentile(times.added, 50) <= ADDED,
                gap=percentile(times.gaps, 99),
            ),
        )
        for name, times in (("cold", cold), ("warm", warm))
    ]


def _cpu_row(millis: list[float], stored: int) -> Row:
    return Row(
        what=f"server CPU a turn of {TOKENS} tokens under `all`, {stored} messages",
        baseline="",
        ours=f"{spread(millis)} ms",
    )
