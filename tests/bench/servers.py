"""Many streams through three servers on PostgreSQL, beside one process with SQLite."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from tests.bench.figures import Options, Row, percentile, ratios, spread, table, verdict
from tests.bench.people import TimedAnswer, all_ask, page_asker, people_on, question
from tests.bench.processes import fake_provider
from tests.bench.sites import Crowd, Site, Used, on_postgresql, on_sqlite, shown

SERVERS = 3
SETTLE_SECONDS = 1.0
IDLE_SECONDS = 10.0
# Before the provider's first token.
FIRST = 0.05


# The rates leave room on two cores, which clients and provider use, too.
CROWDS = (Crowd(100, 200, 20, 4.0), Crowd(400, 60, 5, 10.0))


@dataclass(frozen=True, slots=True)
class Pass:
    answers: Sequence[TimedAnswer]
    used: Used  # microseconds a token
    busy: float  # percent of the machine, with clients, provider and whatever else ran

    def firsts(self) -> list[float]:
        return [(one.first - FIRST) * 1000 for one in self.answers]

    def lags(self) -> list[float]:
        return [lag * 1000 for one in self.answers for lag in one.lags()]


Found = dict[str, list[Pass]]


async def run(options: Options) -> list[Row]:
    print(
        f"People are spread over {SERVERS} servers in turns. CPU is that of all servers, and the\n"
        "database's apart, with the turns and with what is done in the second after them. First\n"
        "tokens are counted from the question, less the provider's time; a token's lag is from\n"
        "the provider's stamp to the client.\n"
    )
    rows = []
    with (
        fake_provider() as provider,
        on_sqlite(provider) as one,
        on_postgresql(provider, SERVERS) as several,
    ):
        sites = (one, several)
        for site in sites:
            await site.warm()
        print(await _idle(sites))
        for crowd in CROWDS:
            found: Found = defaultdict(list)
            for number in range(options.times(3, 1)):
                for site in sites[:: -1 if number % 2 else 1]:
                    found[site.name].append(await _pass(site, crowd))
            rows += _rows(crowd, found[one.name], found[several.name])
    return rows


async def _idle(sites: Sequence[Site]) -> str:
    """What a site uses while nobody does anything."""
    before = {site.name: site.used() for site in sites}
    await asyncio.sleep(IDLE_SECONDS)
    lines = []
    for site in sites:
        used = site.used() - before[site.name]
        each = IDLE_SECONDS / 1000
        servers = used.servers / each / len(site.servers)
        lines.append([site.name, f"{servers:.1f}", f"{used.database / each:.1f}"])
    return table(("idle", "each server, ms of CPU a second", "database"), lines)


async def _pass(site: Site, crowd: Crowd) -> Pass:
    prompt = question(tokens=crowd.tokens, rate=crowd.rate, first=FIRST, stamped=True)
    async with people_on(site.urls, crowd.people) as pages:
        await asyncio.sleep(SETTLE_SECONDS)
        psutil.cpu_percent()
        before = site.used()
        asks = [page_asker(page) for page in pages]
        answers = await all_ask(asks, prompt, seconds=crowd.seconds)
        busy = psutil.cpu_percent()
        await asyncio.sleep(SETTLE_SECONDS)
        used = site.used() - before
    return Pass(answers, used.per(crowd.people * crowd.tokens, 1e-6), busy)


def _rows(crowd: Crowd, one: Sequence[Pass], several: Sequence[Pass]) -> list[Row]:
    what = f"{crowd.people} streams of {crowd.rate} tokens a second"

    def percentiles(passes: Sequence[Pass], name: str) -> str:
        values = [value for each in passes for value in getattr(each, name)()]
        return " / ".join(f"{percentile(values, percent):.1f}" for percent in (50, 95, 99))

    def wrong(passes: Sequence[Pass]) -> str:
        return str(sum(one.wrong(crowd.tokens) for each in passes for one in each.answers))

    def busy(passes: Sequence[Pass]) -> str:
        return f"{spread([each.busy for each in passes], digits=0)} %"

    sides = [[each.used for each in passes] for passes in (one, several)]
    grown = ratios(*([used.all for used in side] for side in sides[::-1]))
    return [
        Row(
            what=f"{what}: CPU a token",
            baseline=f"SQLite {shown(sides[0], 'us', digits=0)}",
            ours=shown(sides[1], "us", digits=0),
            ratio=spread(grown, digits=2),
        ),
        *(
            Row(
                what=f"{what}: {name}, p50 / p95 / p99",
                baseline=f"SQLite {percentiles(one, of)} ms",
                ours=f"{percentiles(several, of)} ms",
            )
            for name, of in (("first token", "firsts"), ("lag of a token", "lags"))
        ),
        Row(
            what=f"{what}: tokens lost or doubled",
            baseline=wrong(one),
            ours=wrong(several),
            target=verdict("0", wrong(several) == "0"),
        ),
        Row(what=f"{what}: the machine was busy", baseline=busy(one), ours=busy(several)),
    ]
