"""The time that each side adds to the first token, compared with the provider alone."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import aiohttp

from tests.bench.figures import Options, Row, judge, percentile, table
from tests.bench.people import (
    DEFLATE,
    TimedAnswer,
    all_ask,
    page_asker,
    provider_asker,
    question,
    unlimited_session,
)
from tests.bench.processes import fake_provider
from tests.bench.sides import NOW, Side, sides, turned
from tests.person import Person

TOKENS = 100
CROWDS = (50, 100)
# Milliseconds that may be added to 95 of 100 first tokens at 50 users.
ADDED, JUDGED = 10.0, 50
RESTARTED = "after a restart"


@dataclass(slots=True)
class Times:
    """In milliseconds: the time to the first token from the provider alone, the time added by the
    application, and the gaps between tokens from the provider alone."""

    alone: list[float] = field(default_factory=list)
    added: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)

    def take(self, direct: list[TimedAnswer], ours: list[TimedAnswer]) -> None:
        firsts = [answer.first * 1000 for answer in direct]
        usual = statistics.median(firsts)
        self.alone += firsts
        self.added += [answer.first * 1000 - usual for answer in ours]
        self.gaps += [gap * 1000 for answer in direct for gap in answer.gaps()]

    @property
    def shown(self) -> str:
        return " / ".join(f"{percentile(self.added, percent):.1f}" for percent in (50, 95, 99))


# By the number of users and the name of the side; with RESTARTED, of a server's first round.
Found = dict[tuple[int, str], Times]


async def run(options: Options) -> list[Row]:
    print(
        "Each round asks the provider directly, then through every side, with storage and\n"
        "receipts on, under `lastN` 20; everybody asks within a second, and the rounds are turns\n"
        "of the same conversations. Added is what an answer took less the median of the direct\n"
        "ones of its round.\n"
    )
    found: Found = {}
    with fake_provider() as provider:
        async with sides(options, provider) as all_sides, unlimited_session() as session:
            direct = _Direct(session, provider)
            await _rounds(found, all_sides, direct, 1, options.times(21, 9))
            for users in CROWDS:
                await _rounds(found, all_sides, direct, users, options.times(7, 1))
            for number in range(0 if options.quick else 3):
                for side in turned(all_sides, number):
                    if side.server:
                        await _after_restart(found, side, direct)
    head = ("users, side", "answers", "added p50 / p95 / p99, ms", "largest, ms")
    print(
        table(
            head,
            [
                [f"{users}, {name}", str(len(one.added)), one.shown, f"{max(one.added):.1f}"]
                for (users, name), one in found.items()
            ],
        )
    )
    rows = [_row(found, users) for users in (1, *CROWDS)]
    return rows if options.quick else [*rows, _row(found, JUDGED, when=f", {RESTARTED}")]


@dataclass(frozen=True, slots=True)
class _Direct:
    session: aiohttp.ClientSession
    provider: str

    async def ask(self, users: int) -> list[TimedAnswer]:
        asks = [provider_asker(self.session, self.provider)] * users
        return await all_ask(asks, _prompt(users), seconds=_seconds(users))


def _prompt(users: int) -> str:
    return question(tokens=TOKENS if users > 1 else 5)


def _seconds(users: int) -> float:
    return 1.0 if users > 1 else 0.0


async def _rounds(
    found: Found, all_sides: Sequence[Side], direct: _Direct, users: int, rounds: int
) -> None:
    """Everybody's first turn isn't counted."""
    async with AsyncExitStack() as stack:
        people = {
            side.name: await stack.enter_async_context(side.people(users)) for side in all_sides
        }
        for asks in people.values():
            await all_ask(asks, question(tokens=5), seconds=_seconds(users))
        for number in range(rounds):
            alone = await direct.ask(users)
            for side in turned(all_sides, number):
                answers = await all_ask(people[side.name], _prompt(users), seconds=_seconds(users))
                found.setdefault((users, side.name), Times()).take(alone, answers)


async def _after_restart(found: Found, side: Side, direct: _Direct) -> None:
    """The first round of a server, in conversations that have a turn each."""
    assert side.server is not None
    async with AsyncExitStack() as stack:
        people = [
            await stack.enter_async_context(Person(side.url, compress=DEFLATE))
            for _ in range(JUDGED)
        ]
        pages = [await person.page() for person in people]
        await all_ask([page_asker(page) for page in pages], question(tokens=5), seconds=1.0)
        side.server.stop()
        side.server.start()
        asks = [
            page_asker(await person.page(page.conversation))
            for person, page in zip(people, pages, strict=True)
        ]
        alone = await direct.ask(JUDGED)
        answers = await all_ask(asks, _prompt(JUDGED), seconds=1.0)
        found.setdefault((JUDGED, f"{side.name}, {RESTARTED}"), Times()).take(alone, answers)


def _row(found: Found, users: int, *, when: str = "") -> Row:
    """`when` is a part of the sides' names."""
    times = found[users, NOW + when]
    others = {
        name: one
        for (count, name), one in found.items()
        if count == users and (RESTARTED in name) == bool(when) and one is not times
    }
    target = ""
    if users == JUDGED and not when:
        holds = percentile(times.added, 95) <= ADDED
        target = judge(f"p95 at most {ADDED:.0f} ms", holds, gap=percentile(times.gaps, 99))
    return Row(
        what=f"first token added under `lastN`, {users} user{'s' * (users > 1)}{when}, "
        "p50 / p95 / p99",
        baseline="; ".join(f"{name} {one.shown}" for name, one in others.items()),
        ours=f"{times.shown} ms",
        target=target,
    )
