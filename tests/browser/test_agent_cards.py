"""The agent's card: notes, what it asks for in vain, and an agent that is switched off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit, provider_environment
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server
from tests.story.agents import write_agent
from tests.story.foreign_templates import STEPS

pytestmark = pytest.mark.browser
GROUNDING = "Google Search grounding isn't available here: this agent looks nothing up."


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cards")
    write_agent(folder, "demo")
    write_agent(
        folder,
        "scout",
        {"placeholderText": "Where to?"},
        nodes=["llm.openai", "search"],
        nodeConfigurations={"llm.openai": {"useSearchGrounding": True}},
        orchestration=STEPS,
        notes="Scout needs a map.",
        version="1.2",
    )
    return folder


@pytest.fixture(scope="module")
def server(
    fake: FakeOpenAI, agents: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    environment = provider_environment(fake, AGENTS_DIR=str(agents))
    with Server(tmp_path_factory.mktemp("var"), **environment) as running:
        yield running
        running.kill()


def test_the_card_names_in_words_what_an_agent_does_not_get_here(visit: Visit) -> None:
    chat = visit().open("/chat?agent=scout")
    intro = chat.page.locator(".intro")
    expect(intro.locator(".agent-notes")).to_have_text("Scout needs a map.")
    lacks = intro.locator(".agent-lacks")
    expect(lacks.filter(has_text="search is missing")).to_be_visible()
    expect(lacks.filter(has_text=GROUNDING)).to_be_visible()
    expect(lacks.filter(has_text="Its steps aren't followed here")).to_be_visible()
    expect(chat.draft).to_have_attribute("placeholder", "Where to?")
    chat.page.locator("#agent-open").click()
    card = chat.popover.get_by_role("link", name="Scout")
    # The menu has one line for each: what more there is stands behind it.
    title = card.get_attribute("title") or ""
    assert GROUNDING in title and "Version 1.2" in title and "Scout needs a map." in title


def test_a_conversation_with_an_agent_that_is_switched_off_can_be_read_and_saved(
    visit: Visit, agents: Path
) -> None:
    chat = visit().open("/chat?agent=scout")
    chat.say("Remember the Heron.")
    file = agents / "scout" / "template.json"
    before = file.read_text()
    file.write_text(json.dumps({**json.loads(before), "isEnabled": False}))
    try:
        banner = chat.banner.filter(has_text="This agent is switched off here")
        # The server looks at its agents once a second.
        for _ in range(50):
            chat.page.reload()
            expect(chat.users.first).to_contain_text("Remember the Heron.")
            if banner.is_visible():
                break
        chat.page.reload()
        expect(banner).to_contain_text("can be read and saved")
        chat.draft.press("Enter")
        expect(chat.send_button).to_be_disabled()
        chat.page.locator("#agent-open").click()
        expect(chat.popover.get_by_role("link")).to_have_count(1)
    finally:
        file.write_text(before)
