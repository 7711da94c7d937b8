"""A server whose template wants alternating roles takes every message, whatever went before it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai_rules import template_problem
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.talk_server import FakeTalk
from tests.person import Page, Person
from tests.quoted_talk import AFTER, CAT, QUERY, QUESTION, TALK
from tests.running import Server
from tests.story.agents import write_agent
from tests.story.talk_rooms import ask, follows, talk_server

SHOWN = [{"role": "user", "content": "Two?"}, {"role": "assistant", "content": "2"}]


@pytest.fixture(scope="module")
def strict() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(strict=True) as running:
        yield running


@pytest.fixture(scope="module")
def site(
    strict: FakeOpenAI, talk: FakeTalk, agents: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    write_agent(agents, "shown", {"history": SHOWN})
    rooms = {"strict01": {"agent": "plain", "chatSettings": {"historyPolicy": "all"}}}
    folder = tmp_path_factory.mktemp("strict")
    with talk_server(folder, talk, strict, rooms, AGENTS_DIR=str(agents)) as running:
        follows(talk, 1)
        yield running


async def completed(page: Page, text: str) -> dict[str, Any]:
    ended = await page.say(text)
    assert ended["state"] == "complete", ended
    return ended


@pytest.mark.parametrize("agent", ["plain", "shown"])
async def test_after_a_stop_before_the_first_word_every_message_is_answered(
    site: Server, strict: FakeOpenAI, agent: str
) -> None:
    async with Person(site.url) as ada:
        page = await ada.page(agent=agent, query="historyPolicy=all")
        before = len(strict.requests)
        await page.send("First [[mode=hang0]]")
        await page.until("turn_started")
        while len(strict.requests) == before:
            await ada.ask("GET", f"/conversations/{page.conversation}/export")
        await page.command("stop")
        await page.until("turn_ended")
        for text in ("Second [[tokens=3]]", "Third [[tokens=3]]"):
            await completed(page, text)
        await page.say("Fourth [[mode=empty]]")
        ended = await completed(page, "Fifth [[tokens=3]]")
        assert template_problem(strict.requests[-1]["messages"]) == ""
        joined = strict.requests[before + 1]["messages"][-1]["content"]
        assert joined == "First [[mode=hang0]]\n\nSecond [[tokens=3]]"
        assert sum(one["messages"] for one in ended["receipt"]["verdicts"] if one["sent"]) >= 7


async def test_quotes_are_answered_over_many_turns(site: Server, strict: FakeOpenAI) -> None:
    async with Person(site.url) as ada:
        page = await ada.page(agent="plain", query=QUERY)
        for text in (*TALK, QUESTION, AFTER, AFTER, QUESTION):
            await completed(page, text)
        [asked] = [m for m in strict.requests[-1]["messages"] if CAT in str(m["content"])][:1]
        assert asked["role"] == "user"


def test_a_room_with_several_messages_in_a_row_is_answered(
    site: Server, talk: FakeTalk, strict: FakeOpenAI
) -> None:
    talk.say("strict01", "ada", "The quay is four metres high.")
    talk.say("strict01", "bob", "The tide is two.")
    strict.script.append("It is enough.")
    assert ask(talk, "strict01", "is it enough?", "bob") == "It is enough."
    assert strict.requests[-1]["messages"][-1]["content"] == (
        "Ada: The quay is four metres high.\n\nBob: The tide is two.\n\nBob: is it enough?"
    )
