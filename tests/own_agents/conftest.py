from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

STAFF = ("grace", "compilers-1952")


@pytest.fixture(scope="package")
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as running:
        yield running


@pytest.fixture(scope="package")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A fake provider answers; anyone may sign up, `STAFF` is staff, and the request is shown."""
    with Server(
        tmp_path_factory.mktemp("own-agents"),
        SIGNUP="true",
        OPENAI_API_KEY="sk-own-agents",
        OPENAI_BASE_URL=fake.base_url,
    ) as running:
        running.add_user(*STAFF)
        running.add_user("ada", "engines-1843")
        yield running
    assert "Traceback" not in running.log, running.log
