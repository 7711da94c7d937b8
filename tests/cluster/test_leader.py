"""What one of several servers does: it answers the rooms and keeps storage in order. When it dies,
another one goes on from the rows, and nothing is answered twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.talk_server import FakeTalk
from tests.person import Person
from tests.postgres import Postgres
from tests.running import Server

pytestmark = pytest.mark.slow

Serve = Callable[..., Server]


@pytest.fixture
def talk() -> Iterator[FakeTalk]:
    with FakeTalk() as running:
        yield running
