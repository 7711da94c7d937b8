"""Links, the environment and messages from outside the page, seen in requests and in the log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from chatsite.history import POLICIES
from chatsite.history.policies.cuts import WHY_SWITCHED_OFF
from tests.fakes.openai_server import FakeOpenAI
from tests.person import Person
from tests.running import Server
from tests.story.agents import write_agent
from tests.story.conftest import provider_environment

QUERY = "agent=plain&historyPolicy=lastN&historyLength=1&debug=true"


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`plain`, and `off_<policy>` for every policy, with the memory switched off."""
    folder = tmp_path_factory.mktemp("agents")
    write_agent(folder, "plain")
    for policy in POLICIES.rows:
        chat = {"historyPolicy": policy.name, "conversation": {"enabled": False}}
        selector = {"historySelector": policy.selector} if policy.selector else {}
        write_agent(folder, slug_of(policy.key), chat | selector)
    return folder


def slug_of(key: str) -> str:
    return "off-" + key.lower().replace(" ", "-")


@pytest.fixture(scope="module")
def plain(
    fake: FakeOpenAI, agents: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    environment = provider_environment(fake, AGENTS_DIR=str(agents))
    with Server(tmp_path_factory.mktemp("plain"), **environment) as running:
        yield running
    assert "Traceback" not in running.log, running.log
    assert "[History]" not in running.log, "only DEBUG or the logger's level prints these lines"


def said(fake: FakeOpenAI) -> list[str]:
    """What the last request holds behind its instructions."""
    messages: list[dict[str, Any]] = fake.requests[-1]["messages"]
    return [str(message["content"]) for message in messages if message["role"] != "system"]


# ---- links ------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", ["/", "/chat/"])
async def test_a_link_keeps_its_agent_and_its_settings_however_its_path_is_written(
    path: str, plain: Server
) -> None:
    async with aiohttp.ClientSession() as http, http.get(f"{plain.url}{path}?{QUERY}") as answer:
        assert answer.status == 200
        assert (answer.url.path, answer.url.query_string) == ("/chat", QUERY)


@pytest.mark.parametrize(("said", "open"), [("true", True), ("True", False), ("1", False)])
async def test_only_debug_true_as_written_opens_the_panel(
    said: str, open: bool, plain: Server
) -> None:
    async with Person(plain.url) as ada:
        assert (await ada.page_data(f"/chat?debug={said}"))["debug"] is open


async def test_an_empty_message_is_refused_before_anything_is_stored(
    plain: Server, fake: FakeOpenAI
) -> None:
    before = len(fake.requests)
    async with Person(plain.url) as ada:
        page = await ada.page(agent="plain")
        await page.send(" \n")
        refused = await page.event()
        assert (refused["type"], refused["code"]) == ("refused", "bad_command")
        assert "There is nothing to send" in refused["message"]
        again = await ada.page(page.conversation, agent="plain")
        assert again.snapshot["conversation"] is None
    assert len(fake.requests) == before


# ---- the environment --------------------------------------------------------------------------
async def test_blanks_around_a_policy_are_accepted_and_the_log_names_the_lengths_source(
    fake: FakeOpenAI, agents: Path, folder: Path
) -> None:
    environment = provider_environment(
        fake, AGENTS_DIR=str(agents), DEBUG="true", HISTORY_POLICY=" lastN "
    )
    with Server(folder, **environment) as server:
        async with Person(server.url) as ada:
            page = await ada.page(agent="plain", query="historyPolicy=all")
            ended = await page.say("Hello [[text=Hi.]]")
        log = server.log
    facts = ended["receipt"]["facts"]
    assert (facts["policy"], facts["source"]) == ("lastN", "environment, length: built in")
    assert 'source: "environment, length: built in"' in log


# ---- the memory switched off ------------------------------------------------------------------
@pytest.mark.parametrize("key", [policy.key for policy in POLICIES.rows])
async def test_with_the_memory_switched_off_every_policy_sends_only_this_message(
    key: str, plain: Server, fake: FakeOpenAI
) -> None:
    async with Person(plain.url) as ada:
        page = await ada.page(agent=slug_of(key))
        await page.say("My boat is the Heron. [[text=A fine name.]]")
        ended = await page.say("What is my boat? [[text=No idea.]]")
        preview = (await page.preview("And now?"))["decision"]
    assert ended["state"] == "complete", ended
    assert said(fake) == ["What is my boat? [[text=No idea.]]"]
    receipt = ended["receipt"]
    assert receipt["in_words"] == preview["in_words"] == "only your new message"
    assert WHY_SWITCHED_OFF in receipt["notes"] and WHY_SWITCHED_OFF in preview["notes"]
    assert preview["offers"]["closed"] == WHY_SWITCHED_OFF
    enabled = receipt["settings"]["conversation"]["enabled"]
    assert (enabled["value"], enabled["source"]) == (False, "template")


# ---- messages from outside --------------------------------------------------------------------
async def test_a_message_from_a_talk_room_or_by_mail_reaches_the_model_in_its_place(
    plain: Server, fake: FakeOpenAI
) -> None:
    async with Person(plain.url) as ada:
        page = await ada.page(agent="plain")
        await page.say("Hello [[text=Hi.]]")
        for source, text in {"talk": "The quay is 40 m long.", "email": "It costs 9,000."}.items():
            plain.manage("add_message", page.conversation, text, "--source", source)
        await page.say("How long is the quay? [[text=40 m.]]")
        seen = (await ada.page(page.conversation)).snapshot["messages"]
    both = "The quay is 40 m long.\n\nIt costs 9,000."
    assert said(fake)[2] == f"{both}\n\nHow long is the quay? [[text=40 m.]]"
    assert [one["source"] for one in seen] == ["web", "web", "talk", "email", "web", "web"]
