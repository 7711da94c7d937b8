"""Exchanges stand together, what can be done takes no room of its own, and nothing is covered."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser
PHONE: dict[str, Any] = {
    "viewport": {"width": 400, "height": 800},
    "has_touch": True,
    "is_mobile": True,
}
WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
ZOOMED: dict[str, Any] = {"viewport": {"width": 640, "height": 400}}
# Where everything is that somebody reads.
PLACES = """() => [...document.querySelectorAll("#col > *, #composer")].map((one) => {
  const { x, y, width, height } = one.getBoundingClientRect();
  return [x, y, width, height].map(Math.round);
})"""
# Whether everything has stood where it is for twenty frames: a line that is drawn moves what is
# below it, and a column that is being scrolled moves altogether.
STILL = f"""() => {{
  const now = JSON.stringify(({PLACES})());
  window.frames = now === window.places ? window.frames + 1 : 0;
  window.places = now;
  return window.frames > 20;
}}"""
# The buttons of a row under which something else would be pressed.
COVERED = """(row) => [...row.querySelectorAll(".acts > .act")].filter((one) => {
  const { x, y, width, height } = one.getBoundingClientRect();
  const found = document.elementFromPoint(x + width / 2, y + height / 2);
  return found?.closest("button") !== one;
}).map((one) => one.title)"""
# The messages whose text a row's buttons are drawn over.
OVER = """(row) => {
  const acts = row.querySelector(".acts").getBoundingClientRect();
  return [...document.querySelectorAll("#col .body")].filter((one) => {
    const { left, right, top, bottom } = one.getBoundingClientRect();
    return acts.left < right && acts.right > left && acts.top + 3 < bottom && acts.bottom - 3 > top;
  }).length;
}"""
# What a toast is drawn over, of all that can be pressed or read there.
UNDER_TOAST = """() => {
  const toast = document.querySelector("#toasts .toast").getBoundingClientRect();
  const last = "#col .m:last-of-type";
  const parts = `#composer, #composer *, ${last} .acts > *, ${last} .body`;
  return [...document.querySelectorAll(parts)].filter((one) => {
    const { left, right, top, bottom, width } = one.getBoundingClientRect();
    const beside = toast.left >= right || toast.right <= left;
    return width && !beside && toast.top < bottom && toast.bottom > top;
  }).map((one) => one.className || one.id);
}"""
SHORT = [answer("Her name is Miso."), answer("It is called Heron."), answer("You are welcome.")]


def send(chat: Chat, *texts: str) -> None:
    """With the button: on a phone Enter begins a new line."""
    before = chat.page.locator("[data-act=saw]").count()
    for number, text in enumerate(texts, start=before + 1):
        chat.draft.fill(text)
        chat.send_button.click()
        expect(chat.page.locator("[data-act=saw]")).to_have_count(number)
        expect(chat.writing).to_have_count(0)


def places_at_rest(chat: Chat) -> list[list[int]]:
    chat.page.wait_for_function(STILL, polling="raf")
    places: list[list[int]] = chat.page.evaluate(PLACES)
    return places


def short_exchanges(chat: Chat) -> Chat:
    send(chat, *SHORT)
    # The page is given a person's words; those that the fake provider reads are long.
    for body, words in zip(
        chat.page.locator("#col .m.user .body").all(),
        ("My cat?", "My boat?", "Thanks."),
        strict=True,
    ):
        body.evaluate("(one, words) => (one.textContent = words)", words)
    return chat


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_three_short_exchanges_take_less_than_half_of_a_window(
    size: dict[str, Any], visit: Visit
) -> None:
    chat = short_exchanges(visit(**size).open())
    first, last = chat.users.first.bounding_box(), chat.answers.last.bounding_box()
    assert first and last
    assert last["y"] + last["height"] - first["y"] < 400


def test_what_a_person_says_is_at_the_right_and_what_is_long_stays_readable(visit: Visit) -> None:
    chat = visit(**WIDE).open()
    chat.turns("Short.", "A long question about the quay. " * 20)
    column = chat.page.locator("#col").bounding_box()
    assert column
    for said in chat.users.all():
        bubble = said.locator(".body").bounding_box()
        assert bubble
        assert abs(bubble["x"] + bubble["width"] - column["x"] - column["width"]) < 2
        assert bubble["width"] <= 0.81 * column["width"]
    expect(chat.answers.last.locator(".who")).to_have_text("Memo")  # for who hears the page
    expect(chat.answers.last.locator(".m-head")).to_have_css("position", "absolute")


@pytest.mark.parametrize("size", [WIDE, ZOOMED], ids=["wide", "zoomed"])
def test_acts_move_nothing_and_cover_nothing(size: dict[str, Any], visit: Visit) -> None:
    chat = short_exchanges(visit(**size).open())
    chat.page.mouse.move(5, 5)
    before = places_at_rest(chat)
    for row in (chat.users.nth(2), chat.answers.nth(2), chat.answers.last):
        row.hover()
        expect(row.get_by_role("button", name="Copy")).to_have_css("opacity", "1")
        assert chat.page.evaluate(PLACES) == before
        assert row.evaluate(COVERED) == []
        assert row.evaluate(OVER) == 0


def test_acts_are_reached_by_the_keys_alone(visit: Visit) -> None:
    chat = short_exchanges(visit(**WIDE).open())
    before = places_at_rest(chat)
    chat.draft.focus()
    for _ in range(3):
        chat.page.keyboard.press("Shift+Tab")
    edit = chat.users.nth(2).get_by_role("toolbar").get_by_role("button")
    chat.users.nth(2).get_by_role("button", name="Copy").focus()
    for button in edit.all():
        expect(button).to_have_css("opacity", "1")
    assert chat.page.evaluate(PLACES) == before


def test_a_tap_calls_the_acts_of_a_message_on_a_phone(visit: Visit) -> None:
    chat = short_exchanges(visit(**PHONE).open())
    copy = chat.users.nth(1).get_by_role("button", name="Copy")
    expect(chat.answers.last.get_by_role("button", name="Copy")).to_have_css("opacity", "1")
    expect(copy).to_have_css("opacity", "0")
    before = places_at_rest(chat)
    chat.users.nth(1).locator(".body").tap()
    expect(copy).to_have_css("opacity", "1")
    assert chat.page.evaluate(PLACES) == before
    assert chat.users.nth(1).evaluate(COVERED) == []


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_toast_covers_neither_acts_nor_files_nor_buttons(
    size: dict[str, Any], visit: Visit
) -> None:
    chat = visit(**size).open()
    send(chat, *(answer("A line of an answer. " * 30) for _ in range(4)))
    with chat.page.expect_file_chooser() as chosen:
        chat.page.locator("#attach").click()
    chosen.value.set_files({"name": "notes.txt", "mimeType": "text/plain", "buffer": b"Ahoy."})
    expect(chat.page.locator("#composer")).to_contain_text("notes.txt")
    row = chat.answers.last
    row.get_by_title("More").click()
    chat.popover.get_by_role("button", name="Delete").click()
    expect(chat.toasts).to_contain_text("Answer deleted.")
    chat.page.wait_for_function(f"() => ({UNDER_TOAST})().length === 0")
    expect(chat.messages.last.locator(".acts")).to_be_in_viewport(ratio=1)


def test_the_menu_of_memories_moves_nothing_and_holds_four_and_more(visit: Visit) -> None:
    chat = visit(**WIDE).open("/chat?historyPolicy=lastN&historyLength=2")
    chat.turns(*(answer("A line of an answer. " * 30) for _ in range(4)))
    # The line comes down once more when the last answer is stored.
    expect(chat.horizon).to_contain_text("1 of 4 exchanges")
    before = places_at_rest(chat)
    chat.chip.click()
    expect(chat.popover.get_by_role("radio")).to_have_count(4)
    expect(chat.popover.get_by_label("Token limit")).to_have_attribute("placeholder", "no limit")
    chat.page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    assert chat.page.evaluate(PLACES) == before
    chat.popover.get_by_role("button", name="More…").click()
    expect(chat.popover.get_by_role("radio").nth(4)).to_be_focused()
    # What only an agent may allow isn't there at all.
    expect(chat.popover.get_by_label("Recent messages plus a summary")).to_have_count(0)
    assert chat.page.evaluate(PLACES) == before
    chat.page.keyboard.press("Escape")
    assert chat.page.evaluate(PLACES) == before


def test_the_buttons_are_seen_where_colours_are_forced(visit: Visit) -> None:
    chat = visit(forced_colors="active").open().turns("Ahoy.")
    for one in (chat.send_button, chat.page.locator("#attach"), chat.chip):
        expect(one).not_to_have_css("border-top-width", "0px")
    expect(chat.users.last.locator(".body")).not_to_have_css("border-top-width", "0px")
