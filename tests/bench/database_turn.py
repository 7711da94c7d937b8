"""A turn on PostgreSQL beside one on SQLite: CPU and time."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from tests.bench.figures import Options, Row, percentile, ratios, spread
from tests.bench.people import Ask, page_asker, people_on, question
from tests.bench.processes import fake_provider
from tests.bench.sites import Site, Used, on_postgresql, on_sqlite, shown

# At once; and how many turns each takes in a pass, one after the other without a pause.
CROWDS = {1: 40, 20: 4}
# They fill a policy's reach.
FIRST = 20
PROMPT = question(tokens=1, rate=0, first=0.0)


@dataclass(slots=True)
class Turns:
    """CPU in milliseconds a turn, pass by pass; the milliseconds that each turn took."""

    used: list[Used] = field(default_factory=list)
    taken: list[float] = field(default_factory=list)


async def run(options: Options) -> list[Row]:
    print(
        "Turns with one token, from the question to the answer's end, with storage and receipts,\n"
        "in conversations of 20 turns and more. One server each.\n"
    )
    rows = []
    with (
        fake_provider() as provider,
        on_sqlite(provider) as lite,
        on_postgresql(provider, 1) as large,
    ):
        sites = (lite, large)
        for people, turns in CROWDS.items():
            found: dict[str, Turns] = defaultdict(Turns)
            async with AsyncExitStack() as stack:
                asks = {site.name: await _people(stack, site, people) for site in sites}
                for number in range(options.times(9, 3)):
                    for site in sites[:: -1 if number % 2 else 1]:
                        await _pass(site, asks[site.name], turns, found[site.name])
            rows += _rows(people, found[lite.name], found[large.name])
    return rows


async def _people(stack: AsyncExitStack, site: Site, count: int) -> list[Ask]:
    pages = await stack.enter_async_context(people_on(site.urls, count))
    asks = [page_asker(page) for page in pages]
    for _ in range(FIRST):
        await asyncio.gather(*(ask(PROMPT) for ask in asks))
    return asks


async def _pass(site: Site, asks: Sequence[Ask], turns: int, found: Turns) -> None:
    async def many(ask: Ask) -> None:
        for _ in range(turns):
            began = time.monotonic()
            await ask(PROMPT)
            found.taken.append(1000 * (time.monotonic() - began))

    before = site.used()
    await asyncio.gather(*map(many, asks))
    found.used.append((site.used() - before).per(len(asks) * turns, 1e-3))


def _rows(people: int, lite: Turns, large: Turns) -> list[Row]:
    who = f"{people} people at once" if people > 1 else "one person"
    grown = ratios([one.all for one in large.used], [one.all for one in lite.used])

    def percentiles(turns: Turns) -> str:
        return " / ".join(f"{percentile(turns.taken, percent):.1f}" for percent in (50, 95, 99))

    return [
        Row(
            what=f"CPU of a turn, {who}",
            baseline=f"SQLite {shown(lite.used, 'ms', digits=2)}",
            ours=shown(large.used, "ms", digits=2),
            ratio=spread(grown, digits=2),
        ),
        Row(
            what=f"a turn, {who}, p50 / p95 / p99",
            baseline=f"SQLite {percentiles(lite)} ms",
            ours=f"{percentiles(large)} ms",
        ),
    ]
