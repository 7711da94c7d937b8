"""Bytes on the wire a token, both ways, and of a preview, by a client that offers compression."""

from __future__ import annotations

import asyncio
import statistics
from collections import defaultdict
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.bench.figures import Options, Row, spread, verdict
from tests.bench.people import Ask, page_asker, people_at, question
from tests.bench.processes import fake_provider
from tests.bench.sides import NOW, Side, sides
from tests.bench.slow_line import SlowLine, slow_line
from tests.person import Page

TOKENS = 200
PREVIEWS = 5
# Bytes a token, those of the question and of the turn's other events included.
MOST = 30.0
# What follows the end of a turn belongs to it.
SETTLE_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Counted:
    """Bytes a token of a turn with long tokens and of one with short ones, and bytes a preview;
    `agreed`: whether the server took the client's offer. None: not known of this side."""

    long: float
    short: float
    preview: float | None = None
    agreed: bool | None = None


async def run(options: Options) -> list[Row]:
    print(
        f"One person gets {TOKENS} tokens at 50 a second in the first turn of a conversation, 15\n"
        "bytes each, half of them random; then as many of 4 bytes; then previews of drafts.\n"
        "The line counts the bytes of TCP. The client offers `permessage-deflate;\n"
        "client_max_window_bits` as Chromium does, and checks the text.\n"
    )
    found: dict[str, list[Counted]] = defaultdict(list)
    with fake_provider() as provider:
        async with sides(options, provider) as all_sides:
            for _ in range(options.times(3, 1)):
                counted = await asyncio.gather(*map(_measure, all_sides))
                for side, one in zip(all_sides, counted, strict=True):
                    found[side.name].append(one)
    return _rows(found)


async def _measure(side: Side) -> Counted:
    async with AsyncExitStack() as stack:
        port = urlsplit(side.url).port
        assert port is not None
        line = stack.enter_context(slow_line(port, round_trip=0.0))
        url = f"http://127.0.0.1:{line.port}"
        page = None
        if side.server:
            [page] = await stack.enter_async_context(people_at(url, 1))
            ask = page_asker(page)
        else:
            [ask] = await stack.enter_async_context(side.people(1, url=url))
        long = await _bytes(line, _turn(ask, stamped=True)) / TOKENS
        short = await _bytes(line, _turn(ask, stamped=False)) / TOKENS
        if page is None:
            return Counted(long, short)
        previews = await _bytes(line, _previews(page))
        return Counted(long, short, previews / PREVIEWS, bool(page.socket.compress))


async def _bytes(line: SlowLine, doing: Coroutine[None, None, None]) -> int:
    before = line.sent + line.received
    await doing
    await asyncio.sleep(SETTLE_SECONDS)
    return line.sent + line.received - before


async def _turn(ask: Ask, *, stamped: bool) -> None:
    answer = await ask(question(tokens=TOKENS, stamped=stamped))
    if wrong := answer.wrong(TOKENS):
        raise RuntimeError(f"{wrong} tokens were lost or doubled")


async def _previews(page: Page) -> None:
    for number in range(PREVIEWS):
        await page.preview(f"How deep is it there, at {number} miles?")


def _rows(found: dict[str, list[Counted]]) -> list[Row]:
    what = f"bytes on the wire a token, both ways, {TOKENS} at 50 a second"
    long, short, preview = (
        {
            name: [value for one in passes if (value := getattr(one, which)) is not None]
            for name, passes in found.items()
        }
        for which in ("long", "short", "preview")
    )
    middle = statistics.median(long[NOW])
    agreed = "" if found[NOW][0].agreed else "; no compression was agreed"
    return [
        _row(f"{what}, tokens of 15 bytes", long,
             verdict(f"at most {MOST:.0f}", middle <= MOST) + agreed),
        _row(f"{what}, tokens of 4 bytes", short, ""),
        _row("bytes on the wire a preview, both ways", preview, ""),
    ]  # fmt: skip


def _row(what: str, values: dict[str, list[float]], target: str) -> Row:
    others = (f"{name} {spread(found)}" for name, found in values.items() if name != NOW and found)
    return Row(what=what, baseline="; ".join(others), ours=spread(values[NOW]), target=target)
