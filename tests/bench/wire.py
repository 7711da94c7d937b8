"""Bytes on the wire a token, both ways, and of a preview, by a client that offers compression."""

from __future__ import annotations

import asyncio
import statistics
from collections import defaultdict
from contextlib import AsyncExitStack
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.bench.figures import Options, Row, spread, verdict
from tests.bench.people import page_asker, people_at, question
from tests.bench.processes import fake_provider
from tests.bench.sides import BEFORE, NOW, Side, sides
from tests.bench.slow_line import slow_line

TOKENS = 200
PREVIEWS = 5
# Bytes a token, those of the question and of the turn's other events included.
MOST = 30.0
# What follows the end of a turn belongs to it.
SETTLE_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Bytes:
    """Of a turn by token, of it what was sent to the client, and of a preview; `agreed`: whether
    the server took the client's offer."""

    token: float
    received: float
    preview: float = 0.0
    agreed: bool | None = None


async def run(options: Options) -> list[Row]:
    print(
        f"One person gets {TOKENS} tokens at 50 a second in the second turn of a conversation,\n"
        "over a line that counts the bytes of TCP, and then previews drafts. The client offers\n"
        "`permessage-deflate; client_max_window_bits` as Chromium does, and checks the text.\n"
    )
    found: dict[str, list[Bytes]] = defaultdict(list)
    with fake_provider() as provider:
        async with sides(options, provider) as all_sides:
            for _ in range(options.times(7, 1)):
                counted = await asyncio.gather(*map(_measure, all_sides))
                for side, one in zip(all_sides, counted, strict=True):
                    found[side.name].append(one)
    return _rows(found)


async def _measure(side: Side) -> Bytes:
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
        await ask(question(tokens=5))
        await asyncio.sleep(SETTLE_SECONDS)
        sent, received = line.sent, line.received
        answer = await ask(question(tokens=TOKENS))
        if wrong := answer.wrong(TOKENS):
            raise RuntimeError(f"{wrong} tokens were lost or doubled by {side.name}")
        await asyncio.sleep(SETTLE_SECONDS)
        received = line.received - received
        whole = received + line.sent - sent
        if page is None:
            return Bytes(whole / TOKENS, received / TOKENS)
        before = line.received + line.sent
        for number in range(PREVIEWS):
            await page.preview(f"How deep is it there, at {number} miles?")
        await asyncio.sleep(SETTLE_SECONDS)
        preview = (line.received + line.sent - before) / PREVIEWS
        return Bytes(whole / TOKENS, received / TOKENS, preview, bool(page.socket.compress))


def _rows(found: dict[str, list[Bytes]]) -> list[Row]:
    ours = [one.token for one in found[NOW]]
    return [
        Row(
            what=f"bytes on the wire a token, both ways, {TOKENS} tokens at 50 a second",
            baseline="; ".join(
                f"{name} {_tokens(passes)}" for name, passes in found.items() if name != NOW
            ),
            ours=_tokens(found[NOW]),
            target=verdict(f"at most {MOST:.0f}", statistics.median(ours) <= MOST),
        ),
        Row(
            what="bytes on the wire a preview, both ways",
            baseline=f"{BEFORE} {_previews(found[BEFORE])}" if BEFORE in found else "",
            ours=_previews(found[NOW]),
        ),
    ]


def _tokens(passes: list[Bytes]) -> str:
    agreed = {True: ", compressed", False: ", not compressed", None: ""}[passes[0].agreed]
    received = spread([one.received for one in passes])
    return f"{spread([one.token for one in passes])}, {received} of them received{agreed}"


def _previews(passes: list[Bytes]) -> str:
    return spread([one.preview for one in passes], digits=0)
