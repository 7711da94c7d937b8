"""Hundreds of people at once on one process: when their first tokens come, and how late others."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass

from tests.bench.figures import SMOOTH, Options, Row, judge, percentile, verdict
from tests.bench.people import TimedAnswer, all_ask, provider_asker, question, unlimited_session
from tests.bench.processes import fake_provider
from tests.bench.sides import CHAINLIT, NOW, Side, sides, turned

USERS = 400
SECONDS = 2.0
# Twice as fast as people read. At 50 a second the clients alone take both cores.
RATE = 20
TOKENS = 60
# Milliseconds that may be added to the first token of nearly everybody.
ADDED = 150.0
# Milliseconds that a token may be late.
LATE = 500.0
DIRECT = "direct"


@dataclass(frozen=True, slots=True)
class Crowd:
    """The answers of one pass."""

    answers: list[TimedAnswer]

    def gaps(self) -> list[float]:
        return [gap * 1000 for answer in self.answers for gap in answer.gaps()]

    def lags(self) -> list[float]:
        return [lag * 1000 for answer in self.answers for lag in answer.lags()]

    def wrong(self) -> int:
        return sum(answer.wrong(TOKENS) for answer in self.answers)


async def run(options: Options) -> list[Row]:
    print(
        f"{USERS} users x {TOKENS} tokens at {RATE} a second. All ask within {SECONDS:.0f} s,\n"
        "each in a new conversation: directly, then through one process of each side.\n"
        "Added is what an answer's first token took less the median of the direct ones of its\n"
        "pass; a token's lag is from the provider's stamp to the client.\n"
    )
    found: dict[str, list[Crowd]] = defaultdict(list)
    with fake_provider() as provider:
        async with sides(options, provider, without=(CHAINLIT,)) as all_sides:
            for number in range(options.times(7, 1)):
                found[DIRECT].append(await _directly(provider))
                for side in turned(all_sides, number):
                    found[side.name].append(await _through(side))
    return _rows(found)


async def _directly(provider: str) -> Crowd:
    async with unlimited_session() as session:
        asks = [provider_asker(session, provider)] * USERS
        return Crowd(await all_ask(asks, _prompt(), seconds=SECONDS))


async def _through(side: Side) -> Crowd:
    async with side.people(USERS) as asks:
        return Crowd(await all_ask(asks, _prompt(), seconds=SECONDS))


def _prompt() -> str:
    return question(tokens=TOKENS, rate=RATE, stamped=True)


def _rows(found: dict[str, list[Crowd]]) -> list[Row]:
    usual = [statistics.median(one.first for one in crowd.answers) for crowd in found[DIRECT]]
    added = {
        name: [
            [(one.first - direct) * 1000 for one in crowd.answers]
            for crowd, direct in zip(passes, usual, strict=True)
        ]
        for name, passes in found.items()
        if name != DIRECT
    }
    # What is smooth is said of tokens every 20 ms.
    gap = middle([one.gaps() for one in found[DIRECT]], 99) - (1000 / RATE - SMOOTH / 2)
    firsts = {
        name: " / ".join(f"{middle(passes, percent):.0f}" for percent in (50, 95, 99))
        for name, passes in added.items()
    }
    late = {name: middle([one.lags() for one in passes], 99) for name, passes in found.items()}
    lags = {name: f"{lag:.0f}" for name, lag in late.items()}
    wrong = {name: str(sum(one.wrong() for one in passes)) for name, passes in found.items()}
    holds = middle(added[NOW], 99) <= ADDED
    what = f"{USERS} streams started within {SECONDS:.0f} s"
    return [
        _row(f"{what}: first token added, p50 / p95 / p99, ms", firsts,
             judge(f"p99 at most {ADDED:.0f} ms", holds, gap=gap)),
        _row(f"{what}: lag of a token, p99, ms", lags,
             judge(f"under {LATE:.0f} ms", late[NOW] < LATE, gap=gap)),
        _row(f"{what}: tokens lost or doubled", wrong, verdict("0", wrong[NOW] == "0")),
    ]  # fmt: skip


def _row(what: str, values: dict[str, str], target: str) -> Row:
    others = "; ".join(f"{name} {value}" for name, value in values.items() if name != NOW)
    return Row(what=what, baseline=others, ours=values[NOW], target=target)


def middle(passes: list[list[float]], percent: float) -> float:
    """The median of a percentile over the passes."""
    return statistics.median(percentile(one, percent) for one in passes)
