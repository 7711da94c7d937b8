"""A new version is rolled out: one server after the other is stopped and followed by another one,
while people talk through nginx. Nobody loses a word.

The servers before are this version's, too, since a clone needn't have another one; with
`BEFORE=/path/to/a/checkout` they are those of that checkout.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.chaos.checks import (
    Stored,
    wrong_messages,
    wrong_servers,
    wrong_turns,
)
from tests.cluster.chaos.people import Talker
from tests.cluster.chaos.record import Record, now
from tests.cluster.chaos.run import still_wrong_pages, until_quiet
from tests.cluster.chaos.site import Site, running_site
from tests.cluster.chaos.test_chaos import CUT
from tests.running import ROOT, Server

pytestmark = [pytest.mark.slow, pytest.mark.thorough, pytest.mark.filterwarnings(*CUT)]
BEFORE = Path(os.environ.get("BEFORE", ROOT))
PEOPLE = 8


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with running_site(tmp_path, root=BEFORE) as running:
        yield running


async def replace(server: Server) -> None:
    """Another server of this version in its place, once its answers have ended."""
    await asyncio.to_thread(server.stop, 150)
    server.root = ROOT
    await asyncio.to_thread(server.start)


async def test_while_servers_are_replaced_nobody_loses_a_word(site: Site) -> None:
    record = Record()
    people = [Talker(number, [site.proxy.url], 1, record, failures={}) for number in range(PEOPLE)]
    for talker in people:
        await talker.come()
    talking = [asyncio.create_task(talker.talk(now() + 600)) for talker in people]
    await asyncio.sleep(5)
    for server in site.servers:
        await replace(server)
        accepted = len(record.accepted)
        async with asyncio.timeout(60):
            while len(record.accepted) < accepted + PEOPLE:  # noqa: ASYNC110 - people
                await asyncio.sleep(0.1)
    for task in talking:
        task.cancel()
    wrong: list[Any] = await until_quiet(site, people)
    stored = Stored(site)
    wrong += [*record.wrong, *wrong_turns(stored), *wrong_messages(stored, record)]
    wrong += [*wrong_servers(stored, site), *await still_wrong_pages(stored, site, people)]
    for talker in people:
        await talker.go()
    gc.collect()
    assert not wrong
    assert set(stored.answers) <= {"complete", "stopped"}, record.lines(stored.answers)
