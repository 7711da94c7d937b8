"""What the application adds to the time to the first token, over asking the provider directly."""

from __future__ import annotations

import statistics

from tests.bench.figures import Options, Row, percentile, table
from tests.bench.people import (
    Ask,
    all_ask,
    asking_page,
    asking_provider,
    people_at,
    question,
    unlimited_session,
)
from tests.bench.processes import application, fake_provider

TOKENS = 100


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
                ours = [asking_page(page) for page in pages]
                direct = [asking_provider(session, provider)] * users
                alone, added = await _rounds(ours, direct, rounds)
            lines.append(_line(users, rounds, alone, added))
            rows.append(_row(users, alone, added))
    head = (
        "users",
        "answers",
        "direct p50 / p99, ms",
        "added p50, ms",
        "added p95, ms",
        "added p99, ms",
        "largest, ms",
    )
    print(table(head, lines))
    return rows


async def _rounds(
    ours: list[Ask], direct: list[Ask], rounds: int
) -> tuple[list[float], list[float]]:
    """Milliseconds to the first token asked directly, and those added. A round before them isn't
    counted: it opens connections and loads what is loaded once."""
    prompt = question(tokens=TOKENS if len(ours) > 1 else 5)
    seconds = 1.0 if len(ours) > 1 else 0.0
    alone: list[float] = []
    added: list[float] = []
    for number in range(rounds + 1):
        asked = [h.first * 1000 for h in await all_ask(direct, prompt, seconds=seconds)]
        through = [h.first * 1000 for h in await all_ask(ours, prompt, seconds=seconds)]
        if number:
            usual = statistics.median(asked)
            alone += asked
            added += [first - usual for first in through]
    return alone, added


def _line(users: int, rounds: int, alone: list[float], added: list[float]) -> list[str]:
    return [
        str(users),
        f"{rounds} x {users}",
        f"{percentile(alone, 50):.1f} / {percentile(alone, 99):.1f}",
        *(f"{percentile(added, percent):.1f}" for percent in (50, 95, 99)),
        f"{max(added):.1f}",
    ]


def _row(users: int, alone: list[float], added: list[float]) -> Row:
    usual = percentile(alone, 50)
    return Row(
        what=f"time to first token, {users} user{'s' * (users > 1)}: direct / added, p50 (p99)",
        baseline=f"{usual:.1f} ({percentile(alone, 99):.1f}) ms",
        ours=f"+{percentile(added, 50):.1f} ({percentile(added, 99):.1f}) ms",
        ratio=f"{(usual + percentile(added, 50)) / usual:.2f}",
    )
