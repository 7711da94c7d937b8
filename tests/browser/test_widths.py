"""Every part of the page fits: from a small phone to a 4K screen, and at 200 % zoom."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser
# At 200 % zoom a window of 1280 by 900 has room for 640 by 450 pixels of the page.
ZOOMED: dict[str, Any] = {"viewport": {"width": 640, "height": 450}, "device_scale_factor": 2}
SIZES: list[ViewportSize] = [
    {"width": 320, "height": 640},
    {"width": 400, "height": 860},
    {"width": 780, "height": 1024},
    {"width": 900, "height": 700},
    {"width": 1024, "height": 768},
    {"width": 1280, "height": 900},
    {"width": 3840, "height": 2160},
]
WIDE_THINGS = (
    "| a | b | c | d | e | f |\n|---|---|---|---|---|---|\n"
    "| " + " | ".join(["something wide"] * 6) + " |\n\n"
    "```\n" + "x" * 300 + "\n```\n\n$$" + "a+b+c+d+" * 30 + "z$$\n\n" + "unbroken" * 60
)
# Long names of a memory and of an agent stand beside each other in the chat's head.
LINK = "/chat?historyPolicy=relevant&historyTokens=100000"
BOXES = """(one) => [...one.querySelectorAll("button, input, textarea")]
    .filter((part) => part.checkVisibility({ visibilityProperty: true }) && !part.closest(".pop"))
    .map((part) => {
      const { left, top, right, bottom } = part.getBoundingClientRect();
      return { name: part.id || part.textContent.trim(), left, top, right, bottom };
    })"""
# A column of 231.5 pixels reports its content as 232 wide and itself as 231.
ROUNDING = 1
OVERFLOW = """() => Math.max(
    document.documentElement.scrollWidth - innerWidth, document.body.scrollWidth - innerWidth,
    ...["#log", "#side", "#panel"].map((one) => document.querySelector(one))
      .map((one) => one.scrollWidth - one.clientWidth))"""


def misplaced(part: Locator) -> list[str]:
    """The controls in this part that lie on each other, or outside of the window."""
    boxes: list[dict[str, Any]] = part.evaluate(BOXES)
    size = part.page.viewport_size
    assert size and boxes
    found = [
        f"{one['name']} is outside"
        for one in boxes
        if one["left"] < -1
        or one["right"] > size["width"] + 1
        or one["bottom"] > size["height"] + 1
    ]
    for place, one in enumerate(boxes):
        for other in boxes[place + 1 :]:
            wide = min(one["right"], other["right"]) - max(one["left"], other["left"])
            high = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
            if wide > 1 and high > 1:
                found.append(f"{one['name']} lies on {other['name']}")
    return found


def check_frame(page: Page, state: str) -> None:
    """Head and composer, and that nothing makes the page, the chat or the panel scroll sideways."""
    page.wait_for_function(f"() => ({OVERFLOW})() <= {ROUNDING}")  # columns may be moving
    state = f"{state} at {page.viewport_size}"
    assert misplaced(page.locator("header.top")) == [], state
    assert misplaced(page.locator("#composer")) == [], state
    name = page.locator("#agent-name")
    assert name.evaluate("(one) => one.scrollWidth - one.clientWidth") <= 0, state


def test_every_part_fits_on_every_screen(visit: Visit) -> None:
    check_sizes(visit().open(LINK), SIZES)


def test_every_part_fits_at_200_percent(visit: Visit) -> None:
    check_sizes(visit(**ZOOMED).open(LINK), [ZOOMED["viewport"]])


def check_sizes(chat: Chat, sizes: list[ViewportSize]) -> None:
    for size in sizes:
        chat.page.set_viewport_size(size)
        check_frame(chat.page, "a new chat")
    chat.say(f"What is wide? {answer(WIDE_THINGS)}")
    wide = chat.answers.filter(has=chat.page.locator("table"))
    expect(wide.locator(".katex").first).to_be_attached()
    chat.say("wide" * 80)
    for size in sizes:
        chat.page.set_viewport_size(size)
        check_wide_chat(chat, wide)


def check_wide_chat(chat: Chat, wide: Locator) -> None:
    check_frame(chat.page, "a chat with wide things")
    wide.get_by_role("toolbar").scroll_into_view_if_needed()
    wide.locator(".m-foot").hover()
    assert misplaced(wide.get_by_role("toolbar")) == []
    check_popovers(chat)
    check_windows(chat)
    check_side_and_panel(chat)


def check_popovers(chat: Chat) -> None:
    for button in ("#chip", "#agent-open", "#model-open"):
        chat.page.locator(button).click()
        expect(chat.popover).to_be_in_viewport(ratio=0.95)
        check_frame(chat.page, f"with the popover of {button}")
        chat.page.keyboard.press("Escape")
        expect(chat.popover).to_be_hidden()
    chat.answers.last.hover()
    chat.answers.last.get_by_title("More").click()
    expect(chat.popover).to_be_in_viewport(ratio=0.95)
    chat.page.keyboard.press("Escape")


def check_windows(chat: Chat) -> None:
    for keys in ("Control+KeyK", "Control+Slash"):
        chat.page.keyboard.press(keys)
        window = chat.page.get_by_role("dialog")
        expect(window).to_be_in_viewport(ratio=0.95)
        assert window.evaluate("(one) => one.scrollWidth - one.clientWidth") <= 0, keys
        chat.page.keyboard.press("Escape")
        expect(window).to_be_hidden()


def check_side_and_panel(chat: Chat) -> None:
    chat.page.locator("#panel-toggle").click()
    expect(chat.panel.locator("[data-section=facts]")).to_be_visible()
    check_frame(chat.page, "with the panel")
    chat.panel.get_by_role("button", name="Close the debug panel").click()
    is_drawer = chat.page.locator("#side-show").is_visible()
    if is_drawer:
        chat.page.locator("#side-show").click()
    expect(chat.page.locator("#side")).to_be_in_viewport(ratio=1)
    assert misplaced(chat.page.locator("#side .find")) == []
    assert chat.page.evaluate(OVERFLOW) <= ROUNDING, "with the sidebar"
    if is_drawer:
        chat.page.locator("#side-hide").click()
