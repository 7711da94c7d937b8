"""A policy chosen in the page is kept with its conversation, and judged at every turn."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.person import Page, Person
from tests.running import Server
from tests.story.conftest import provider_environment

NONE = {"historyPolicy": "none"}


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("chosen"), **provider_environment(fake)) as running:
        yield running
        running.kill()


async def choose(page: Page, history: dict[str, str]) -> dict[str, Any]:
    await page.command("choose", history=history)
    return await page.until("history_chosen")


async def refused(page: Page, type: str, **fields: Any) -> str:
    await page.command(type, **fields)
    event = await page.event()
    while event["type"] != "refused":
        event = await page.event()
    message: str = event["message"]
    return message


def questions(fake: FakeOpenAI) -> list[str]:
    """What people said in the last request."""
    return [one["content"] for one in fake.requests[-1]["messages"] if one["role"] == "user"]


async def policy(page: Page) -> tuple[str, str]:
    """The policy of the next message, and its source."""
    settings = (await page.preview("Next"))["decision"]["settings"]
    return settings["policy"]["value"], settings["policy"]["source"]


async def test_what_is_chosen_applies_to_later_messages_from_every_page(
    server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("One")
        other = await ada.page(page.conversation)
        assert (await choose(page, NONE))["history"] == NONE
        assert (await other.until("history_chosen"))["history"] == NONE
        await other.say("Two")
        assert questions(fake) == ["Two"]
        fresh = await ada.page(page.conversation)
        assert fresh.snapshot["conversation"]["history"] == NONE
        assert await policy(fresh) == ("none", "conversation")
        await choose(fresh, {})
        await fresh.say("Three")
        assert questions(fake) == ["One", "Two", "Three"]


async def test_what_is_chosen_before_the_first_message_is_kept_with_it(
    server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.command("preview", agent=page.agent, draft="", history=NONE)
        found = (await page.until("preview"))["decision"]
        assert found["facts"]["policy"] == "none" and found["offers"]["kept"] == NONE
        assert (await policy(page))[0] == "lastN"
        await page.say("One", history=NONE)
        await page.say("Two", history={"historyPolicy": "all"})  # it has begun: what is kept counts
        assert questions(fake) == ["Two"]
        assert (await ada.page(page.conversation)).snapshot["conversation"]["history"] == NONE
        listed = await ada.ask("GET", "/conversations")
        assert listed["conversations"][0]["history"] == NONE


async def test_the_address_comes_first_and_the_choice_is_shown_as_overruled(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("One", history=NONE)
        page.query = "historyPolicy=all"
        settings = (await page.preview("Two"))["decision"]["settings"]["policy"]
        said = {one["source"]: (one["outcome"], one["raw"]) for one in settings["said"]}
        assert said["URL"] == ("won", "all")
        assert said["conversation"] == ("overruled", "none")
        page.query = ""
        assert await policy(page) == ("none", "conversation")


@pytest.mark.parametrize(
    ("history", "said"),
    [
        ({"historyPolicy": "summary"}, "only where the agent's template names it"),
        ({"historyPolicy": "lastn"}, "lastN was probably meant"),
        ({"historyLength": "2.5"}, "allowed is a whole number from 0 to 1,000,000"),
        ({"historyLowWater": "90"}, "allowed are historyPolicy, historyLength"),
        ({"historyPolicy": "x" * 81}, "at most 80 characters"),
        ({"historyPolicy": "no\0ne"}, "NUL"),
        ("none", "should be an object"),
    ],
)
async def test_what_can_not_be_chosen_is_refused_and_what_was_chosen_stays(
    history: Any, said: str, server: Server
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("One", history=NONE)
        assert said in await refused(page, "choose", history=history)
        assert await policy(page) == ("none", "conversation")


async def test_only_the_owner_of_a_chat_that_has_begun_may_choose(server: Server) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob:
        page = await ada.page()
        assert await refused(page, "choose", history=NONE) == "There is no such conversation."
        await page.say("One")
        theirs = await bob.page()
        theirs.conversation = page.conversation
        assert await refused(theirs, "choose", history=NONE) == "There is no such conversation."
        assert await policy(page) == ("lastN", "template")


async def test_a_choice_during_an_answer_applies_to_the_next_one(
    server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("One")
        await page.send("Two [[text=slow answer;delay=0.05]]")
        await page.until("decided")
        await page.command("choose", history=NONE)
        ended = await page.until("turn_ended")
        assert ended["receipt"]["facts"]["policy"] == "lastN"
        await page.say("Three")
        assert questions(fake) == ["Three"]


async def test_a_copy_from_a_file_keeps_the_choice(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("One")
        await choose(page, {"historyPolicy": "all", "historyTokens": "900"})
        file = await ada.ask("GET", f"/conversations/{page.conversation}/export")
        assert file["history"] == {"historyPolicy": "all", "historyTokens": "900"}
        found = await ada.ask("POST", "/conversations/import", file)
        assert found["conversation"]["history"] == file["history"] and found["note"] == ""
        assert await policy(await ada.page(found["conversation"]["id"])) == ("all", "conversation")


@pytest.mark.thorough
@pytest.mark.slow
async def test_limits_that_came_later_bind_what_was_chosen_before(
    fake: FakeOpenAI, folder: Path
) -> None:
    """The same folder on three servers: without limits, with a maximum, and locked."""
    kept = {"historyPolicy": "lastN", "historyLength": "30"}

    async def sign_in(ada: Person) -> None:
        await ada.sign_in("ada", "engines-1843")

    async def settings(page: Page) -> dict[str, Any]:
        found: dict[str, Any] = (await page.preview("Next"))["decision"]["settings"]
        return found

    def said(setting: dict[str, Any]) -> tuple[str, str]:
        one = next(one for one in setting["said"] if one["source"] == "conversation")
        return one["outcome"], one["why"]

    with Server(folder, **provider_environment(fake)) as free:
        await asyncio.to_thread(free.add_user, "ada", "engines-1843")
        async with Person(free.url) as ada:
            await sign_in(ada)
            page = await ada.page()
            await page.say("One")
            await choose(page, kept)
            chat = page.conversation
    with Server(folder, **provider_environment(fake, HISTORY_MAX_LENGTH="10")) as limited:
        async with Person(limited.url) as ada:
            await sign_in(ada)
            page = await ada.page(chat)
            found = await settings(page)
            assert found["length"]["source"] == "template"
            outcome, why = said(found["length"])
            assert outcome == "not allowed" and "HISTORY_MAX_LENGTH" in why
            # What was kept may stay, also when something else is chosen beside it.
            await choose(page, kept | {"historyTokens": "900"})
            assert "HISTORY_MAX_LENGTH" in await refused(
                page, "choose", history={"historyLength": "40"}
            )
    with Server(folder, **provider_environment(fake, HISTORY_POLICY="none")) as locked:
        async with Person(locked.url) as ada:
            await sign_in(ada)
            page = await ada.page(chat)
            found = await settings(page)
            assert (found["policy"]["value"], found["policy"]["source"]) == ("none", "environment")
            assert said(found["policy"]) == (
                "locked",
                "the environment sets HISTORY_POLICY, so the choice kept with this conversation "
                "doesn't apply",
            )
            assert "HISTORY_POLICY" in await refused(
                page, "choose", history={"historyPolicy": "all"}
            )
            ended = await page.say("Two")
            assert ended["receipt"]["facts"]["policy"] == "none"
