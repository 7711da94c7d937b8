"""A phone: 400 pixels wide, touched."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser
PHONE = {"viewport": {"width": 400, "height": 860}, "has_touch": True, "is_mobile": True}
WIDE_THINGS = (
    "| a | b | c | d | e | f |\n|---|---|---|---|---|---|\n"
    "| " + " | ".join(["something wide"] * 6) + " |\n\n"
    "```\n" + "x" * 300 + "\n```\n\nhttps://example.org/" + "long" * 60
)


@pytest.fixture
def phone(visit: Visit) -> Chat:
    return visit(**PHONE).open("/chat?historyPolicy=lastN&historyLength=1")


def say(phone: Chat, text: str) -> None:
    number = phone.receipt_buttons.count() + 1
    phone.draft.fill(text)
    phone.send_button.tap()
    expect(phone.receipt_buttons).to_have_count(number)


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than the screen."""
    width: int = page.evaluate(
        "Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth"
    )
    return width


def test_nothing_makes_the_page_scroll_sideways(phone: Chat) -> None:
    say(phone, "unbroken" * 60 + answer(WIDE_THINGS))
    expect(phone.horizon).to_be_visible()
    assert overflow(phone.page) <= 0
    column = phone.page.locator("#log").evaluate("(one) => one.scrollWidth - one.clientWidth")
    assert column <= 0
    for button in ("#chip", "#agent-open"):
        phone.page.locator(button).tap()
        expect(phone.popover).to_be_in_viewport(ratio=0.95)
        assert overflow(phone.page) <= 0
        phone.page.keyboard.press("Escape")


def test_the_panel_is_a_sheet_at_the_bottom(phone: Chat) -> None:
    say(phone, "What did you see?")
    phone.receipt_buttons.tap()
    expect(phone.panel).to_be_in_viewport()
    box = phone.panel.bounding_box()
    assert box is not None
    assert (round(box["x"]), round(box["width"])) == (0, 400)
    assert round(box["y"] + box["height"]) == 860
    assert box["y"] > 100
    assert overflow(phone.page) <= 0
    phone.panel.get_by_role("button", name="Close the debug panel").tap()
    expect(phone.panel).to_be_hidden()


def test_the_drawer_opens_over_the_chat_and_closes_by_choice_touch_and_esc(phone: Chat) -> None:
    say(phone, "A first chat")
    side, show = phone.page.locator("#side"), phone.page.locator("#side-show")
    expect(side).not_to_be_in_viewport()
    show.tap()
    expect(side).to_be_in_viewport(ratio=1)
    assert overflow(phone.page) <= 0
    phone.page.keyboard.press("Escape")
    expect(side).not_to_be_in_viewport()
    expect(show).to_be_focused()
    show.tap()
    phone.page.touchscreen.tap(390, 400)
    expect(side).not_to_be_in_viewport()
    show.tap()
    phone.row("A first chat").locator("a").tap()
    expect(side).not_to_be_in_viewport()
    expect(phone.users).to_have_count(1)


def test_enter_makes_a_line_where_there_is_no_other_key_for_it(phone: Chat) -> None:
    phone.draft.fill("a")
    phone.draft.press("Enter")
    expect(phone.draft).to_have_value("a\n")
    expect(phone.users).to_have_count(0)


def test_a_long_policy_leaves_room_for_the_name_of_the_agent(visit: Visit) -> None:
    phone = visit(**PHONE).open("/chat?historyTokens=100000")
    expect(phone.chip).to_contain_text("up to 100,000 tokens")
    name = phone.page.locator("#agent-name")
    assert name.evaluate("(one) => one.scrollWidth - one.clientWidth") <= 0
    assert overflow(phone.page) <= 0
