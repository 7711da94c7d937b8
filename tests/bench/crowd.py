"""Many people at once on one process: whether it keeps up, and how late a token is."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

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
from tests.bench.processes import application, cpu_seconds, fake_provider, server_pid

USERS = 200
RATE = 50
# Long enough for all answers to overlap: the starts take half of an answer's time.
TOKENS = 400
STARTS = TOKENS / RATE / 2
# Milliseconds: how late a token may be, and how much later at an answer's end than at its start.
LATE = 500.0
LATER = 100.0


@dataclass(frozen=True, slots=True)
class Crowd:
    """The answers of one pass, the seconds of CPU that the server used for them, and how many
    tokens each should have."""

    answers: list[TimedAnswer]
    cpu: float = 0.0
    tokens: int = TOKENS

    def gaps(self) -> list[float]:
        return [gap * 1000 for answer in self.answers for gap in answer.gaps()]

    def lags(self) -> list[float]:
        return [lag * 1000 for answer in self.answers for lag in answer.lags()]

    def wrong(self) -> int:
        return sum(answer.wrong(self.tokens) for answer in self.answers)

    def falling_behind(self) -> float:
        """How many milliseconds later the last second's tokens were than the first second's."""
        growth = [
            statistics.median(lags[-RATE:]) - statistics.median(lags[:RATE])
            for lags in (answer.lags() for answer in self.answers)
        ]
        return statistics.median(growth) * 1000


async def run(options: Options) -> list[Row]:
    times = options.times(5, 1)
    print(
        f"{USERS} users x {TOKENS} tokens at {RATE} a second, starts spread over {STARTS:.0f} s:\n"
        "asked directly, then through one process of the application, each in a conversation\n"
        "that begins with it. The provider stamps every token; lag is from there to the client.\n"
    )
    direct, ours = [], []
    with fake_provider() as provider, application(provider) as server:
        await _through(server.url, server_pid(server), users=5)
        for _ in range(times):
            direct.append(await _directly(provider))
            ours.append(await _through(server.url, server_pid(server)))
    head = (
        "client",
        "passes",
        "tokens lost or doubled",
        "lag p50 / p99, ms",
        "gaps p50 / p99, ms",
        "later at the end, ms",
        "server's cores",
    )
    print(table(head, (_line("direct", direct), _line("application", ours))))
    return _rows(direct, ours)


async def _directly(provider: str) -> Crowd:
    async with unlimited_session() as session:
        return Crowd(await _ask([provider_asker(session, provider)] * USERS))


async def _through(url: str, pid: int, *, users: int = USERS) -> Crowd:
    async with people_at(url, users) as pages:
        before = cpu_seconds(pid)
        answers = await _ask([page_asker(page) for page in pages])
        return Crowd(answers, cpu_seconds(pid) - before)


async def _ask(asks: list[Ask]) -> list[TimedAnswer]:
    return await all_ask(asks, question(tokens=TOKENS, rate=RATE, stamped=True), seconds=STARTS)


def _line(name: str, passes: list[Crowd]) -> list[str]:
    lags, gaps = [one.lags() for one in passes], [one.gaps() for one in passes]
    cores = statistics.median(one.cpu for one in passes) / (TOKENS / RATE + STARTS)
    return [
        name,
        str(len(passes)),
        str(sum(one.wrong() for one in passes)),
        f"{middle(lags, 50):.0f} / {middle(lags, 99):.0f}",
        f"{middle(gaps, 50):.0f} / {middle(gaps, 99):.0f}",
        f"{statistics.median(one.falling_behind() for one in passes):.0f}",
        f"{cores:.2f}" if cores else "",
    ]


def _rows(direct: list[Crowd], ours: list[Crowd]) -> list[Row]:
    gap = middle([one.gaps() for one in direct], 99)
    late = middle([one.lags() for one in ours], 99)
    behind = statistics.median(one.falling_behind() for one in ours)
    return [
        Row(
            what=f"{USERS} users: tokens lost or doubled",
            baseline=str(sum(one.wrong() for one in direct)),
            ours=str(sum(one.wrong() for one in ours)),
            target="0",
        ),
        Row(
            what=f"{USERS} users: lag of a token, p99",
            baseline=f"{middle([one.lags() for one in direct], 99):.0f} ms",
            ours=f"{late:.0f} ms",
            target=judge(f"under {LATE:.0f} ms", late < LATE, gap=gap),
        ),
        Row(
            what=f"{USERS} users: later at an answer's end than at its start",
            baseline=f"{statistics.median(one.falling_behind() for one in direct):.0f} ms",
            ours=f"{behind:.0f} ms",
            target=judge(f"keeps up: under {LATER:.0f} ms", behind < LATER, gap=gap),
        ),
    ]


def middle(passes: list[list[float]], percent: float) -> float:
    """The median of a percentile over the passes."""
    return statistics.median(percentile(one, percent) for one in passes)
