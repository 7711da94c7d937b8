"""This version beside another checkout: relayed tokens, first token and decisions, in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.figures import Options, Row, ratios, spread, table
from tests.bench.people import all_ask, page_asker, people_at, question
from tests.bench.processes import application, cpu_seconds, fake_provider, server_pid
from tests.person import Person
from tests.running import ROOT

USERS = 50
TOKENS = 200
# Turns in the conversation in which the drafts are written.
STORED = 100
# Drafts in one pass; many, because the CPU time of a process has steps of 10 ms.
DRAFTS = 100
# The highest allowed ratio.
TARGET = 1.05


@dataclass(slots=True)
class Version:
    """One running version, and its figures pass by pass."""

    url: str
    pid: int
    person: Person
    conversation: str
    relayed: list[float] = field(default_factory=list)
    turns: list[float] = field(default_factory=list)
    firsts: list[float] = field(default_factory=list)
    crowd_firsts: list[float] = field(default_factory=list)
    decisions: list[float] = field(default_factory=list)


Measure = Callable[[Version], Awaitable[None]]


async def run(options: Options) -> list[Row]:
    if options.before is None:
        print("Left out: no other version was named (--before PATH).")
        return []
    times = options.times(15, 3)
    print(
        "Two servers run side by side and take turns, each pass in both orders. CPU is that of a\n"
        "server process and its children. A decision is a preview of a draft: resolve, load,\n"
        "count, decide, encode; the socket included.\n"
    )
    with fake_provider() as provider:
        async with (
            _version(options.before.resolve(), provider) as before,
            _version(ROOT, provider) as now,
        ):
            for number in range(times + 1):
                for measure in (_relay, _one_token, _first_alone, _first_in_crowd, _decide):
                    pair = (before, now) if number % 2 else (now, before)
                    for version in pair:
                        await measure(version)
                if number == 0:  # this pass opened connections and filled caches
                    _forget(before)
                    _forget(now)
    return _rows(before, now)


@asynccontextmanager
async def _version(root: Path, provider: str) -> AsyncIterator[Version]:
    async with AsyncExitStack() as stack:
        server = stack.enter_context(application(provider, root=root, MAX_ANSWERS_PER_OWNER="60"))
        person = await stack.enter_async_context(Person(server.url))
        talk = await person.page(query="historyPolicy=all")
        for _ in range(STORED):
            await talk.say(question(tokens=5, rate=1000, first=0.0))
        await talk.close()
        yield Version(server.url, server_pid(server), person, talk.conversation)


def _forget(version: Version) -> None:
    for measured in (
        version.relayed, version.turns, version.firsts, version.crowd_firsts, version.decisions,
    ):  # fmt: skip
        measured.clear()


async def _relay(version: Version) -> None:
    """Microseconds of CPU for each relayed token."""
    version.relayed.append(await _cpu(version, TOKENS) * 1e6 / (USERS * TOKENS))


async def _one_token(version: Version) -> None:
    """Milliseconds of CPU for a turn whose answer is one token."""
    version.turns.append(await _cpu(version, 1) * 1e3 / USERS)


async def _cpu(version: Version, tokens: int) -> float:
    async with people_at(version.url, USERS) as pages:
        before = cpu_seconds(version.pid)
        answers = await all_ask(
            [page_asker(p) for p in pages], question(tokens=tokens), seconds=1.0
        )
        used = cpu_seconds(version.pid) - before
    wrong = sum(one.wrong(tokens) for one in answers)
    if wrong:
        raise RuntimeError(f"{wrong} tokens were lost or doubled at {version.url}")
    return used


async def _first_alone(version: Version) -> None:
    """Milliseconds to the first token for one person, the median of eleven turns."""
    async with people_at(version.url, 1) as pages:
        ask = page_asker(pages[0])
        firsts = [(await ask(question(tokens=5, first=0.0))).first * 1000 for _ in range(11)]
    version.firsts.append(statistics.median(firsts))


async def _first_in_crowd(version: Version) -> None:
    """The median among fifty people who ask within a second."""
    async with people_at(version.url, USERS) as pages:
        asks = [page_asker(page) for page in pages]
        answers = await all_ask(asks, question(tokens=100, first=0.0), seconds=1.0)
    version.crowd_firsts.append(statistics.median(one.first * 1000 for one in answers))


async def _decide(version: Version) -> None:
    """Milliseconds a decision on a conversation of 200 messages takes, the median of many."""
    page = await version.person.page(version.conversation, query="historyPolicy=all")
    taken = []
    for number in range(DRAFTS):
        began = time.perf_counter()
        await page.preview(f"How deep is it there, at {number} miles?")
        taken.append((time.perf_counter() - began) * 1000)
    await page.close()
    version.decisions.append(statistics.median(taken))


def _rows(before: Version, now: Version) -> list[Row]:
    rows = [
        _row(f"server CPU a relayed token, {USERS} users, us", before.relayed, now.relayed),
        _row("server CPU a turn of one token, ms", before.turns, now.turns),
        _row("first token, 1 user, ms", before.firsts, now.firsts),
        _row(f"first token, {USERS} users, ms", before.crowd_firsts, now.crowd_firsts),
        _row(f"a decision on {2 * STORED} messages, ms", before.decisions, now.decisions),
    ]
    print(table(
        ("what", "before", "now", "ratio"),
        [(row.what, row.baseline, row.ours, row.ratio) for row in rows],
    ))  # fmt: skip
    return rows


def _row(what: str, before: Sequence[float], now: Sequence[float]) -> Row:
    ratio = statistics.median(ratios(now, before))
    return Row(
        what=what,
        baseline=spread(before, digits=2),
        ours=spread(now, digits=2),
        ratio=spread(ratios(now, before), digits=2),
        target=f"at most {TARGET}: {'holds' if ratio <= TARGET else 'MISSED'}",
    )
