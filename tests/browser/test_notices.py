"""A long answer that ends while somebody looks elsewhere is told: in the title, and by a notice."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser
LONG = "Tell me much. [[tokens=60;rate=20]]"
# The test's pages are all in front; the browser itself is asked nothing of notices. For the page,
# an answer that ends while nobody looks took ten seconds longer than it did.
HIDE = """() => {
  const now = performance.now.bind(performance);
  performance.now = () => now() + (window.away ? 10_000 : 0);
  const get = () => window.away === true;
  Object.defineProperty(document, "hidden", { configurable: true, get });
  window.told = [];
  window.Notification = class extends EventTarget {
    static permission = "default";
    static async requestPermission() { return (this.permission = "granted"); }
    constructor(title, options) { super(); window.told.push([title, options.body]); }
  };
}"""


def leave(chat: Chat, *, away: bool) -> None:
    chat.page.evaluate(
        "(away) => { window.away = away; document.dispatchEvent(new Event('visibilitychange')); }",
        away,
    )


def test_the_title_is_marked_until_somebody_looks(visit: Visit) -> None:
    chat = visit()
    chat.page.add_init_script(f"({HIDE})()")
    chat.open().begin(LONG, shows="w3")
    leave(chat, away=True)
    expect(chat.receipt_buttons).to_have_count(1)
    expect(chat.page).to_have_title(f"● {LONG} · Chatsite")
    assert chat.page.evaluate("told") == []  # nobody wished for it
    leave(chat, away=False)
    expect(chat.page).to_have_title(f"{LONG} · Chatsite")


def test_a_notice_is_shown_where_it_is_wished(visit: Visit) -> None:
    chat = visit()
    chat.page.add_init_script(f"({HIDE})()")
    chat.open()
    chat.page.locator("#me-open").click()
    chat.popover.get_by_label("Notify me of long answers").check()
    chat.page.keyboard.press("Escape")
    chat.begin(LONG, shows="w3")
    leave(chat, away=True)
    expect(chat.receipt_buttons).to_have_count(1)
    chat.page.wait_for_function("told.length === 1")
    [[title, body]] = chat.page.evaluate("told")
    assert title == "The answer is done" and body.startswith("w0 w1")


def test_a_short_answer_and_one_that_is_watched_are_not_told(visit: Visit) -> None:
    chat = visit()
    chat.page.add_init_script(f"({HIDE})()")
    chat.open()
    leave(chat, away=True)
    chat.say("Be brief.")
    expect(chat.page).to_have_title("Be brief. · Chatsite")
