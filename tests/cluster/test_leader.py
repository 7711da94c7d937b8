"""What one of several servers does: it answers the rooms and keeps storage in order. When it dies,
another one goes on from the rows, and nothing is answered twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.talk_server import BOT, FakeTalk
from tests.person import PATIENCE, Page, Person
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


# ---- rooms in the page -------------------------------------------------------------------------
async def listed(person: Person, server: Server) -> list[dict[str, Any]]:
    """The rooms that the server's page shows, once there are any."""
    person.url = server.url
    async with asyncio.timeout(PATIENCE):
        while not (rooms := (await person.page_data())["rooms"]):  # noqa: ASYNC110 - a server
            await asyncio.sleep(0.05)
    return list(rooms)


async def is_shown(talk: FakeTalk, question: str, *pages: Page) -> None:
    """What people say, a question and its answer come to open pages."""
    talk.say(ROOM, "bob", f"Before: {question}")
    answer = await asyncio.to_thread(ask, talk, ROOM, question)
    for page in pages:
        while f"Before: {question}" not in str(await page.until("messages_changed")):
            pass
        assert question in (await page.until("turn_started"))["messages"][-1]["content"]
        ended = await page.until("turn_ended")
        assert ended["message"]["content"].strip() in answer


async def test_a_room_is_read_on_every_server_also_after_another_one_leads(
    serve: Serve, talk: FakeTalk, talk_file: dict[str, str], fake: FakeOpenAI
) -> None:
    leader, other = serve(**talk_file), serve(**talk_file)
    leader.add_user("grace", "a long pass phrase")
    leader.add_user("heidi", "a long pass phrase")
    async with Person(other.url) as grace, Person(other.url) as heidi:
        await grace.sign_in("grace", "a long pass phrase")
        await heidi.sign_in("heidi", "a long pass phrase")
        [room] = await listed(grace, other)
        assert room["title"] == "Harbour"
        assert not (await heidi.page_data())["rooms"], "the file says who reads"
        page = await grace.page(room["id"], at=other.url)
        await is_shown(talk, "How high is the quay?", page)
        third = serve(**talk_file)
        leader.kill()
        assert await listed(grace, third) == [room]
        there = await grace.page(room["id"], at=third.url)
        assert "How high is the quay?" in str(there.snapshot["messages"])
        await is_shown(talk, "And the tide?", page, there)
