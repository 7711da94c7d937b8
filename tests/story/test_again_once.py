"""One question answered again under another policy: for that answer alone, within the rules."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.person import Page, Person
from tests.running import Server
from tests.story.conftest import provider_environment

ONLY_NEW = {"historyPolicy": "none"}


@pytest.fixture
async def ada(server: Server) -> AsyncIterator[Person]:
    async with Person(server.url) as person:
        yield person


async def again(page: Page, history: dict[str, Any] | None, *, until: str) -> dict[str, Any]:
    """Answer the last message once more, under this choice."""
    last = (await page.open())["messages"][-1]
    fields = {"agent": page.agent, "client_id": str(uuid.uuid4()), "message": last["id"]}
    await page.command("again", **fields, history=history)
    return await page.until(until)


def sent(fake: FakeOpenAI) -> list[str]:
    """The user messages of the last request."""
    return [one["content"] for one in fake.requests[-1]["messages"] if one["role"] == "user"]


async def test_an_answer_under_another_policy_leaves_the_chat_as_it_was(
    ada: Person, fake: FakeOpenAI
) -> None:
    page = await ada.page()
    await page.say("One.")
    await page.say("Two.")
    await again(page, ONLY_NEW, until="turn_ended")
    assert sent(fake) == ["Two."]
    shown = (await page.open())["messages"]
    assert len(shown[-1]["versions"]) == 2, "the answer before stays as a version"
    preview = await page.preview("Three.")
    assert preview["decision"]["settings"]["policy"]["value"] == "lastN"
    await page.say("Three.")
    assert sent(fake) == ["One.", "Two.", "Three."]


async def test_it_comes_before_the_choice_that_is_kept_and_before_the_link(
    ada: Person, fake: FakeOpenAI
) -> None:
    page = await ada.page(query="historyPolicy=lastN&historyLength=1")
    await page.say("One.")
    await page.say("Two.")
    assert sent(fake) == ["Two."]
    await again(page, {"historyPolicy": "all"}, until="turn_ended")
    assert sent(fake) == ["One.", "Two."]


async def test_what_may_not_be_chosen_is_refused_and_nothing_is_asked(
    ada: Person, fake: FakeOpenAI
) -> None:
    page = await ada.page()
    await page.say("One.")
    asked = len(fake.requests)
    refusal = await again(page, {"historyPolicy": "summary"}, until="refused")
    assert "can't be chosen" in refusal["message"]
    unknown = await again(page, {"historyShape": "round"}, until="refused")
    assert "history" in unknown["message"]
    assert len(fake.requests) == asked


async def test_where_the_environment_decides_no_answer_is_an_exception(
    fake: FakeOpenAI, tmp_path: Path
) -> None:
    with Server(tmp_path, **provider_environment(fake, HISTORY_POLICY="none")) as locked:
        async with Person(locked.url) as person:
            page = await person.page()
            await page.say("One.")
            refusal = await again(page, {"historyPolicy": "all"}, until="refused")
            assert "HISTORY_POLICY" in refusal["message"]
