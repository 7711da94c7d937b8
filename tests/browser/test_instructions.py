"""An instruction is offered under its message, kept by a click, listed in the panel, and ended."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat

pytestmark = pytest.mark.browser
SAID = "Always answer in French."


def test_an_instruction_is_kept_by_a_click_listed_and_ended(chat: Chat) -> None:
    chat.open("/chat?agent=demo&debug=true&historyPolicy=lastN&historyLength=1")
    chat.turns(f"Hello! {SAID}", "What is a quay?")
    line = chat.users.first.locator(".instruction")
    expect(line).to_contain_text(f"“{SAID}” · Keep in force here · No, thanks")
    expect(chat.users.last.locator(".instruction")).to_be_hidden()
    line.get_by_role("button", name="Keep in force here").focus()
    chat.page.keyboard.press("Enter")
    expect(line).to_contain_text(f"In force: “{SAID}” · End it")
    section = chat.page.locator('[data-section="instructions"]')
    expect(section).to_contain_text(f"“{SAID}” · message")
    expect(chat.page.locator('[data-section="parts"] .key')).to_contain_text(
        "instructions in force"
    )
    section.get_by_role("button", name="message").click()
    expect(chat.users.first).to_be_focused()
    chat.reload()
    expect(chat.users.first.locator(".instruction")).to_contain_text("In force")
    section.get_by_role("button", name="End it").click()
    expect(section).to_be_hidden()
    expect(line).to_contain_text("Keep in force here")


def test_an_offer_is_dismissed_for_good_with_one_click(chat: Chat) -> None:
    chat.turns(SAID)
    line = chat.users.first.locator(".instruction")
    expect(line).to_have_text("Keep in force here · No, thanks")
    line.get_by_role("button", name="No, thanks").click()
    expect(line).to_be_hidden()
    chat.reload()
    expect(line).to_be_hidden()
