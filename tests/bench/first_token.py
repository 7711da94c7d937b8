"""The time that the application adds to the first token, compared with the provider alone."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from tests.bench.figures import Options, Row, judge, percentile, table
from tests.bench.people import (
    Ask,
    TimedAnswer,
    all_ask,
    page_asker,
    people_at,
    provider_asker,
    question,
    unlimited_session,
)
from tests.bench.processes import application, fake_provider

TOKENS = 100
# Milliseconds that may be added at 50 users.
ADDED = 10.0


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


async def run(options: Options) -> list[Row]:
    print(
        "Each round asks the provider directly, then through the application's socket, with\n"
        "storage and receipts on; the rounds are turns of the same conversations. Added is what\n"
        "an answer took less the median of the direct ones of its round.\n"
    )
    rows, lines = [], []
    with fake_provider() as provider, application(provider) as server:
        for users, rounds in ((1, options.times(41, 9)), (50, options.times(11, 3))):
            async with people_at(server.url, users) as pages, unlimited_session() as session:
                ours = [page_asker(page) for page in pages]
                direct = [provider_asker(session, provider)] * users
                times = await _rounds(ours, direct, rounds)
            lines.append(_line(users, rounds, times))
            rows.append(_row(users, times))
    head = (
        "users",
        "answers",
        "direct p50 / p99, ms",
        "its gaps p99, ms",
        "added p50, ms",
        "added p95, ms",
        "added p99, ms",
        "largest, ms",
    )
    print(table(head, lines))
    return rows


async def _rounds(ours: list[Ask], direct: list[Ask], rounds: int) -> Times:
    """The first round isn't counted: it opens connections and fills caches."""
    prompt = question(tokens=TOKENS if len(ours) > 1 else 5)
    seconds = 1.0 if len(ours) > 1 else 0.0
    times = Times()
    for number in range(rounds + 1):
        from_provider = await all_ask(direct, prompt, seconds=seconds)
        from_application = await all_ask(ours, prompt, seconds=seconds)
        if number:
            times.take(from_provider, from_application)
    return times


def _line(users: int, rounds: int, times: Times) -> list[str]:
    return [
        str(users),
        f"{rounds} x {users}",
        f"{percentile(times.alone, 50):.1f} / {percentile(times.alone, 99):.1f}",
        f"{percentile(times.gaps, 99):.1f}",
        *(f"{percentile(times.added, percent):.1f}" for percent in (50, 95, 99)),
        f"{max(times.added):.1f}",
    ]


def _row(users: int, times: Times) -> Row:
    usual, more = percentile(times.alone, 50), percentile(times.added, 50)
    target = ""
    if users > 1:
        smooth = percentile(times.gaps, 99)
        target = judge(f"under {ADDED:.0f} ms", more < ADDED, gap=smooth)
    return Row(
        what=f"time to first token, {users} user{'s' * (users > 1)}: direct / added, p50 (p99)",
        baseline=f"{usual:.1f} ({percentile(times.alone, 99):.1f}) ms",
        ours=f"+{more:.1f} ({percentile(times.added, 99):.1f}) ms",
        ratio=f"{(usual + more) / usual:.2f}",
        target=target,
    )
