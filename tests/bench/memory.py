"""Memory of a fresh server, and of each idle socket."""

from __future__ import annotations

from tests.bench.figures import Options, Row, ratios, spread, table
from tests.bench.people import people_at, relay_sockets
from tests.bench.processes import (
    application,
    bare_relay,
    fake_provider,
    server_pid,
    unique_bytes,
)

SOCKETS = 200
FIRST = 20
EACH = 20  # sockets of a guest; a client library opens at most 100 for one session
MIB = 1024 * 1024
# MiB of a fresh server, with sentence vectors if they are installed.
MOST = 185.0


async def run(options: Options) -> list[Row]:
    times = options.times(5, 1)
    print(
        f"USS after the start, then the growth from {FIRST} to {FIRST + SOCKETS} idle sockets,\n"
        "each with a conversation of its own open. A fresh process each time.\n"
    )
    fresh, each, base_fresh, base_each = [], [], [], []
    with fake_provider() as provider:
        for _ in range(times):
            start, socket = await _application(provider)
            fresh.append(start)
            each.append(socket)
            start, socket = await _relay(provider)
            base_fresh.append(start)
            base_each.append(socket)
    head = ("server", "starts", "fresh, MiB", "an idle socket, KiB")
    print(
        table(
            head,
            (
                ["bare relay", str(times), spread(base_fresh), spread(base_each)],
                ["application", str(times), spread(fresh), spread(each)],
            ),
        )
    )
    return [
        Row(
            what="memory of a fresh server (USS)",
            baseline=f"{spread(base_fresh, digits=0)} MiB",
            ours=f"{spread(fresh, digits=0)} MiB",
            ratio=spread(ratios(fresh, base_fresh), digits=2),
            target=f"at most {MOST:.0f} MiB: {'holds' if max(fresh) <= MOST else 'MISSED'}",
        ),
        Row(
            what=f"memory of an idle socket, {SOCKETS} open",
            baseline=f"{spread(base_each, digits=0)} KiB",
            ours=f"{spread(each, digits=0)} KiB",
            ratio=spread(ratios(each, base_each), digits=2),
        ),
    ]


async def _application(provider: str) -> tuple[float, float]:
    """Returns MiB after the start and KiB for each socket."""
    with application(provider) as server:
        pid = server_pid(server)
        start = unique_bytes(pid)
        async with people_at(server.url, FIRST):
            before = unique_bytes(pid)
            async with people_at(server.url, SOCKETS // EACH, each=EACH):
                grown = unique_bytes(pid) - before
    return start / MIB, grown / SOCKETS / 1024


async def _relay(provider: str) -> tuple[float, float]:
    with bare_relay(provider) as (url, pid):
        async with relay_sockets(url, 1):  # once this socket is open, the relay runs
            start = unique_bytes(pid)
        async with relay_sockets(url, FIRST):
            before = unique_bytes(pid)
            async with relay_sockets(url, SOCKETS):
                grown = unique_bytes(pid) - before
    return start / MIB, grown / SOCKETS / 1024
