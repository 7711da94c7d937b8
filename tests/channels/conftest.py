"""The desk, over real turns and the real store."""

from __future__ import annotations

import time

import pytest

from chatsite.channels.desk import Desk
from chatsite.limits.limiter import Limiter
from tests.turns.conftest import World
from tests.turns.conftest import world as world  # the fixture


@pytest.fixture
def desk(world: World) -> Desk:
    return Desk(
        turns=world.turns,
        limiter=Limiter(now=time.monotonic),
        acknowledge_seconds=0.05,
    )
