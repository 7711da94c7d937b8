"""A message that doesn't fit: its numbers, and one reason, before anything is tried."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit

OVER = re.compile(r"^([\d,]+) of 600 tokens: ([\d,]+) too many$")


def number(text: str) -> int:
    return int(text.replace(",", ""))


def filled(visit: Visit) -> Chat:
    chat = visit().open("/chat?historyTokens=600&debug=true")
    chat.say("Hello")
    expect(chat.meter).to_contain_text("of 600 tokens")
    return chat


def test_meter_and_panel_show_what_a_message_that_does_not_fit_would_take(visit: Visit) -> None:
    chat = filled(visit)
    chat.draft.fill("word " * 2_000)
    expect(chat.meter.locator(".meter-words")).to_have_text(OVER)
    found = OVER.match(chat.meter.locator(".meter-words").inner_text())
    assert found is not None
    needed, more = number(found[1]), number(found[2])
    assert needed - more == 600 and needed > 2_000
    expect(chat.meter).to_have_class(re.compile(r"\bover\b"))
    expect(chat.panel.locator("[data-section=parts] h3 small")).to_have_text(OVER)
    expect(chat.fact("Messages")).to_have_text(
        "3 in the conversation, none can be sent with your draft"
    )
    key = chat.panel.locator("[data-section=parts] .key")
    mine = re.search(r"this message ([\d,]+)", key.inner_text())
    assert mine is not None and number(mine[1]) > 2_000
    assert not re.search(r"\bfree\b", key.inner_text())


def test_the_reason_is_said_once_and_nothing_is_said_to_have_been_tried(visit: Visit) -> None:
    chat = filled(visit)
    chat.draft.fill("word " * 2_000)
    expect(chat.notice).to_contain_text("Too long: most is the message itself.")
    expect(chat.send_button).to_be_disabled()
    expect(chat.send_button).to_have_attribute("title", re.compile("Too long"))
    shown = chat.page.locator("body").inner_text()
    assert "Nothing was sent" not in shown
    assert shown.count("Too long") == 1
    chat.draft.press("Enter")
    expect(chat.users).to_have_count(1)
    expect(chat.draft).to_have_value("word " * 2_000)
    chat.draft.fill("word")
    expect(chat.send_button).to_be_enabled()
    expect(chat.notice).to_be_hidden()
    expect(chat.meter).not_to_have_class(re.compile(r"\bover\b"))
    chat.write("Still here?")
    expect(chat.users).to_have_count(2)


def test_a_text_too_long_for_one_message_shows_no_number_of_an_earlier_one(visit: Visit) -> None:
    chat = filled(visit)
    chat.draft.fill("word " * 20_000)
    expect(chat.notice).to_contain_text("longer than one message can be")
    expect(chat.send_button).to_be_disabled()
    expect(chat.meter).to_be_hidden()
    expect(chat.panel.locator("[data-section=parts]")).to_be_hidden()
    chat.draft.fill("word")
    expect(chat.meter).to_contain_text("of 600 tokens")
    expect(chat.send_button).to_be_enabled()
