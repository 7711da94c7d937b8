"""A picture of what the answers of a chat cost, in the debug panel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.browser.test_accessibility import violations_in_every_look
from tests.browser.test_marks import choose
from tests.running import Server

pytestmark = pytest.mark.browser
LONG = "The quay costs more than the survey said it would. " * 120
FRESH = f"{LONG} [[tokens=200]]"
REUSED = f"And? {LONG} [[tokens=40;cached=1664]]"
LOST = f"So? {LONG} [[tokens=40;cached=0]]"


def picture(chat: Chat) -> Locator:
    return chat.panel.locator("[data-section=costs]")


def bars(chat: Chat) -> Locator:
    return picture(chat).get_by_role("list", name="Answers").get_by_role("button")


@pytest.fixture
def chat(visit: Visit) -> Chat:
    """Three answers; the third request could have been read from the cache."""
    chat = visit().open("/chat?historyPolicy=all&debug=true")
    chat.turns(FRESH, REUSED, LOST)
    expect(bars(chat)).to_have_count(3)
    return chat


def test_before_the_first_answer_there_is_no_picture(visit: Visit) -> None:
    chat = visit().open("/chat?debug=true")
    expect(chat.panel.locator("[data-section=parts]")).to_be_visible()
    expect(picture(chat)).to_be_hidden()


def test_each_answer_is_a_bar_of_its_cost_that_says_it(chat: Chat) -> None:
    expect(picture(chat).locator("h3")).to_have_text(re.compile(r"The answers: about \$0\.\d+"))
    names = [one.get_attribute("title") or "" for one in bars(chat).all()]
    shape = r"Message (\d+): \$0\.\d+, (\d+)% from the cache(; much was read anew)?"
    found = [re.fullmatch(shape, name) for name in names]
    assert all(found), names
    assert [one[1] for one in found if one] == ["3", "5", "7"]
    shares = [int(one[2]) for one in found if one]
    assert shares[0] == shares[2] == 0 < shares[1]
    assert [bool(one[3]) for one in found if one] == [False, False, True]
    # The mark of the lost cache is in the picture and in its key.
    expect(bars(chat).locator("b")).to_have_count(1)
    expect(picture(chat).locator(".key")).to_contain_text("the cache missed much")
    heights = bars(chat).evaluate_all(
        """(all) => all.map((one) => [...one.querySelectorAll("i")].map(
             (piece) => piece.getBoundingClientRect().height))"""
    )
    assert heights[0][0] == 0 < heights[1][0], "only the second was read from the cache"
    assert sum(heights[2]) > sum(heights[1]), "a longer prompt, and all of it paid in full"


def test_a_bar_leads_to_the_receipt_of_its_answer(chat: Chat) -> None:
    bars(chat).nth(1).click()
    expect(chat.panel.locator(".switch [aria-pressed=true]")).to_have_text("Answer 2")
    expect(bars(chat).nth(1)).to_have_attribute("aria-current", "true")
    expect(chat.panel.locator("[data-section=reported]")).to_contain_text("1,664")


def test_the_keyboard_walks_along_the_bars(chat: Chat) -> None:
    last, page = bars(chat).last, chat.page
    last.focus()
    page.keyboard.press("ArrowRight")
    expect(bars(chat).first).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(last).to_be_focused()
    page.keyboard.press("Home")
    expect(bars(chat).first).to_be_focused()
    page.keyboard.press("Enter")
    expect(chat.panel.locator(".switch [aria-pressed=true]")).to_have_text("Answer 1")
    # One stop for the tab key, whatever the number of answers: the answer that is shown.
    expect(picture(chat).locator("button[tabindex='0']")).to_have_count(1)
    expect(bars(chat).first).to_have_attribute("tabindex", "0")


MARKS = """(all) => all.map((one) => {
  const mark = getComputedStyle(one, "::after");
  return mark.content === "none" ? null : {
    colour: mark.borderTopColor,
    ground: getComputedStyle(one).backgroundColor,
    below: -parseFloat(mark.bottom) - parseFloat(mark.borderTopWidth),
  };
})"""
COLOURS = "(all) => all.map((one) => getComputedStyle(one).backgroundColor)"


def test_the_bar_that_is_shown_is_marked_below_the_bars_in_no_colour_of_the_key(
    chat: Chat,
) -> None:
    bars(chat).last.click()
    expect(bars(chat).last).to_have_attribute("aria-current", "true")
    chat.draft.hover()
    for look in ({"color_scheme": "light"}, {"color_scheme": "dark"}, {"forced_colors": "active"}):
        chat.page.emulate_media(**look)  # type: ignore[arg-type]
        *others, mark = bars(chat).evaluate_all(MARKS)
        assert others == [None, None]
        assert mark["below"] > 0
        assert mark["ground"] == "rgba(0, 0, 0, 0)", "nothing is drawn above the bar"
        key = picture(chat).locator(".key i").evaluate_all(COLOURS)
        assert len({*key, mark["colour"]}) == 5, look
        assert mark["colour"] == picture(chat).locator("h3").evaluate(INK), look


INK = """(one) => {
  const probe = one.appendChild(document.createElement("i"));
  probe.style.borderTop = "2px solid var(--ink)";
  const { borderTopColor } = getComputedStyle(probe);
  probe.remove();
  return borderTopColor;
}"""


def test_an_answer_that_is_deleted_leaves_the_picture(chat: Chat) -> None:
    choose(chat.answers.last, "Delete")
    expect(bars(chat)).to_have_count(2)


def test_of_a_model_without_a_price_tokens_are_drawn(visit: Visit, tmp_path: Path) -> None:
    with Server(tmp_path / "var", CHAT_ENGINE="off", OPENAI_API_KEY="") as server:
        chat = visit(base_url=server.url).open("/chat?debug=true")
        chat.say("Is anybody there?")
        tokens_are_drawn(chat)
        chat.page.close()  # the page would look for the server, which stops here


def tokens_are_drawn(chat: Chat) -> None:
    expect(picture(chat).locator("h3")).to_have_text(
        re.compile(r"The answers: \d+ tokens\s*no price is known")
    )
    title = bars(chat).first.get_attribute("title") or ""
    assert re.fullmatch(r"Message \d+: \d+ tokens, 0% from the cache", title)


def test_the_picture_is_whole_in_light_and_dark_and_on_a_phone(chat: Chat) -> None:
    assert violations_in_every_look(chat.page) == []
    chat.page.set_viewport_size({"width": 400, "height": 800})
    bars(chat).first.scroll_into_view_if_needed()
    assert violations_in_every_look(chat.page) == []
    wide = picture(chat).evaluate("(one) => [one.scrollWidth, one.clientWidth]")
    assert wide[0] <= wide[1]
