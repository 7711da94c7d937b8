"""The page's one function for events: complete, and equal to a fresh snapshot."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from playwright.sync_api import expect

from chatsite.events import Event, Reply
from tests.browser.chat import Chat, answer
from tests.running import ROOT

MARKDOWN = "# Title\n\nA [link](https://example.org) and `code`:\n\n1. one\n2. two\n\n```js\n1\n```"


def test_it_has_a_case_for_every_event_and_for_nothing_else() -> None:
    source = (ROOT / "static" / "chat" / "apply.js").read_text()
    cases = re.findall(r'^\s*case "(\w+)":', source, flags=re.MULTILINE)
    assert sorted(cases) == sorted(kind.type for kind in (*get_args(Event), *get_args(Reply)))


@pytest.mark.browser
def test_a_snapshot_and_the_events_after_it_show_what_a_fresh_one_shows(chat: Chat) -> None:
    chat.turns("One 👍🏽 𝔘𝔫𝔦 [[text=Two 👩‍👩‍👧 and 漢字.]]", answer(MARKDOWN))
    chat.write("It fails. [[mode=cut;at=7]]")
    expect(chat.endings).to_have_count(2)  # at the message and at what was written
    chat.begin("It is stopped. [[tokens=500;rate=50]]", shows="w9")
    chat.draft.press("Escape")
    expect(chat.endings).to_have_count(3)
    chat.menu("One").get_by_role("button", name="Rename").click()
    chat.page.get_by_label("New name").fill("Renamed")
    chat.page.get_by_label("New name").press("Enter")
    expect(chat.page).to_have_title("Renamed · Chatsite")
    fresh = chat.tab()
    expect(fresh.users).to_have_count(4)
    assert fresh.transcript() == chat.transcript()
    assert fresh.page.title() == chat.page.title()
    assert fresh.chip.inner_text() == chat.chip.inner_text()
    expect(chat.meter.locator(".meter-words")).to_have_text(
        fresh.meter.locator(".meter-words").inner_text()
    )
    words = "#col article.m .body"
    assert chat.page.locator(words).evaluate_all(HTML) == fresh.page.locator(words).evaluate_all(
        HTML
    )
    chat.menu("Renamed").get_by_role("button", name="Clear").click()
    chat.page.get_by_role("dialog").get_by_role("button", name="Clear").click()
    for tab in (chat, fresh):
        expect(tab.users).to_have_count(0)


HTML = "(all) => all.map((one) => one.innerHTML)"
