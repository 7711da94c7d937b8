"""A model that looks back: the panel says what it searched and opened."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit, provider_environment
from tests.browser.test_accessibility import violations_in_every_look
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

pytestmark = pytest.mark.browser
ON = {"HISTORY_RECALL_TOOL": "true", "HISTORY_TELL": "true", "HISTORY_DATES": "true"}


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Every agent has the tool, and only the current exchange is sent."""
    environment = {"HISTORY_POLICY": "lastN", "HISTORY_LENGTH": "1", **ON}
    folder = tmp_path_factory.mktemp("looking-back")
    with Server(folder, **provider_environment(fake, **environment)) as running:
        yield running
        running.kill()


def test_the_panel_says_what_was_searched_and_opened(visit: Visit, fake: FakeOpenAI) -> None:
    chat = visit().open("/chat?debug=true")
    chat.turns("The harbour light is green. [[text=Noted.]]", "Thanks. [[text=Welcome.]]")
    calls = 'recall:{"query": "harbour light"}'
    chat.turns(f"Which colour was it? [[calls={calls};text=Green.]]")
    sent = fake.requests[-1]["messages"]
    [result] = [one["content"] for one in sent if one["role"] == "tool"]
    assert "The harbour light is green." in result
    assert [tool["function"]["name"] for tool in fake.requests[-1]["tools"]] == ["recall"]
    asked = next(one["content"] for one in sent if one["role"] == "user")
    assert "[Not shown to you of this conversation: earlier exchanges (2)." in asked
    chat.receipt_buttons.last.click()
    rounds = chat.panel.locator("[data-section=rounds]")
    expect(rounds).to_contain_text("The model looked back: searched “harbour light”, ")
    parts = chat.panel.locator("[data-section=parts]")
    expect(parts).to_contain_text("dates and notes")
    settings = chat.panel.locator("[data-section=settings]")
    expect(settings).to_contain_text("tool that looks back")

    chat.turns('Open it. [[calls=recall:{"message": 2};text=There it is.]]')
    chat.receipt_buttons.last.click()
    expect(rounds).to_contain_text("The model looked back: opened message 2.")
    assert violations_in_every_look(chat.page) == []
