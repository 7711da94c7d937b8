"""A page's server CPU, a list's, and how long a bystander waits for a page while others stream."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from tests.bench.figures import Options, Row, percentile, verdict
from tests.bench.people import all_ask, question, unlimited_session
from tests.bench.processes import cpu_seconds, fake_provider
from tests.bench.sides import CHAINLIT, NOW, RELAY, Side, compared, sides, turned
from tests.person import Person

REQUESTS = 100
# The relay's page is as long, and ready in its memory.
READY = "/page"
PATHS = {"the page": "/chat", "a list of conversations": "/conversations"}
# The streams of others; a bystander asks so many seconds after the last answer.
USERS, TOKENS, PAUSE = 50, 150, 0.03
# Milliseconds that nearly every request of the bystander may take.
WAITS = 20.0

# By the name of the side, pass by pass or wait by wait.
Found = dict[str, list[float]]


async def run(options: Options) -> list[Row]:
    print(
        f"CPU of {REQUESTS} requests of one person, one after the other; the bare relay has its\n"
        f"page in memory. Then {USERS} people get {TOKENS} tokens each at 50 a second, and somebody"
        "\nelse asks for the page.\n"
    )
    cpu: dict[str, Found] = {name: defaultdict(list) for name in PATHS}
    alone: Found = defaultdict(list)
    beside: Found = defaultdict(list)
    with fake_provider() as provider:
        async with sides(options, provider, without=(CHAINLIT,)) as all_sides:
            for number in range(options.times(7, 1)):
                for side in turned(all_sides, number):
                    async with _bystander(side) as session:
                        for name, path in PATHS.items():
                            address = side.url + (path if side.server else READY)
                            before = cpu_seconds(side.pid)
                            waits = [await _wait(session, address) for _ in range(REQUESTS)]
                            used = (cpu_seconds(side.pid) - before) * 1000 / REQUESTS
                            cpu[name][side.name].append(used)
                            if path == PATHS["the page"]:
                                alone[side.name] += waits
                        beside[side.name] += await _while_others_stream(session, side)
    rows = [
        compared(f"server CPU of {name}", found, unit="ms", digits=2, against=RELAY)
        for name, found in cpu.items()
    ]
    return [*rows, _row(alone, beside)]


@asynccontextmanager
async def _bystander(side: Side) -> AsyncIterator[aiohttp.ClientSession]:
    async with Person(side.url) if side.server else unlimited_session() as one:
        yield one.http if isinstance(one, Person) else one


async def _wait(session: aiohttp.ClientSession, address: str) -> float:
    """Milliseconds until the page is there."""
    began = time.monotonic()
    async with session.get(address) as answer:
        await answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{address} answers {answer.status}")
    return (time.monotonic() - began) * 1000


async def _while_others_stream(session: aiohttp.ClientSession, side: Side) -> list[float]:
    address = side.url + (PATHS["the page"] if side.server else READY)
    waits = []
    async with side.people(USERS) as asks:
        streams = asyncio.create_task(all_ask(asks, question(tokens=TOKENS), seconds=1.0))
        while not streams.done():
            waits.append(await _wait(session, address))
            await asyncio.sleep(PAUSE)
        if wrong := sum(answer.wrong(TOKENS) for answer in await streams):
            raise RuntimeError(f"{wrong} tokens were lost or doubled by {side.name}")
    return waits


def _row(alone: Found, beside: Found) -> Row:
    shown = {
        name: f"{_both(waits)} ms (alone {_both(alone[name])})" for name, waits in beside.items()
    }
    return Row(
        what=f"a bystander's page while {USERS} streams run, p50 / p99",
        baseline="; ".join(f"{name} {one}" for name, one in shown.items() if name != NOW),
        ours=shown[NOW],
        target=verdict(f"p99 at most {WAITS:.0f} ms", percentile(beside[NOW], 99) <= WAITS),
    )


def _both(waits: list[float]) -> str:
    return f"{percentile(waits, 50):.1f} / {percentile(waits, 99):.1f}"
