"""A Talk-shaped server with one room, and the channel on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from chatsite.channels.desk import Desk
from tests.channels.conftest import desk as desk  # the fixture
from tests.fakes.talk_server import BOT, FakeTalk
from tests.talk.harness import TOKEN, Running
from tests.turns.conftest import World
from tests.turns.conftest import world as world  # the fixture


@pytest.fixture
def talk() -> Iterator[FakeTalk]:
    with FakeTalk() as running:
        running.add_room(TOKEN, "ada", "bob", bot=BOT)
        yield running


@pytest.fixture
def files(tmp_path: Path, settings: Settings) -> Path:
    settings.FILES_DIR = tmp_path
    return tmp_path


@pytest.fixture
async def rooms(world: World, talk: FakeTalk, desk: Desk, files: Path) -> AsyncIterator[Running]:
    async with Running(world, talk, desk, files) as running:
        yield running
