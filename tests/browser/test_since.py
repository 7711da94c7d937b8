"""What changed since the request before an answer's, and why it was dear."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.browser.test_accessibility import violations_in_every_look
from tests.browser.test_marks import choose

pytestmark = pytest.mark.browser
LONG = "The quay costs more than the survey said it would. " * 60
ASK = f"{LONG} [[tokens=20]]"
LOST = f"{LONG} [[tokens=20;cached=0]]"


def since(chat: Chat) -> Locator:
    """The section for the last answer, as its own button opens it."""
    chat.receipt_buttons.last.click()
    return chat.panel.locator("[data-section=since]")


def since_last(chat: Chat) -> Locator:
    """The same by the panel's own switch."""
    chat.panel.get_by_role("button", name="Next message").click()
    chat.panel.get_by_role("button", name="Last answer").click()
    return chat.panel.locator("[data-section=since]")


def test_a_first_answer_has_no_request_before(visit: Visit) -> None:
    chat = visit().open("/chat?debug=true")
    chat.turns(ASK)
    expect(since(chat)).to_be_hidden()
    expect(chat.panel.locator("[data-section=reported]")).to_contain_text("First token")


def test_where_nothing_of_ours_changed_the_cause_is_the_providers(visit: Visit) -> None:
    chat = visit().open("/chat?historyPolicy=all&debug=true")
    chat.turns(ASK, ASK, f"{LONG} [[tokens=20;cached=1024]]")
    section = since(chat)
    expect(section).to_contain_text("it is unchanged, so the cause is the provider's")
    expect(section).to_contain_text(re.compile(r"[\d,]+ predicted, 1,024 reported"))


def test_a_cut_is_drawn_to_scale_with_the_place_where_the_cache_was_lost(visit: Visit) -> None:
    chat = visit().open("/chat?historyPolicy=lastN&historyLength=3&debug=true")
    chat.turns(*[ASK] * 4, LOST)
    section = since(chat)
    expect(section).to_contain_text("the policy moved its cut, and messages 4–5 went")
    expect(section).to_contain_text("The policy moves its cut with the next message.")
    expect(section).to_contain_text("predicted, 0 reported")
    expect(section.locator(".bar b")).to_have_count(1)
    found = re.findall(r"(read anew|no longer sent) ([\d,]+)", section.inner_text())
    tokens = {name: int(value.replace(",", "")) for name, value in found}
    widths = dict(
        section.locator(".bar i").evaluate_all(
            "(all) => all.map((one) => [one.className, one.getBoundingClientRect().width])"
        )
    )
    share = tokens["read anew"] / tokens["no longer sent"]
    assert widths["fate-anew"] / widths["fate-went"] == pytest.approx(share, rel=0.05)
    assert violations_in_every_look(chat.page) == []


def ask_again(chat: Chat, *, users: int) -> None:
    """Sends, and waits for the answer to the newest of so many messages."""
    chat.write(LOST)
    expect(chat.users).to_have_count(users)
    expect(chat.page.locator("#col article").last).to_contain_text("w19")
    expect(chat.writing).to_have_count(0)


def test_a_changed_text_and_a_deleted_message_are_named(visit: Visit) -> None:
    chat = visit().open("/chat?historyPolicy=all&debug=true")
    chat.turns(*[ASK] * 4)
    changed = chat.answers.nth(2)
    choose(changed, "Edit")
    changed.get_by_role("textbox").fill("The survey was right.")
    changed.get_by_role("button", name="Save").click()
    expect(changed.get_by_role("heading")).to_contain_text("edited by you")
    ask_again(chat, users=5)
    expect(since_last(chat)).to_contain_text(
        "after message 4 was read anew: the text of message 5 was"
    )
    choose(chat.users.nth(2), "Delete")
    expect(chat.users).to_have_count(4)
    ask_again(chat, users=5)
    expect(since_last(chat)).to_contain_text("after message 5 was read anew: message 6 was deleted")
