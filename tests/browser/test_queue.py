"""Messages that are written while an answer is being written."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.fakes.openai_server import FakeOpenAI

pytestmark = pytest.mark.browser
LONG = "Tell me much. [[tokens=2000;rate=40]]"
SHORTER = "Tell me some. [[tokens=60;rate=20]]"


def queue(chat: Chat) -> Locator:
    return chat.page.locator("#queue")


def waiting(chat: Chat) -> Locator:
    return queue(chat).locator(".queue-text")


def test_they_are_sent_one_by_one_as_answers_end(chat: Chat) -> None:
    chat.begin(SHORTER, shows="w3")
    chat.write("Second.")
    chat.write("Third.")
    expect(waiting(chat)).to_have_text(["Second.", "Third."])
    expect(queue(chat)).to_contain_text("2 messages wait for the answer")
    expect(chat.draft).to_have_value("")
    expect(chat.receipt_buttons).to_have_count(3)
    expect(queue(chat)).to_be_hidden()
    asked = [one["content"] for one in chat.stored() if one["role"] == "user"]
    assert asked == [SHORTER, "Second.", "Third."]


def test_they_can_be_changed_reordered_and_removed_by_keys(chat: Chat) -> None:
    chat.begin(LONG, shows="w3")
    for text in ("One.", "Two.", "Three."):
        chat.write(text)
    keys = chat.page.keyboard
    rows = queue(chat).locator("li")
    rows.nth(2).get_by_role("button", name="Earlier").focus()
    keys.press("Enter")
    expect(waiting(chat)).to_have_text(["One.", "Three.", "Two."])
    expect(rows.nth(1).get_by_role("button", name="Earlier")).to_be_focused()
    rows.nth(0).get_by_role("button", name="Change").press("Enter")
    queue(chat).get_by_role("textbox").fill("One, corrected.")
    keys.press("Control+Enter")
    expect(waiting(chat)).to_have_text(["One, corrected.", "Three.", "Two."])
    rows.nth(1).get_by_role("button", name="Remove").press("Enter")
    expect(waiting(chat)).to_have_text(["One, corrected.", "Two."])
    chat.page.get_by_role("button", name="Undo").click()
    expect(waiting(chat)).to_have_text(["One, corrected.", "Three.", "Two."])


def test_after_a_stop_nothing_goes_by_itself(chat: Chat, fake: FakeOpenAI) -> None:
    chat.begin(LONG, shows="w3")
    asked = len(fake.requests)
    chat.write("And then?")
    chat.page.locator("#stop").click()
    expect(chat.endings).to_contain_text("Stopped. What was written is kept.")
    expect(queue(chat)).to_contain_text("1 message is not sent")
    assert len(fake.requests) == asked
    queue(chat).get_by_role("button", name="Send it now").click()
    expect(chat.receipt_buttons).to_have_count(2)
    expect(queue(chat)).to_be_hidden()


def test_after_a_return_they_are_shown_as_not_sent_and_stay_so(
    visit: Visit, fake: FakeOpenAI
) -> None:
    chat = visit().open()
    chat.begin(SHORTER, shows="w3")
    chat.write("Left behind.")
    address, context = chat.page.url, chat.page.context
    chat.page.close()
    back = Chat(context.new_page()).open(address)
    expect(queue(back)).to_contain_text("1 message is not sent")
    expect(back.writing).to_have_count(0)  # the turn it waited for has ended
    expect(back.receipt_buttons).to_have_count(1)
    back.say("Something else.")  # and another one, too
    expect(waiting(back)).to_have_text(["Left behind."])
    assert [one["content"] for one in back.stored() if one["role"] == "user"] == [
        SHORTER,
        "Something else.",
    ]


def test_two_tabs_send_a_waiting_message_once(chat: Chat) -> None:
    chat.begin(LONG, shows="w3")
    chat.write("Only once.")
    other = chat.tab()
    expect(waiting(other)).to_have_text(["Only once."])
    chat.page.locator("#stop").click()
    for tab in (chat, other):
        expect(queue(tab)).to_contain_text("1 message is not sent")
    queue(chat).get_by_role("button", name="Send it now").click()
    expect(queue(other)).to_be_hidden()
    expect(chat.receipt_buttons).to_have_count(2)
    assert [one["content"] for one in chat.stored() if one["role"] == "user"] == [
        LONG,
        "Only once.",
    ]


def test_send_and_stop_are_two_buttons_and_a_second_press_on_send_stops_nothing(
    chat: Chat,
) -> None:
    expect(chat.page.locator("#stop")).to_be_hidden()
    chat.draft.fill(LONG)
    chat.send_button.dblclick()
    expect(chat.writing.locator(".body")).to_contain_text("w9")
    expect(chat.page.get_by_role("button", name="Stop")).to_be_visible()
    expect(chat.send_button).to_be_disabled()  # there is nothing to send
    chat.draft.fill("Next.")
    expect(chat.send_button).to_have_text("Send next")
    expect(chat.endings).to_have_count(0)


def test_what_waits_is_not_shown_to_somebody_else_in_the_same_browser(visit: Visit) -> None:
    chat = visit().open()
    chat.begin(LONG, shows="w3")
    chat.write("Between us.")
    chat.page.evaluate("sessionStorage.setItem('chatsite:owner', 'user:another')")
    chat.page.reload()
    expect(chat.page.locator("#chip-words b")).to_be_visible()
    expect(queue(chat)).to_be_hidden()
    assert "Between us." not in chat.page.evaluate("JSON.stringify(localStorage)")
