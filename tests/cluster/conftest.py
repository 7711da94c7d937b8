from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.talk_server import BOT, PASSWORD, FakeTalk
from tests.postgres import NAME, Postgres
from tests.running import Server

ROOM = "harbour1"
KEY = "sk-canary-7f3a"
SECRET = "a key for tests alone: nothing that is signed with it leaves them"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest test first: at the end nothing else would run beside it."""
    items.sort(key=lambda item: "test_chaos" not in item.nodeid)


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeOpenAI]:
    """A provider on a real socket that records the requests."""
    with FakeOpenAI() as running:
        yield running


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """A PostgreSQL that tests may stop and start. Its own database has the tables, and is copied:
    making them takes seconds."""
    with Postgres() as running:
        folder = tmp_path_factory.mktemp("tables")
        made = Server(folder, DATABASE_URL=running.url, SECRET_KEY=SECRET)
        made.manage("migrate", "--verbosity=0")
        yield running


@pytest.fixture
def url(postgres: Postgres, request: pytest.FixtureRequest) -> str:
    """This test's own database."""
    return postgres.new_database(f"test_{abs(hash(request.node.nodeid))}", template=NAME)


@contextmanager
def servers_on(url: str, fake: FakeOpenAI, folder: Path) -> Iterator[Callable[..., Server]]:
    """Starts one more server on this database."""
    numbers = itertools.count(1)
    started: list[Server] = []

    def start(**environment: str) -> Server:
        server = Server(
            folder / str(next(numbers)),
            DATABASE_URL=url,
            SECRET_KEY=SECRET,
            OPENAI_API_KEY=KEY,
            OPENAI_BASE_URL=fake.base_url,
            **environment,  # type: ignore[arg-type]
        )
        started.append(server.start())
        return server

    yield start
    for server in started:
        if server.process is not None and server.process.poll() is None:
            server.kill()


@pytest.fixture
def talk() -> Iterator[FakeTalk]:
    with FakeTalk() as running:
        running.add_room(ROOM, "ada", "bob", bot=BOT, name="Harbour")
        yield running


@pytest.fixture
def talk_file(talk: FakeTalk, tmp_path: Path) -> dict[str, str]:
    """The environment that all servers share."""
    rooms = {ROOM: {"name": "Harbour", "agent": "demo", "readers": ["grace"]}}
    document = {"server": talk.url, "user": BOT, "password": "${TALK_PASSWORD}", "rooms": rooms}
    file = tmp_path / "talk.json"
    file.write_text(json.dumps(document))
    return {"TALK_FILE": str(file), "TALK_PASSWORD": PASSWORD}


@pytest.fixture
def serve(fake: FakeOpenAI, url: str, tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts one more server on this test's own database."""
    with servers_on(url, fake, tmp_path) as start:
        yield start
