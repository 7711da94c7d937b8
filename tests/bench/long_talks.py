"""5,000 turns of 50 people: what they leave in memory, and then how soon answers come.

After them each conversation has some 200 messages. Under `all` these are read, decided on and sent,
under `relevant` they are searched, by words and by sentence vectors.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

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
ALL = "historyPolicy=all"
RELEVANT = "historyPolicy=relevant&historyTokens=4000"
# Milliseconds added to the first token in the first round after a restart and in later ones, of 95
# answers in a hundred.
MOST = {
    "all": {"cold": 40.0, "warm": 10.0},
    "relevant, words": {"cold": 250.0, "warm": 40.0},
    "relevant, vectors": {"cold": 250.0, "warm": 40.0},
}
TOKENS = 20
SETTLE_SECONDS = 2.0
NOUNS = (
    "anchor bakery bridge candle carpet castle compass cottage desert engine feather forest garden "
    "glacier hammer harbour island kettle ladder lantern library market meadow mirror orchard "
    "painter parrot pepper piano rocket saddle sailor shadow spider temple tunnel valley violin "
    "window winter"
).split()


async def run(options: Options) -> list[Row]:
    turns = 20 if options.quick else TURNS
    print(
        f"{USERS} people with {FIRST} turns each, then {turns} more, all at once; every answer has"
        " 40\ntokens. Memory is the growth of USS over the later turns, under the agent's own"
        " policy.\nThen everybody asks under a policy within a second, as in `first_token`: in the"
        " first round\nafter a restart (cold), and in later rounds. Under `relevant` the first"
        " round of all makes the\nindexes (new), which later starts load.\n"
    )
    found: dict[tuple[str, str], Times] = {}
    searching: dict[str, list[float]] = {}
    with fake_provider() as provider, application(provider) as server:
        async with AsyncExitStack() as stack:
            people = [await stack.enter_async_context(Person(server.url)) for _ in range(USERS)]
            pages = [await person.page() for person in people]
            grown = await _growth([page_asker(page) for page in pages], server_pid(server), turns)
            theirs = await _relay_growth(provider, turns)

            async def after_restart(query: str, rounds: int) -> tuple[Times, Times, list[float]]:
                server.stop()
                server.start()
                again = [
                    await person.page(page.conversation, query=query)
                    for person, page in zip(people, pages, strict=True)
                ]
                return await _rounds(again, provider, server_pid(server), rounds)

            rounds = options.times(11, 3)
            found["all", "cold"], found["all", "warm"], millis = await after_restart(ALL, rounds)
            for name in ("relevant, vectors", "relevant, words"):
                if name == "relevant, words":
                    server.environment = {**server.environment, "PYTHONPATH": str(_no_vectors())}
                found[name, "new"], _, _ = await after_restart(RELEVANT, 0)
                cold, warm, searching[name] = await after_restart(RELEVANT, rounds)
                found[name, "cold"], found[name, "warm"] = cold, warm
    print(_table(found))
    growth = Row(
        what=f"growth of memory over {USERS * turns:,} turns (USS)",
        baseline=f"{theirs:.1f} MiB",
        ours=f"{grown:.1f} MiB",
        target=f"at most {GROWTH:.0f} MiB: {'holds' if grown <= GROWTH else 'MISSED'}",
    )
    stored = 2 * (FIRST + turns)
    return [
        growth,
        *_rows(found, stored),
        _cpu_row("all", millis, stored),
        *(_cpu_row(name, times, stored) for name, times in searching.items()),
    ]


def _no_vectors() -> Path:
    """A folder for PYTHONPATH that hides the package with the vectors."""
    folder = Path(tempfile.mkdtemp(prefix="chatsite-bench-"))
    (folder / "wordllama").mkdir()
    (folder / "wordllama" / "__init__.py").touch()
    return folder


# ---- memory ------------------------------------------------------------------------------------
async def _growth(asks: Sequence[Ask], pid: int, turns: int) -> float:
    """MiB that the later turns leave."""
    await _talk(asks, FIRST)
    before = unique_bytes(pid)
    await _talk(asks, turns)
    return (unique_bytes(pid) - before) / MIB


async def _talk(asks: Sequence[Ask], turns: int) -> None:
    async def many(ask: Ask) -> None:
        for number in range(turns):
            await ask(question(tokens=40, rate=0, first=0.0, about=_subject(number)))

    await asyncio.gather(*map(many, asks))
    await asyncio.sleep(SETTLE_SECONDS)


async def _relay_growth(provider: str, turns: int) -> float:
    with bare_relay(provider) as (url, pid):
        async with relay_sockets(url, USERS) as sockets:
            return await _growth([relay_asker(socket) for socket in sockets], pid, turns)


# ---- the first token ---------------------------------------------------------------------------
async def _rounds(
    pages: Sequence[Page], provider: str, pid: int, rounds: int
) -> tuple[Times, Times, list[float]]:
    """The first round's times, those of the others, and milliseconds of CPU a turn in these."""
    cold, warm = Times(), Times()
    millis: list[float] = []
    async with unlimited_session() as session:
        direct = [provider_asker(session, provider)] * USERS
        ours = [page_asker(page) for page in pages]
        for number in range(rounds + 1):
            alone = await _ask_all(direct, number)
            before = cpu_seconds(pid)
            answers = await _ask_all(ours, number)
            (warm if number else cold).take(alone, answers)
            if number:
                millis.append((cpu_seconds(pid) - before) * 1000 / USERS)
    return cold, warm, millis


async def _ask_all(asks: list[Ask], number: int) -> list[TimedAnswer]:
    return await all_ask(asks, question(tokens=TOKENS, about=_subject(number)), seconds=1.0)


def _subject(number: int) -> str:
    """Each has two words, which some other turns share, so that a search finds a few of them."""
    return f"the {NOUNS[number % len(NOUNS)]} and the {NOUNS[7 * number % len(NOUNS)]}"


def _table(found: Mapping[tuple[str, str], Times]) -> str:
    head = ("policy, round", "answers", "added p50 / p95 / p99, ms", "largest, ms")
    return table(head, [_line(", ".join(name), times) for name, times in found.items()])


def _line(name: str, times: Times) -> list[str]:
    added = times.added
    shown = " / ".join(f"{percentile(added, percent):.0f}" for percent in (50, 95, 99))
    return [name, str(len(added)), shown, f"{max(added):.0f}"]


def _rows(found: Mapping[tuple[str, str], Times], stored: int) -> list[Row]:
    rows = []
    for (policy, name), times in found.items():
        most = MOST[policy].get(name)
        rows.append(
            Row(
                what=f"first token under `{policy}`, {stored} messages, {USERS} users, {name}: "
                "direct/added",
                baseline=f"{percentile(times.alone, 50):.1f} "
                f"({percentile(times.alone, 95):.1f}) ms",
                ours=f"+{percentile(times.added, 50):.1f} ({percentile(times.added, 95):.1f}) ms",
                target=""
                if most is None
                else judge(
                    f"p95 at most {most:.0f} ms",
                    percentile(times.added, 95) <= most,
                    gap=percentile(times.gaps, 99),
                ),
            )
        )
    return rows


def _cpu_row(policy: str, millis: list[float], stored: int) -> Row:
    return Row(
        what=f"server CPU a turn of {TOKENS} tokens under `{policy}`, {stored} messages",
        baseline="",
        ours=f"{spread(millis)} ms",
    )
