"""A person chooses in the page which model answers in a conversation."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.fakes.openai_server import FakeOpenAI

pytestmark = pytest.mark.browser


def test_a_chosen_model_answers_and_stays_chosen_after_a_reload(
    visit: Visit, fake: FakeOpenAI
) -> None:
    chat = visit().open()
    shown = chat.page.locator("#model")
    own = shown.inner_text()
    shown.click()
    expect(chat.popover.get_by_role("radio", name=own)).to_be_checked()
    chat.popover.get_by_role("radio", name="fake-model").click()
    expect(chat.popover).to_have_count(0)
    expect(shown).to_have_text("fake-model")
    chat.reload()
    expect(shown).to_have_text("fake-model")
    chat.say("Ahoy.")
    assert fake.requests[-1]["model"] == "fake-model"
    chat.reload()
    expect(shown).to_have_text("fake-model")
    chat.say("Still there?")
    assert fake.requests[-1]["model"] == "fake-model"
    shown.click()
    chat.popover.get_by_role("radio", name=own).click()
    chat.say("And you?")
    assert fake.requests[-1]["model"] == own
    chat.page.locator("#new").click()
    expect(shown).to_have_text(own)
