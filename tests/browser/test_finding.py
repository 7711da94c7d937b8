"""Titles that a model writes, filters of the search, and what the palette finds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from chatsite.turns.titles.titler import TASK
from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit, provider_environment
from tests.browser.test_marks import choose
from tests.browser.test_search import look_for
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

pytestmark = pytest.mark.browser
TABLE = "| lake | depth |\n|---|---|\n| *Achensee* | 133 m |"


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    environment = provider_environment(fake, TITLES="model")
    with Server(tmp_path_factory.mktemp("titles"), **environment) as running:
        yield running
        running.kill()


@pytest.fixture
def titles(fake: FakeOpenAI) -> list[str]:
    """The titles that the model gives one after the other; without one it refuses."""
    given: list[str] = []

    def reply(body: Any) -> str:
        asked = str(body["messages"][-1]["content"])
        if asked.startswith(TASK):
            return given.pop(0) if given else "I can't do that."
        return asked if asked.startswith("[[") else "The quay is twelve metres deep."

    fake.script.append(reply)
    return given


@pytest.fixture
def chat(visit: Visit, titles: list[str]) -> Chat:
    return visit().open()


def hits(chat: Chat) -> Locator:
    return chat.page.locator(".hit")


def chips(chat: Chat) -> Locator:
    return chat.page.get_by_role("button", name=re.compile("^Remove the filter"))


def test_the_first_answer_brings_a_title_into_the_list_without_a_reload(
    chat: Chat, titles: list[str]
) -> None:
    titles += ['**Title:** "Depth of the quay."']
    chat.say("How deep is the quay at low tide, and why?")
    expect(chat.conversations).to_have_text(["Depth of the quay"])
    expect(chat.page).to_have_title(re.compile("Depth of the quay"))
    other = chat.tab()
    expect(other.page.locator("#title")).to_have_text("Depth of the quay")
    chat.page.locator("#new").click()
    chat.say("And the berth?")
    expect(chat.conversations).to_have_text(["And the berth?", "Depth of the quay"])


def test_the_search_is_narrowed_by_fields_and_chips_by_keys_alone(
    chat: Chat, titles: list[str]
) -> None:
    chat.say("Whales at the quay")
    choose(chat.users.first, "Bookmark")
    chat.open("/chat?agent=archivist").say("Birds at the quay")
    look_for(chat, "quay birds")
    expect(hits(chat).first).to_contain_text("Birds at the quay")
    chat.page.get_by_role("button", name="Filters", exact=True).focus()
    keys = chat.page.keyboard
    keys.press("Enter")
    agent = chat.page.get_by_role("combobox", name="Agent", exact=True)
    expect(agent).to_be_focused()
    agent.select_option("demo")
    expect(chat.page.locator("#find")).to_have_value("quay birds agent:demo")
    expect(chat.page.locator("#convs")).to_contain_text("Nothing found in titles or messages.")
    expect(chips(chat)).to_have_text(["Memo"])
    chips(chat).first.press("Enter")
    expect(chat.page.locator("#find")).to_have_value("quay birds")
    expect(hits(chat).first).to_contain_text("Birds at the quay")
    expect(agent).to_have_value("")
    today = datetime.now(UTC)
    chat.page.get_by_label("Before", exact=True).fill(f"{today - timedelta(days=2):%Y-%m-%d}")
    expect(chat.page.locator("#convs")).to_contain_text("Nothing found in titles or messages.")
    chat.page.get_by_label("Before", exact=True).fill("")
    chat.page.get_by_label("From", exact=True).fill(f"{today - timedelta(days=2):%Y-%m-%d}")
    expect(chips(chat)).to_have_count(1)
    expect(hits(chat).first).to_contain_text("Birds at the quay")
    look_for(chat, "is:bookmarked")
    expect(hits(chat)).to_have_count(1)
    expect(chat.page.get_by_label("Bookmarked", exact=True)).to_be_checked()
    chat.page.get_by_label("Bookmarked", exact=True).uncheck()
    expect(chat.page.locator("#find")).to_have_value("")
    expect(chat.conversations).to_have_count(2)
    keys.press("Escape")
    expect(chat.page.locator("#filter-fields")).to_be_hidden()
    look_for(chat, "is:red quay")
    expect(chat.page.locator("#convs")).to_contain_text("is no filter")


def test_a_hit_reads_without_the_marks_of_markdown(chat: Chat, titles: list[str]) -> None:
    chat.say(answer(TABLE))
    look_for(chat, "achensee")
    text = hits(chat).last.locator(".hit-text")
    expect(text).to_have_text("lake · depth Achensee · 133 m")
    expect(text.locator("mark")).to_have_text("Achensee")
    choose(chat.answers.last, "Bookmark")
    chat.page.get_by_role("button", name="Bookmarks", exact=True).click()
    expect(hits(chat).locator(".hit-text")).to_have_text("lake · depth Achensee · 133 m")


def palette_of(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Find a chat, a message or an action")


@pytest.mark.parametrize("width", [1280, 400])
def test_the_palette_finds_a_message_and_opens_it_at_its_place(
    visit: Visit, titles: list[str], width: int
) -> None:
    chat = visit(viewport={"width": width, "height": 800}).open()
    titles += ["Otters"]
    chat.say("The otter sleeps at the berth.")
    for number in range(6):
        chat.say(f"More of it, {number}. " + "Rest. " * 120)
    chat.open("/chat").page.keyboard.press("Control+KeyK")
    chat.page.keyboard.type("otter berth")
    palette = palette_of(chat.page)
    option = palette.get_by_role("option").filter(has_text="The otter sleeps")
    expect(option.locator("mark")).to_have_text(["otter", "berth"])
    expect(option).to_contain_text("Otters")
    expect(palette.locator(".palette-group")).to_have_text(["Messages"])
    expect(option).to_have_attribute("aria-selected", "true")
    chat.page.keyboard.press("Enter")
    expect(chat.users).to_have_count(7)
    expect(chat.users.first).to_be_in_viewport()
    expect(chat.users.first).to_be_focused()
    assert chat.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    chat.page.keyboard.press("Control+KeyK")
    chat.page.keyboard.type("otters")
    expect(palette.locator(".palette-group")).to_have_text(["Chats"])
    chat.page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
