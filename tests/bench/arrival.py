"""The page's first load in Chromium: bytes, requests, and when the composer is live."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser

from tests.bench.browsers import a_browser, checkout_before
from tests.bench.figures import Options, Row, ratios, spread, table
from tests.bench.processes import application, fake_provider
from tests.bench.slow_line import slow_line
from tests.running import ROOT, Server

# Milliseconds of a round trip.
ROUND_TRIPS = (0, 50, 150)
MOST_BYTES = 106_000
MOST_REQUESTS = 8
# At a round trip of 150 ms, of which opening a connection takes one.
MOST_MILLIS = 1_200
# The composer is live when a message can be written and sent and the settings are there that it
# would be sent with: the chip says them.
WATCH = """() => {
  const live = () => {
    const [chip, draft] = ["chip-words", "draft"].map((id) => document.getElementById(id));
    const waits = !chip || draft.readOnly || chip.textContent === "What the model sees";
    if (waits) requestAnimationFrame(live);
    else console.log(`live ${performance.now()}`);
  };
  requestAnimationFrame(live);
}"""


@dataclass(slots=True)
class Loads:
    """First loads of one version, by a person that the server has never seen."""

    url: str
    port: int
    bytes: list[float] = field(default_factory=list)
    requests: list[float] = field(default_factory=list)
    live: dict[int, list[float]] = field(default_factory=lambda: {ms: [] for ms in ROUND_TRIPS})


async def run(options: Options) -> list[Row]:
    return await asyncio.to_thread(_run, options)


def _run(options: Options) -> list[Row]:
    times = options.times(9, 3)
    with ExitStack() as stack:
        before_root = stack.enter_context(checkout_before(options))
        provider = stack.enter_context(fake_provider())
        browser = stack.enter_context(a_browser())
        before = stack.enter_context(_loads(before_root, provider))
        now = stack.enter_context(_loads(ROOT, provider))
        for number in range(times + 1):
            for loads in (before, now) if number % 2 else (now, before):
                for round_trip in ROUND_TRIPS:
                    _load(browser, loads, round_trip, keep=number > 0)
    return _rows(before, now)


@contextmanager
def _loads(root: Path, provider: str) -> Iterator[Loads]:
    server: Server
    with application(provider, root=root) as server:
        yield Loads(server.url, server.port)


def _load(browser: Browser, loads: Loads, round_trip: int, *, keep: bool) -> None:
    """The first pass fills the server's caches and isn't kept."""
    with slow_line(loads.port, round_trip=round_trip / 1000) as line:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.on("websocket", lambda socket: requests.append(socket.url))
        page.add_init_script(f"({WATCH})()")
        with page.expect_console_message(lambda said: said.text.startswith("live ")) as said:
            page.goto(f"http://127.0.0.1:{line.port}/chat", wait_until="commit")
        live = float(said.value.text.removeprefix("live "))
        page.wait_for_load_state("networkidle")
        if keep:
            loads.live[round_trip].append(live)
            if round_trip == ROUND_TRIPS[0]:
                loads.bytes.append(line.received)
                loads.requests.append(
                    len([url for url in requests if url.startswith(("http", "ws"))])
                )
        context.close()


def _rows(before: Loads, now: Loads) -> list[Row]:
    rows = [
        _row("first load, bytes received (all of it, headers too)", before.bytes, now.bytes,
             MOST_BYTES),
        _row("first load, requests (all of them, the socket too)", before.requests, now.requests,
             MOST_REQUESTS),
        *(
            _row(f"composer live, ms, round trip {ms} ms", before.live[ms], now.live[ms],
                 MOST_MILLIS if ms == ROUND_TRIPS[-1] else None)
            for ms in ROUND_TRIPS
        ),
    ]  # fmt: skip
    print(table(
        ("what", "before", "now", "ratio", "target"),
        [(row.what, row.baseline, row.ours, row.ratio, row.target) for row in rows],
    ))  # fmt: skip
    return rows


def _row(what: str, before: list[float], now: list[float], most: float | None) -> Row:
    target = ""
    if most is not None:
        holds = statistics.median(now) <= most
        target = f"at most {most:,}: {'holds' if holds else 'MISSED'}"
    return Row(
        what=what,
        baseline=spread(before, digits=0),
        ours=spread(now, digits=0),
        ratio=f"{statistics.median(ratios(now, before)):.2f}",
        target=target,
    )
