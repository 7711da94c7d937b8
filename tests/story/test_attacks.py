"""Each attack in short: what has to be refused is refused, nobody else notices, memory is bounded.

`make attacks` runs them whole and measures; docs/security-tests.md has the figures.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import psutil
import pytest

from tests.attacks import hostile
from tests.attacks.all_attacks import ATTACKS
from tests.attacks.kit import Attack, Target
from tests.attacks.outsider import ADDRESS
from tests.fakes.openai_server import FakeOpenAI
from tests.person import Person
from tests.running import ROOT, Server

pytestmark = pytest.mark.thorough

IN_CI = [attack for attack in ATTACKS if attack.in_ci]
MIB = 1024 * 1024


@pytest.fixture
def target(
    attack: Attack, fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Target]:
    """With the built-in limits, and an address for one person."""
    environment = {
        "LIMITS_FACTOR": "1",
        "PEOPLE_PER_ADDRESS": "1",
        "SIGNUP": "true",
        "OPENAI_API_KEY": "sk-attack",
        "OPENAI_BASE_URL": fake.base_url,
    }
    folder, flags = tmp_path_factory.mktemp("attacked"), ("-X", "dev")
    with (
        attack.around() as surroundings,
        Server(
            folder, flags=flags, root=ROOT, **(environment | dict(surroundings.environment))
        ) as running,
    ):
        yield Target(running, part=attack.short, surroundings=surroundings)
        assert "Traceback" not in running.log, running.log


@asynccontextmanager
async def somebody_else(server: Server) -> AsyncIterator[None]:
    """Opens the page and has a turn again and again; every one has to work."""

    async def visit() -> None:
        while not over.is_set():
            async with Person(server.url, address=ADDRESS) as visitor:
                page = await visitor.page()
                assert (await page.say("Hello [[tokens=3]]"))["state"] == "complete"
            await asyncio.wait([closing], timeout=1.0)

    over = asyncio.Event()
    closing = asyncio.create_task(over.wait())
    visits = asyncio.create_task(visit())
    try:
        yield
    finally:
        over.set()
        await visits


@pytest.mark.parametrize("attack", IN_CI, ids=lambda attack: attack.name)
async def test_an_attack_is_refused_and_nobody_else_notices(attack: Attack, target: Target) -> None:
    assert target.server.process is not None
    process = psutil.Process(target.server.process.pid)
    async with somebody_else(target.server):
        before = process.memory_info().rss
        await attack.run(target)
    grown = (process.memory_info().rss - before) / MIB
    assert grown <= 50, f"{grown:.0f} MB more"
    assert bool(target.refused) is attack.refuses, target.told
    assert not target.breaches


async def test_hostile_values_in_every_field_cause_no_error(
    fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with Server(
        tmp_path_factory.mktemp("hostile"),
        SIGNUP="true",
        OPENAI_API_KEY="sk-attack",
        OPENAI_BASE_URL=fake.base_url,
    ) as server:
        target = Target(server)
        await hostile.frames(target, count=600)
        await hostile.requests(target, count=1_500)
        failed = [what for what in target.told if what.startswith(("5", "hang", "internal"))]
        assert not failed
        assert "Traceback" not in server.log, server.log
