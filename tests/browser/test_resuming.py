"""An answer is written by the server's process, whichever tabs open and close meanwhile."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.fakes.openai_server import FakeOpenAI

pytestmark = pytest.mark.browser
LONG = "Count. [[tokens=80;rate=20]]"
WHOLE = " ".join(f"w{n}" for n in range(80))


def shown(chat: Chat) -> str:
    return chat.answers.last.locator(".body").inner_text().strip()


def test_a_reload_in_the_middle_keeps_the_text_and_the_rest_follows(
    chat: Chat, fake: FakeOpenAI
) -> None:
    requests_before = len(fake.requests)
    chat.begin(LONG, shows="w12")
    chat.page.reload()
    expect(chat.writing.locator(".body")).to_contain_text("w0 w1 w2")
    expect(chat.receipt_buttons).to_have_count(1)
    assert shown(chat) == WHOLE == chat.stored()[-1]["content"].strip()
    assert len(fake.requests) == requests_before + 1


def test_a_second_tab_joins_in_the_middle_and_both_end_alike(chat: Chat) -> None:
    chat.begin(LONG, shows="w8")
    other = Chat(chat.page.context.new_page())
    other.page.goto(chat.page.url)
    expect(other.writing.locator(".body")).to_contain_text("w0 w1 w2")
    for tab in (chat, other):
        expect(tab.receipt_buttons).to_have_count(1)
        assert shown(tab) == WHOLE
    assert chat.transcript() == other.transcript()


def test_stop_works_from_another_tab_and_is_shown_in_both(chat: Chat, fake: FakeOpenAI) -> None:
    aborted = fake.client_aborts
    chat.begin("Count. [[tokens=900;rate=30]]", shows="w8")
    other = Chat(chat.page.context.new_page())
    other.page.goto(chat.page.url)
    other.page.locator("#stop").click()
    for tab in (chat, other):
        expect(tab.endings).to_contain_text("Stopped. What was written is kept.")
        expect(tab.page.locator("#stop")).to_be_hidden()
    assert shown(chat) == shown(other) == chat.stored()[-1]["content"].strip()
    assert fake.client_aborts == aborted + 1


def test_stop_works_after_a_reload(chat: Chat) -> None:
    chat.begin("Count. [[tokens=900;rate=30]]", shows="w8")
    chat.page.reload()
    expect(chat.writing.locator(".body")).to_contain_text("w8")
    chat.draft.press("Escape")
    expect(chat.endings).to_contain_text("Stopped. What was written is kept.")


def test_closing_the_page_is_not_stop(visit: Visit, fake: FakeOpenAI) -> None:
    aborted = fake.client_aborts
    chat = visit().open()
    chat.begin(LONG, shows="w4")
    address = chat.page.url
    later = Chat(chat.page.context.new_page())
    chat.page.close()
    later.page.goto(address)
    expect(later.receipt_buttons).to_have_count(1)
    assert shown(later) == WHOLE
    expect(later.endings).to_have_count(0)
    assert fake.client_aborts == aborted
