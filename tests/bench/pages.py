"""Server CPU of a page, and of a list that the page asks for, against a text that is ready."""

from __future__ import annotations

import statistics

import aiohttp

from tests.bench.figures import Options, Row, ratios, spread, table
from tests.bench.people import unlimited_session
from tests.bench.processes import application, bare_relay, cpu_seconds, server_pid
from tests.person import Person

# Many, because the CPU time of a process has steps of 10 ms.
REQUESTS = 200
PATHS = {"the page": "/chat", "a list of conversations": "/conversations"}


async def run(options: Options) -> list[Row]:
    times = options.times(9, 3)
    print(
        f"{REQUESTS} requests of one person, one after the other, in {times} passes; the servers\n"
        "take turns. The baseline sends a page of the same size, which it has in memory.\n"
    )
    ours: dict[str, list[float]] = {name: [] for name in PATHS}
    base: list[float] = []
    with bare_relay("") as (socket, relay_pid), application() as server:
        bare = socket.replace("/ws", "/page")
        async with Person(server.url) as person, unlimited_session() as session:
            for number in range(times + 1):
                theirs = await _millis(session, bare, relay_pid)
                mine = {
                    name: await _millis(person.http, server.url + path, server_pid(server))
                    for name, path in PATHS.items()
                }
                if number:  # the first pass opens connections and fills caches
                    base.append(theirs)
                    for name in PATHS:
                        ours[name].append(mine[name])
    rows = [
        Row(
            what=f"server CPU of {name}",
            baseline=f"{spread(base, digits=2)} ms",
            ours=f"{spread(ours[name], digits=2)} ms",
            ratio=f"{statistics.median(ratios(ours[name], base)):.1f}",
        )
        for name in PATHS
    ]
    print(table(("what", "baseline", "ours"), [(row.what, row.baseline, row.ours) for row in rows]))
    return rows


async def _millis(session: aiohttp.ClientSession, address: str, pid: int) -> float:
    before = cpu_seconds(pid)
    for _ in range(REQUESTS):
        async with session.get(address) as answer:
            await answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{address} answers {answer.status}")
    return (cpu_seconds(pid) - before) * 1000 / REQUESTS
