"""What one of several servers does: it answers the rooms and keeps storage in order. When it dies,
another one goes on from the rows, and nothing is answered twice."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.talk_server import BOT, FakeTalk
from tests.running import Server
from tests.story.talk_rooms import ask, follows, wait_for

pytestmark = pytest.mark.slow

Serve = Callable[..., Server]
ROOM = "harbour1"


def test_one_of_two_servers_follows_a_room_and_answers_once(
    serve: Serve, talk: FakeTalk, talk_file: dict[str, str], fake: FakeOpenAI
) -> None:
    servers = [serve(**talk_file), serve(**talk_file)]
    follows(talk, 1)
    assert ask(talk, ROOM, "How high is the quay?")
    # The next one comes behind everything that the first could still have caused.
    assert ask(talk, ROOM, "And the tide?")
    assert len(talk.posts(ROOM)) == 2
    assert all("Traceback" not in server.log for server in servers)


def test_when_the_leader_is_killed_in_the_middle_another_one_answers_once(
    serve: Serve, talk: FakeTalk, talk_file: dict[str, str], fake: FakeOpenAI
) -> None:
    leader, other = serve(**talk_file), serve(**talk_file)
    follows(talk, 1)
    asked = len(fake.requests)
    talk.say(ROOM, "ada", f"@{BOT}: Count [[tokens=100;rate=40]]")
    wait_for(lambda: len(fake.requests) > asked)
    killed = time.monotonic()
    leader.kill()
    [answer] = wait_for(lambda: talk.posts(ROOM))
    assert "w99" in answer, "written anew, whole"
    assert time.monotonic() - killed < 12 + 5
    assert ask(talk, ROOM, "Are you there?")
    assert len(talk.posts(ROOM)) == 2
    assert "Traceback" not in other.log
