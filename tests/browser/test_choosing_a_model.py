"""A person chooses in the page which model answers in a conversation."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.test_files import drop
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


def test_a_file_that_the_model_cant_take_leads_to_the_other_models(visit: Visit) -> None:
    chat = visit().open()
    drop(chat, tide_mp3=b"ID3\x04" + bytes(6) + (b"\xff\xfb\x90\x00" + bytes(413)) * 40)
    note = chat.page.locator(".tray-note.quiet")
    expect(note).to_contain_text("can't hear tide.mp3; only its name is sent.")
    note.get_by_role("button", name="Choose a model that can").click()
    expect(chat.popover.get_by_role("radio").first).to_be_visible()
    chat.page.keyboard.press("Escape")
    chat.page.get_by_role("button", name="Remove tide.mp3").click()
    expect(note).to_be_hidden()
    drop(chat, list_csv=b"what,euros\nslabs,61000\n")
    expect(chat.page.locator(".piece")).to_have_count(1)
    expect(note).to_be_hidden()
