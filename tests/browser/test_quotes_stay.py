"""A quote stays while the talk goes on, and the panel says when and for what it was made."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.fakes.openai_server import FakeOpenAI
from tests.quoted_talk import AFTER, QUERY, QUESTION, TALK, block_in, earlier_blocks

pytestmark = pytest.mark.browser


def cat_row(chat: Chat) -> Locator:
    """The panel's row of the message that says what the cat is called; the first is a greeting."""
    place = chat.page.locator(".place", has_text=re.compile(r"^2(–\d)?$"))
    return chat.panel.locator(".fate > li", has=place)


def test_a_quote_stays_and_the_panel_says_when_it_was_made(visit: Visit, fake: FakeOpenAI) -> None:
    chat = visit().open(f"/chat?{QUERY}&debug=true")
    chat.turns(*TALK, QUESTION)
    asked = fake.requests[-1]["messages"]
    assert block_in(asked)
    last_answer = chat.panel.get_by_role("button", name="Last answer")
    last_answer.click()
    expect(cat_row(chat)).to_contain_text("sent as a quote: it shares")

    chat.say(AFTER)
    then = fake.requests[-1]["messages"]
    assert then[: len(asked)] == asked and earlier_blocks(then) == block_in(asked)
    last_answer.click()
    row = cat_row(chat)
    expect(row).to_contain_text("still sent as a quote: ")
    expect(chat.fact("Messages")).to_contain_text("for earlier messages)")
    row.locator("summary").click()
    inside = row.locator(".inside")
    expect(inside).to_contain_text(
        re.compile(r"a quote directly before your earlier message of .*\d\d:\d\d.*, for which it")
    )
    expect(inside).to_contain_text("It stays there, so that the request keeps its beginning.")
    inside.get_by_role("button", name=QUESTION).click()
    expect(chat.users.filter(has_text=QUESTION)).to_be_in_viewport()
