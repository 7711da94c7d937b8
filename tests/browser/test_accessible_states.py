"""axe finds no serious fault in what opens under a message, in the sidebar or over the page."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit
from tests.browser.test_accessibility import LOOKS, violations

pytestmark = pytest.mark.browser
DRAWN = "Here: $x^2$[^1]\n\n$$\\frac{a}{b}$$\n\n```mermaid\ngraph TD; A-->B\n```\n\n[^1]: A note."


def row(chat: Chat, kind: str) -> Chat:
    """Opens the menu of the last message of this kind."""
    messages = chat.users if kind == "user" else chat.answers
    messages.last.hover()
    messages.last.get_by_title("More").click()
    expect(chat.popover).to_be_visible()
    return chat


@LOOKS
def test_what_opens_under_a_message_has_no_serious_fault(
    scheme: Literal["light", "dark"], size: dict[str, object], visit: Visit
) -> None:
    chat = visit(color_scheme=scheme, **size).open("/chat?historyPolicy=lastN&historyLength=2")
    chat.turns("One.", f"Two. {answer(DRAWN)}")
    expect(chat.answers.last.locator(".formula .katex").first).to_be_visible()
    assert violations(chat.page) == [], "with a formula, a footnote and a diagram's source"
    row(chat, "assistant")
    assert violations(chat.page) == [], "with a message's menu"
    chat.popover.get_by_role("button", name="Why is this sent?").click()
    expect(chat.page.get_by_role("dialog")).to_be_visible()
    assert violations(chat.page) == [], "with the window that says why"
    chat.page.keyboard.press("Escape")
    chat.users.last.hover()
    chat.users.last.get_by_role("button", name="Edit").click()
    assert violations(chat.page) == [], "with the editor"
    chat.page.get_by_role("textbox", name="The message's text").fill("Two, otherwise.")
    chat.page.keyboard.press("Control+Enter")
    expect(chat.answers.last).to_contain_text("w0")
    expect(chat.writing).to_have_count(0)
    chat.users.last.get_by_role("button", name="Version 2 of 2").click()
    expect(chat.popover).to_be_visible()
    assert violations(chat.page) == [], "with the versions"
    chat.page.keyboard.press("Escape")
    chat.answers.last.get_by_role("button", name="Answer with another model").click()
    expect(chat.popover.get_by_role("heading", name="With another memory")).to_be_visible()
    assert violations(chat.page) == [], "with the models and memories to choose from"
    chat.page.keyboard.press("Escape")
    row(chat, "user").popover.get_by_role("button", name="Delete").click()
    expect(chat.toasts).to_contain_text("Undo")
    assert violations(chat.page) == [], "with the way back"


@LOOKS
def test_the_account_pages_have_no_serious_fault(
    scheme: Literal["light", "dark"], size: dict[str, object], visit: Visit
) -> None:
    chat = visit(color_scheme=scheme, **size).open()
    for path in ("/accounts/login/", "/accounts/signup/", "/accounts/"):
        chat.page.goto(path)
        assert violations(chat.page) == [], path
    chat.page.goto("/accounts/login/")
    chat.page.get_by_label("Username").fill("nobody")
    chat.page.get_by_label("Password").fill("wrong-one")
    chat.page.get_by_role("button", name="Sign in").click()
    expect(chat.page.get_by_role("alert")).to_be_visible()
    assert violations(chat.page) == [], "after a wrong password"
