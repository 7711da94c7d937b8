"""Marks, replies and "Why did it forget?", as a person uses them."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.fakes.openai_server import FakeOpenAI

pytestmark = pytest.mark.browser
FACT = "I can't eat walnuts."


def menu(row: Locator) -> Locator:
    """Opens a message's menu."""
    row.hover()
    row.get_by_role("button", name="Actions for").click()
    return row.get_by_role("dialog")


def choose(row: Locator, words: str) -> None:
    """Does something with a message, by its row or by the row's menu."""
    row.hover()
    button = row.get_by_role("toolbar").get_by_role("button", name=words, exact=True)
    if button.count():
        return button.click()
    menu(row).get_by_role("button", name=words, exact=True).click()


def sent_texts(fake: FakeOpenAI) -> list[str]:
    """The user messages of the last request."""
    return [m["content"] for m in fake.requests[-1]["messages"] if m["role"] == "user"]


@pytest.fixture
def forgetful(visit: Visit) -> Chat:
    """The model sees the last two user messages; the fact is older."""
    chat = visit().open("/chat?historyPolicy=lastN&historyLength=2")
    return chat.turns(FACT, "Hello.", "And in winter?")


def test_the_page_explains_why_a_message_was_forgotten_and_a_pin_brings_it_back(
    forgetful: Chat, fake: FakeOpenAI
) -> None:
    chat, fact = forgetful, forgetful.users.first
    other = chat.tab()
    chat.page.bring_to_front()
    choose(fact, "Why did it forget?")
    dialog = chat.page.get_by_role("dialog", name="Why did it forget?")
    expect(dialog).to_contain_text(
        "It dropped out of the context at turn 3, 2 exchanges later, when you sent “And in "
        "winter?”: older than your last 2 exchanges (set in the page's address)."
    )
    expect(dialog).to_contain_text("It won't be sent with your next message either.")
    dialog.get_by_role("button", name="Pin it").click()
    expect(dialog).to_be_hidden()
    for tab in (chat, other):
        expect(tab.users.first.get_by_role("heading")).to_contain_text("pinned")
        expect(tab.users.first.locator(".mark")).to_have_text("Still sent: its turn is pinned")
    chat.say("What can I eat?")
    assert sent_texts(fake) == [FACT, "And in winter?", "What can I eat?"]
    choose(fact, "Why is this sent?")
    why = chat.page.get_by_role("dialog", name="Why is this sent?")
    expect(why).to_contain_text(
        "It came back at turn 4, 3 exchanges later, when you sent “What can"
    )
    why.get_by_role("button", name="Close").click()
    choose(fact, "Unpin")
    expect(other.users.first.get_by_role("heading")).not_to_contain_text("pinned")
    expect(fact.locator(".mark")).to_be_hidden()


def test_a_reply_is_sent_with_the_message_it_replies_to(forgetful: Chat, fake: FakeOpenAI) -> None:
    chat = forgetful
    bar = chat.page.get_by_role("group", name="Reply")
    choose(chat.users.first, "Reply")
    expect(bar).to_contain_text(FACT)
    chat.page.keyboard.press("Escape")
    expect(bar).to_be_hidden()
    expect(chat.users.first).to_have_class("m user out")
    choose(chat.users.first, "Why did it forget?")
    chat.page.get_by_role("button", name="Ask again with it").click()
    expect(chat.draft).to_have_value("And in winter?")
    expect(chat.draft).to_be_focused()
    expect(chat.users.first.locator(".mark")).to_contain_text("Still sent")
    chat.reload()
    expect(bar).to_contain_text(FACT)
    chat.say("So what do I eat in winter?")
    expect(bar).to_be_hidden()
    assert sent_texts(fake) == [FACT, "And in winter?", "So what do I eat in winter?"]
    quote = chat.users.last.get_by_role("button", name="Reply to your message")
    expect(quote).to_have_text(FACT)
    quote.click()
    expect(chat.users.first).to_be_focused()


def test_the_messages_above_are_forgotten_and_remembered_again(
    chat: Chat, fake: FakeOpenAI
) -> None:
    chat.turns(FACT, "Hello.", "And in winter?")
    row = chat.users.nth(1)
    row.get_by_role("button", name="Actions for").focus()
    chat.page.keyboard.press("Enter")
    expect(row.get_by_role("button", name="Reply")).to_be_focused()
    for _ in range(3):
        chat.page.keyboard.press("ArrowDown")
    expect(row.get_by_role("button", name="Forget everything above")).to_be_focused()
    chat.page.keyboard.press("Enter")
    line = chat.page.get_by_role("region", name="Forgotten above")
    expect(line).to_be_visible()
    expect(chat.horizon).to_be_visible()
    assert len(chat.above_the_line()) == 3
    choose(chat.users.nth(2), "Don't send")
    expect(chat.users.nth(2).get_by_role("heading")).to_contain_text("left out")
    chat.say("And now?")
    assert sent_texts(fake) == ["Hello.", "And now?"]
    chat.reload()
    expect(chat.users.nth(2).get_by_role("heading")).to_contain_text("left out")
    line.get_by_role("button", name="Remember again").click()
    expect(line).to_be_hidden()
    choose(chat.users.nth(2), "Send again")
    expect(chat.users.nth(2).get_by_role("heading")).not_to_contain_text("left out")
    chat.say("And then?")
    assert sent_texts(fake) == [FACT, "Hello.", "And in winter?", "And now?", "And then?"]
