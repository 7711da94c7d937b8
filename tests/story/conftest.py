from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.dovecot import Dovecot
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.smtp_sink import SmtpSink
from tests.fakes.talk_server import FakeTalk
from tests.running import Server
from tests.story.agents import write_agent

KEY = "sk-canary-7f3a"


@pytest.fixture(scope="session")
def fake() -> Iterator[FakeOpenAI]:
    """A provider on a real socket that records the requests."""
    with FakeOpenAI() as running:
        yield running


@pytest.fixture(scope="session")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The application with the fake provider, without history settings.

    After the tests its log may contain no traceback and no warning.
    """
    with Server(tmp_path_factory.mktemp("server"), **provider_environment(fake)) as running:
        yield running
    assert "Traceback" not in running.log, running.log
    assert "Warning" not in running.log, running.log


@pytest.fixture(scope="module")
def mailbox() -> Iterator[Dovecot]:
    """A real IMAP server."""
    with Dovecot() as running:
        yield running


@pytest.fixture(scope="module")
def sink() -> Iterator[SmtpSink]:
    """Takes what is sent by mail."""
    with SmtpSink() as running:
        yield running


@pytest.fixture(scope="module")
def talk() -> Iterator[FakeTalk]:
    """A Talk-shaped server without rooms."""
    with FakeTalk() as running:
        yield running


@pytest.fixture
def own_talk() -> Iterator[FakeTalk]:
    """Another one, for a test that starts a server of its own."""
    with FakeTalk() as running:
        yield running


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of agents with one, `plain`."""
    folder = tmp_path_factory.mktemp("agents")
    write_agent(folder, "plain")
    return folder


def provider_environment(fake: FakeOpenAI, **more: str) -> dict[str, Any]:
    """The environment in which the fake provider answers for every shipped agent."""
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": fake.base_url, **more}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "var"
