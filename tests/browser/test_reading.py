"""Reading: older messages come as one scrolls up, and what is being read stays where it is."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat, answer

pytestmark = pytest.mark.browser
PASSAGE = (
    "## Part {number}\n\nThe quay stands in **nine fathoms**.\n\n- one anchor\n- a second one\n\n"
    "| place | depth |\n|---|---|\n| quay | {number} m |\n\n```python\nprint({number})\n```\n\n"
)


def stored(chat: Chat, number: int) -> str:
    """The path of a chat with so many messages; every tenth is long."""
    messages = [
        {
            "role": "user" if seq % 2 else "assistant",
            "content": f"Message {seq}. " + (PASSAGE.format(number=seq) if seq % 10 == 0 else ""),
        }
        for seq in range(1, number + 1)
    ]
    file = {
        "format": "chatsite.conversation",
        "version": 1,
        "agent": "demo",
        "title": "A long chat",
        "messages": messages,
    }
    return f"/chat/{chat.restored(json.dumps(file))}"


def place(chat: Chat, seq: int) -> float:
    """Where a message's upper edge is in the window, once nothing moves any more."""
    top: float = chat.page.evaluate(
        """async (seq) => {
          const row = document.querySelector(`article[data-seq="${seq}"]`);
          for (let still = 0, last = NaN; still < 3;) {
            await new Promise(requestAnimationFrame);
            const { top } = row.getBoundingClientRect();
            still = top === last ? still + 1 : 0;
            last = top;
          }
          return row.getBoundingClientRect().top;
        }""",
        seq,
    )
    return top


def first_visible(chat: Chat) -> int:
    seq: int = chat.page.evaluate(
        """() => {
          const { top } = document.querySelector("#log").getBoundingClientRect();
          const rows = [...document.querySelectorAll("#col article[data-seq]")];
          return Number(rows.find((row) => row.getBoundingClientRect().top > top).dataset.seq);
        }"""
    )
    return seq


def test_older_messages_come_as_one_scrolls_up_and_nothing_jumps(chat: Chat) -> None:
    chat.open(stored(chat, 240))
    expect(chat.messages.last).to_be_in_viewport()
    expect(chat.page.locator('article[data-seq="1"]')).to_have_count(0)
    chat.page.locator("#log").hover()
    chat.page.mouse.wheel(0, -1200)
    expect(chat.page.locator("#newest")).to_be_visible()
    loaded = chat.messages.count()
    while chat.messages.count() == loaded:
        chat.page.mouse.wheel(0, -300)
        seq = first_visible(chat)
        before = place(chat, seq)
        # Nobody scrolls now: what comes above moves nothing.
        chat.page.evaluate("new Promise((done) => requestIdleCallback(done))")
        assert abs(place(chat, seq) - before) <= 1
    chat.load_all()
    expect(chat.page.locator('article[data-seq="1"]')).to_be_visible()
    assert chat.messages.count() == 240


def test_a_message_far_up_stays_in_the_middle_of_the_window(chat: Chat) -> None:
    path = stored(chat, 600)
    chat.open(f"{path}#message-7")
    row = chat.page.locator('article[data-seq="7"]')
    expect(row).to_be_in_viewport(ratio=1)
    before = place(chat, 7)
    assert 200 < before < 700
    # Searching in the page finds what isn't drawn yet, and screen readers read it.
    assert chat.page.evaluate("getSelection().removeAllRanges() ?? window.find('Message 90.')")
    far = chat.page.locator('article[data-seq="590"]').aria_snapshot()
    assert "one anchor" in far and "python" in far


def test_an_answer_that_was_scrolled_far_away_comes_back_as_it_was(chat: Chat) -> None:
    chat.open(stored(chat, 60))
    row = chat.page.locator('article[data-seq="50"]')
    log = chat.page.locator("#log")
    row.scroll_into_view_if_needed()
    height = row.bounding_box()
    chat.page.evaluate(
        """() => new MutationObserver((changes) => {
          globalThis.released ||= changes.some(({ target }) => target.dataset.seq === "50");
        }).observe(document, { attributeFilter: ["hidden"], subtree: true })"""
    )
    log.evaluate("(log) => { log.scrollTop = 0; }")
    chat.page.wait_for_function("() => globalThis.released")
    seq = first_visible(chat)
    before = place(chat, seq)
    far = row.aria_snapshot()
    assert "one anchor" in far and "python" in far
    assert abs(place(chat, seq) - before) <= 1
    row.scroll_into_view_if_needed()
    again = row.bounding_box()
    assert height and again and again["height"] == height["height"]
    expect(row.locator("td").last).to_have_text("50 m")


def test_what_is_read_stays_while_an_answer_is_written_below_it(chat: Chat) -> None:
    chat.say(answer("".join(PASSAGE.format(number=one) for one in range(12))))
    text = "".join(PASSAGE.format(number=one) for one in range(30)) + "\n\n$$x^2$$\n\nEnd."
    chat.begin(answer(text, rate=300), shows="Part 1")
    chat.page.locator("#log").hover()
    chat.page.mouse.wheel(0, -600)
    expect(chat.page.locator("#newest")).to_be_visible()
    before = place(chat, 2)
    expect(chat.receipt_buttons).to_have_count(2)
    expect(chat.answers.last.locator(".formula .katex")).to_have_count(1)
    assert abs(place(chat, 2) - before) <= 1


def test_what_is_drawn_stays_when_an_answer_ends(chat: Chat) -> None:
    text = "".join(PASSAGE.format(number=one) for one in range(8))
    chat.begin(answer(text, rate=120), shows="Part 3")
    first = chat.answers.last.locator(".code code").first
    first.evaluate("(code) => getSelection().selectAllChildren(code.closest('.code'))")
    expect(chat.receipt_buttons).to_have_count(1)
    expect(chat.answers.last.locator("h4").last).to_have_text("Part 7")
    assert chat.page.evaluate("getSelection().toString()").strip().endswith("print(0)")


def test_a_policy_that_moves_the_line_moves_no_text(chat: Chat) -> None:
    chat.open(stored(chat, 40) + "?historyPolicy=lastN&historyLength=15")
    expect(chat.horizon).to_have_count(1)
    chat.page.locator("#log").hover()
    chat.page.mouse.wheel(0, -500)
    expect(chat.page.locator("#newest")).to_be_visible()
    seq = first_visible(chat)
    before = place(chat, seq)
    chat.page.locator("#chip").click()
    chat.popover.get_by_role("spinbutton").first.fill("2")
    expect(chat.page.locator(".horizon-place + article")).to_have_attribute("data-seq", "39")
    chat.page.keyboard.press("Escape")
    assert abs(place(chat, seq) - before) <= 1


def test_the_way_to_the_newest_message_covers_no_text(chat: Chat) -> None:
    chat.say(answer("A long line of text that fills the whole column. " * 60))
    chat.say(answer("And one more, which is long enough to fill the window as well. " * 60))
    for width in (3840, 1280, 400, 320):
        check_arrow(chat, width)


def check_arrow(chat: Chat, width: int) -> None:
    chat.page.set_viewport_size({"width": width, "height": 800})
    expect(chat.answers.last.locator(".acts")).to_be_in_viewport()
    chat.page.locator("#log").hover()
    chat.page.mouse.wheel(0, -400)
    arrow = chat.page.get_by_role("button", name="Jump to latest")
    expect(arrow).to_be_visible()
    covered = arrow.evaluate(
        """(one) => {
          const box = one.getBoundingClientRect();
          return [...document.querySelectorAll("#col p, #col .body")].some((text) => {
            const { left, right, top } = text.getBoundingClientRect();
            const end = document.querySelector("#log").getBoundingClientRect().bottom;
            return left < box.right && right > box.left && Math.max(top, box.top) < end - 1
              && box.top < end - 1;
          });
        }"""
    )
    assert not covered
    assert chat.page.evaluate("document.scrollingElement.scrollWidth") <= width
    arrow.click()
    expect(arrow).to_be_hidden()
    expect(chat.answers.last.locator(".acts")).to_be_in_viewport()
