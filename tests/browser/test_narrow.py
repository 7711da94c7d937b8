"""A phone: 400 pixels wide, touched."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit
from tests.browser.test_marks import choose
from tests.fakes.openai_server import FakeOpenAI

pytestmark = pytest.mark.browser
PHONE = {"viewport": {"width": 400, "height": 860}, "has_touch": True, "is_mobile": True}
WIDE_THINGS = (
    "| a | b | c | d | e | f |\n|---|---|---|---|---|---|\n"
    "| " + " | ".join(["something wide"] * 6) + " |\n\n"
    "```\n" + "x" * 300 + "\n```\n\nhttps://example.org/" + "long" * 60
)
MORE = "The shop answers every day until the evening. " * 12


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


# The text as it is set: a string for each line that is seen.
LINES = """(one) => {
  const lines = new Map(), range = document.createRange();
  const texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode())
    for (let at = 0; at < text.length; at += 1) {
      range.setStart(text, at);
      range.setEnd(text, at + 1);
      const { top, width } = range.getBoundingClientRect();
      if (width) lines.set(Math.round(top), (lines.get(Math.round(top)) ?? "") + text.data[at]);
    }
  return [...lines.values()].map((line) => line.trim());
}"""


def lines_of(part: Locator) -> list[str]:
    found: list[str] = part.evaluate(LINES)
    assert found
    return found


def three_exchanges_with_a_pin(phone: Chat) -> None:
    for text in ("One.", "Two.", "Three."):
        say(phone, text)
    choose(phone.users.first, "Pin: always send")
    expect(phone.horizon).to_contain_text("+ 1 pinned")


def test_no_line_of_the_horizon_begins_or_ends_with_a_dot(phone: Chat) -> None:
    three_exchanges_with_a_pin(phone)
    assert len(lines_of(phone.horizon)) == 2
    for width in (320, 360, 400, 480):
        phone.page.set_viewport_size({"width": width, "height": 860})
        lines = lines_of(phone.horizon)
        assert [line for line in lines if line.strip("·") != line] == [], width


def test_the_words_of_one_act_beside_a_message_have_room(visit: Visit) -> None:
    phone = visit(**PHONE).open("/chat?historyPolicy=lastN&historyLength=2")
    say(phone, "One.")
    say(phone, "Two.")
    gone, sent = phone.answers.nth(1), phone.answers.nth(2)
    for message, shown, bare in (
        (gone, "Why did it forget?", "What the model saw"),
        (sent, "What the model saw", "Try again"),
    ):
        acts = message.get_by_role("toolbar")
        expect(acts.get_by_text(shown)).to_be_visible()
        expect(acts.get_by_role("button", name=bare)).to_be_visible()
        expect(acts.get_by_text(bare)).to_be_hidden()
        tops = acts.locator("> *").evaluate_all("(all) => all.map((one) => one.offsetTop)")
        assert len(set(tops)) == 1, "in one row"


def test_all_that_a_summary_would_lose_is_shown_whole(visit: Visit, fake: FakeOpenAI) -> None:
    phone = visit(**PHONE).open("/chat?historyPolicy=tokens&historyTokens=900")
    codes = " ".join(f"RMA-{number}-20" for number in range(100, 130))
    for text in (codes, MORE, MORE, MORE):
        fake.script.append(text)
        say(phone, "And then?")
    phone.meter.get_by_role("button", name="Compact…").tap()
    chips = phone.page.locator(".lost-values")
    expect(chips.get_by_role("button").nth(15)).to_be_visible()
    assert chips.evaluate("(one) => one.scrollHeight - one.clientHeight") <= 0
