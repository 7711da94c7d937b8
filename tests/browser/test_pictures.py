"""The pictures of the documentation, made by the running application.

They are written to the folder that PICTURES names; otherwise to a temporary one, so that a run of
the tests changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit, provider_environment
from tests.browser.story import DRAFT, REASON, WALK, restore_others
from tests.fakes.openai_server import FakeOpenAI
from tests.running import ROOT, Server

pytestmark = pytest.mark.browser
DESK = {"width": 1440, "height": 1000}
PHONE = {"width": 400, "height": 860}
LARGEST = 300_000


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    named = os.environ.get("PICTURES", "")
    folder = ROOT / named if named else tmp_path_factory.mktemp("pictures")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def locked(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    environment = {
        "HISTORY_POLICY": "lastN", "HISTORY_LENGTH": "3", "HISTORY_TOKENS": "1000",
        "HISTORY_REASON": REASON,
    }  # fmt: skip
    with Server(
        tmp_path_factory.mktemp("lock"), **provider_environment(fake, **environment)
    ) as running:
        yield running


def open_conversation(chat: Chat, fake: FakeOpenAI, *, query: str) -> Chat:
    """Open the conversation of the pictures, with a few others in the list."""
    chat.open(f"/chat?{query}")
    restore_others(chat)
    for question, reply in WALK:
        fake.script.append(reply)
        chat.say(question)
    assert chat.ask("PATCH", f"/conversations/{chat.id}", {"title": "Three days on the coast"}).ok
    expect(chat.page).to_have_title("Three days on the coast · Chatsite")
    expect(chat.row("Three days on the coast")).to_have_count(1)
    expect(chat.horizon).to_be_visible()
    expect(chat.page.locator(".hljs-keyword").first).to_be_visible()
    words = chat.meter.locator(".meter-words")
    # The preview after the last answer counts the greeting, the walk, and the draft.
    expect(words).to_contain_text(f"of {2 * len(WALK) + 1} messages")
    empty = words.inner_text()
    chat.draft.fill(DRAFT)
    expect(words).not_to_have_text(empty)
    return chat


def take(chat: Chat, path: Path) -> None:
    expect(chat.horizon).to_be_in_viewport(ratio=1)
    expect(chat.page.locator("#newest")).to_be_hidden()
    expect(chat.page.locator("body")).not_to_contain_text("[object ")
    chat.page.evaluate("document.fonts.ready.then(() => 0)")
    chat.page.screenshot(path=path, animations="disabled", caret="hide")
    assert path.stat().st_size < LARGEST


def wait_for_comparison(chat: Chat) -> None:
    """Wait until the comparison is about the draft: its current row has the meter's tokens."""
    tokens = chat.meter.locator(".meter-words").inner_text().split()[0]
    expect(chat.panel.locator(".compare .now td").nth(1)).to_have_text(tokens)


LAST_THREE = "historyPolicy=lastN&historyLength=3&historyTokens=1000"
LAST_TWO = "historyPolicy=lastN&historyLength=2"


def test_the_conversation_in_light_and_dark(visit: Visit, fake: FakeOpenAI, pictures: Path) -> None:
    chat = open_conversation(visit(viewport=DESK), fake, query=LAST_THREE)
    take(chat, pictures / "chat-light.png")
    chat.page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    take(chat, pictures / "chat-dark.png")


def test_the_panel_beside_the_conversation(visit: Visit, fake: FakeOpenAI, pictures: Path) -> None:
    chat = open_conversation(visit(viewport=DESK), fake, query=f"{LAST_THREE}&debug=true")
    wait_for_comparison(chat)
    take(chat, pictures / "panel.png")


def test_the_phone(visit: Visit, fake: FakeOpenAI, pictures: Path) -> None:
    chat = open_conversation(visit(viewport=PHONE), fake, query=LAST_TWO)
    take(chat, pictures / "phone.png")


def test_the_lock_and_its_reason(
    visit: Visit, locked: Server, fake: FakeOpenAI, pictures: Path
) -> None:
    chat = visit(viewport=DESK, base_url=locked.url)
    open_conversation(chat, fake, query="historyPolicy=all&debug=true")
    wait_for_comparison(chat)
    chat.chip.click()
    expect(chat.popover).to_contain_text(REASON)
    take(chat, pictures / "lock.png")


def test_a_search_shows_each_place(visit: Visit, fake: FakeOpenAI, pictures: Path) -> None:
    chat = open_conversation(visit(viewport=DESK), fake, query=LAST_THREE)
    chat.page.locator("#find").fill("day")
    expect(chat.page.locator(".hit")).to_have_count(9)
    take(chat, pictures / "search.png")
