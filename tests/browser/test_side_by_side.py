"""The same question under another policy: both answers side by side, and one is kept."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.browser.test_accessibility import violations_in_every_look
from tests.fakes.openai_server import FakeOpenAI

pytestmark = pytest.mark.browser
OTHERWISE = "Answer with another model or memory"


def answer_otherwise(chat: Chat) -> None:
    """The last question once more with nothing but itself."""
    chat.answers.last.get_by_role("button", name=OTHERWISE).click()
    menu = chat.page.get_by_role("dialog", name=OTHERWISE)
    only = menu.locator("[data-policy=none]")
    expect(only).to_contain_text("token")
    only.click()
    chat.page.get_by_role("button", name="Side by side").click()


@pytest.mark.parametrize("options", [{}, {"viewport": {"width": 400, "height": 800}}])
def test_both_answers_stand_side_by_side_and_one_is_kept(
    visit: Visit, fake: FakeOpenAI, options: dict[str, object]
) -> None:
    chat = visit(**options).open()
    answer_otherwise(chat.turns("One.", "Two."))
    sent = [one["content"] for one in fake.requests[-1]["messages"] if one["role"] == "user"]
    assert sent == ["Two."], "it was a real request, under the other policy"
    window = chat.page.get_by_role("dialog", name="Two answers to the same question")
    before, new = (window.get_by_role("region", name=name) for name in ("Before", "New"))
    expect(before).to_contain_text("Your last 20 messages", ignore_case=True)
    expect(new).to_contain_text("Only your new message", ignore_case=True)
    expect(before.locator(".md")).to_contain_text("w0")
    expect(window).to_contain_text("Sent only before: 2 messages")
    boxes = [one.bounding_box() for one in (before, new)]
    assert boxes[0] and boxes[1]
    stacked = boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]
    assert stacked == bool(options), "beside each other, or one below the other on a phone"
    assert violations_in_every_look(chat.page) == []
    window.get_by_role("button", name="Keep the answer before").click()
    expect(window).to_be_hidden()
    expect(chat.answers.last).to_contain_text("1 / 2")
    expect(chat.chip).to_contain_text("Your last 20")


def test_the_new_answer_is_kept_by_key_and_the_chat_keeps_its_policy(
    visit: Visit, fake: FakeOpenAI
) -> None:
    chat = visit().open()
    answer_otherwise(chat.turns("One.", "Two."))
    window = chat.page.get_by_role("dialog", name="Two answers to the same question")
    window.get_by_role("button", name="Keep the new answer").press("Enter")
    expect(chat.answers.last).to_contain_text("2 / 2")
    chat.say("Three.")
    sent = [one["content"] for one in fake.requests[-1]["messages"] if one["role"] == "user"]
    assert sent == ["One.", "Two.", "Three."]
