"""Visits leave nothing behind in the server's memory."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.bench.processes import unique_bytes
from tests.fakes.openai_server import FakeOpenAI
from tests.person import Person
from tests.running import Server
from tests.story.conftest import provider_environment

pytestmark = pytest.mark.thorough

MIB = 1024 * 1024
PEOPLE = 10
# What is loaded late, and caches that have a bound, are full after these.
WARM, VISITS = 300, 700


async def visit(server: Server, times: int) -> None:
    """Open a page, say something, and close it, so many times in all."""

    async def come_and_go() -> None:
        for _ in range(times // PEOPLE):
            async with Person(server.url) as ada:
                page = await ada.page()
                await page.preview("Hel")
                assert (await page.say("Hello"))["state"] == "complete"
                await page.close()

    await asyncio.gather(*(come_and_go() for _ in range(PEOPLE)))


async def test_memory_stays_flat_over_a_thousand_visits(tmp_path: Path, fake: FakeOpenAI) -> None:
    with Server(tmp_path / "var", flags=(), **provider_environment(fake)) as server:
        assert server.process is not None
        await visit(server, WARM)
        before = unique_bytes(server.process.pid)
        await visit(server, VISITS)
        grown = unique_bytes(server.process.pid) - before
        assert grown < 10 * MIB, f"{grown / MIB:.1f} MiB more after {VISITS} visits"
