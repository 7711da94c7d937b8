"""Hundreds of people who ask within two seconds: when their first tokens come, and how late."""

from __future__ import annotations

import statistics

from tests.bench.crowd import Crowd, middle
from tests.bench.figures import Options, Row, judge, table
from tests.bench.people import (
    all_ask,
    page_asker,
    people_at,
    provider_asker,
    question,
    unlimited_session,
)
from tests.bench.processes import application, cpu_seconds, fake_provider, server_pid

USERS = 300
SECONDS = 2.0
# Twice as fast as people read. At 50 a second the clients alone take both cores.
RATE = 20
TOKENS = 80
# Milliseconds that may be added to the first token of nearly everybody.
ADDED = 300.0


async def run(options: Options) -> list[Row]:
    times = options.times(5, 1)
    print(
        f"{USERS} users x {TOKENS} tokens at {RATE} a second. All ask within {SECONDS:.0f} s,\n"
        "each in a new conversation: directly, then through one process of ours.\n"
        "Added is what an answer's first token took less the median of the direct ones of its\n"
        "pass; a token's lag is from the provider's stamp to the client.\n"
    )
    direct, ours, added = [], [], []
    with fake_provider() as provider, application(provider, MAX_ANSWERS="1000") as server:
        await _through(server.url, server_pid(server), users=5)
        for _ in range(times):
            direct.append(await _directly(provider))
            ours.append(await _through(server.url, server_pid(server)))
            usual = statistics.median(one.first for one in direct[-1].answers)
            added.append([(one.first - usual) * 1000 for one in ours[-1].answers])
    _print(direct, ours, added)
    return _rows(direct, ours, added)


async def _directly(provider: str) -> Crowd:
    async with unlimited_session() as session:
        asks = [provider_asker(session, provider)] * USERS
        return Crowd(await all_ask(asks, _prompt(), seconds=SECONDS), tokens=TOKENS)


async def _through(url: str, pid: int, *, users: int = USERS) -> Crowd:
    async with people_at(url, users) as pages:
        before = cpu_seconds(pid)
        asks = [page_asker(page) for page in pages]
        answers = await all_ask(asks, _prompt(), seconds=SECONDS)
        return Crowd(answers, cpu_seconds(pid) - before, TOKENS)


def _prompt() -> str:
    return question(tokens=TOKENS, rate=RATE, stamped=True)


def _print(direct: list[Crowd], ours: list[Crowd], added: list[list[float]]) -> None:
    head = ("client", "added p50 / p95 / p99, ms", "lag p50 / p99, ms", "lost or doubled")
    times = " / ".join(f"{middle(added, percent):.0f}" for percent in (50, 95, 99))
    lines = [
        [
            name,
            more,
            " / ".join(f"{middle([one.lags() for one in passes], p):.0f}" for p in (50, 99)),
            str(sum(one.wrong() for one in passes)),
        ]
        for name, more, passes in (("direct", "", direct), ("application", times, ours))
    ]
    print(table(head, lines))


def _rows(direct: list[Crowd], ours: list[Crowd], added: list[list[float]]) -> list[Row]:
    gap = middle([one.gaps() for one in direct], 99)
    more = middle(added, 99)
    what = f"{USERS} streams started within {SECONDS:.0f} s"
    return [
        Row(
            what=f"{what}: first token added, p50 (p99)",
            baseline="",
            ours=f"+{middle(added, 50):.0f} ({more:.0f}) ms",
            target=judge(f"at most +{ADDED:.0f} ms", more <= ADDED, gap=gap),
        ),
        Row(
            what=f"{what}: lag of a token, p99",
            baseline=f"{middle([one.lags() for one in direct], 99):.0f} ms",
            ours=f"{middle([one.lags() for one in ours], 99):.0f} ms",
        ),
        Row(
            what=f"{what}: tokens lost or doubled",
            baseline=str(sum(one.wrong() for one in direct)),
            ours=str(sum(one.wrong() for one in ours)),
            target="0",
        ),
    ]
