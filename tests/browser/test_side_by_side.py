"""Two versions of a message side by side, after another try and at any time: one is kept."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.browser.test_accessibility import violations, violations_in_every_look
from tests.browser.test_keyboard import focused, walk_to
from tests.browser.watch import Watch, failed_request
from tests.fakes.openai_server import FakeOpenAI

pytestmark = pytest.mark.browser
OTHERWISE = "Answer with another model or memory"


def answer_otherwise(chat: Chat) -> None:
    """The last question once more with nothing but itself."""
    chat.answers.last.get_by_role("button", name=OTHERWISE).click()
    menu = chat.page.get_by_role("dialog", name=OTHERWISE)
    only = menu.locator("[data-policy=none]")
    expect(only).to_contain_text(re.compile(r"1 of \d exchanges · "))
    only.click()
    chat.page.get_by_role("button", name="Side by side").click()


def is_stacked(first: Locator, second: Locator) -> bool:
    """The first one ends above the second."""
    upper, lower = first.bounding_box(), second.bounding_box()
    assert upper and lower
    return upper["y"] + upper["height"] <= lower["y"]


def test_both_answers_stand_side_by_side_and_one_is_kept(visit: Visit, fake: FakeOpenAI) -> None:
    chat = visit().open()
    answer_otherwise(chat.turns("One.", "Two."))
    sent = [one["content"] for one in fake.requests[-1]["messages"] if one["role"] == "user"]
    assert sent == ["Two."], "it was a real request, under the other policy"
    window = chat.page.get_by_role("dialog", name="Two answers to the same question")
    before = window.get_by_role("region", name="Version 1")
    new = window.get_by_role("region", name="Version 2 · shown now")
    expect(window.locator("blockquote")).to_have_text("Two.")
    expect(before).to_contain_text("Your last 20 exchanges", ignore_case=True)
    expect(new).to_contain_text("Only your new message", ignore_case=True)
    expect(before.locator(".md")).to_contain_text("w0")
    expect(window).to_contain_text("Sent only for version 1: 2 messages")
    assert not is_stacked(before, new), "beside each other"
    chat.page.set_viewport_size({"width": 400, "height": 800})
    assert is_stacked(before, new), "one below the other on a phone"
    assert violations_in_every_look(chat.page) == []
    window.get_by_role("button", name="Continue with this one: version 1").click()
    expect(window).to_be_hidden()
    expect(chat.answers.last).to_contain_text("1 / 2")
    expect(chat.chip).to_contain_text("Your last 20")


def test_the_new_answer_is_kept_by_key_and_the_chat_keeps_its_policy(
    visit: Visit, fake: FakeOpenAI
) -> None:
    chat = visit().open()
    answer_otherwise(chat.turns("One.", "Two."))
    window = chat.page.get_by_role("dialog", name="Two answers to the same question")
    window.get_by_role("button", name="Continue with this one: version 2").press("Enter")
    expect(chat.answers.last).to_contain_text("2 / 2")
    chat.say("Three.")
    sent = [one["content"] for one in fake.requests[-1]["messages"] if one["role"] == "user"]
    assert sent == ["One.", "Two.", "Three."]


def edit_first(chat: Chat, text: str) -> None:
    """The first message asked otherwise, with its answer."""
    chat.users.first.hover()
    chat.users.first.get_by_role("button", name="Edit").click()
    chat.page.get_by_role("textbox", name="The message's text").fill(text)
    chat.page.keyboard.press("Control+Enter")
    expect(chat.users).to_have_count(1)
    expect(chat.users.first).to_contain_text(text.partition(" [[")[0])
    # The row is drawn once more when the cost of the new answer is known.
    whole = re.compile(r"Version 2 of 2: .*\$")
    expect(chat.users.first.locator(".versions-all")).to_have_attribute("aria-label", whole)
    expect(chat.writing).to_have_count(0)


def test_the_versions_of_a_question_are_compared_with_their_answers(visit: Visit) -> None:
    chat = visit().open()
    chat.turns("How deep? [[text=Five fathoms.]]", "And the bar?")
    edit_first(chat, "How deep at low water? [[text=Three fathoms.]]")
    chat.users.first.get_by_role("button", name="Version 2 of 2").click()
    expect(chat.popover.get_by_role("button", name="Compare with version 2")).to_have_count(0)
    chat.popover.get_by_role("button", name="Compare with version 1").click()
    window = chat.page.get_by_role("dialog", name="Two versions of a question")
    first = window.get_by_role("region", name="Version 1")
    second = window.get_by_role("region", name="Version 2 · shown now")
    expect(first.locator("blockquote")).to_contain_text("How deep? ")
    expect(first.locator(".md")).to_have_text("Five fathoms.")
    expect(second.locator("blockquote")).to_contain_text("How deep at low water? ")
    expect(second.locator(".md")).to_have_text("Three fathoms.")
    for side in (first, second):
        expect(side.locator("dl")).to_contain_text("Your last 20 exchanges")
        expect(side.locator("dl")).to_contain_text("Sent1 exchange")
    expect(window).to_contain_text("only your question differs.")
    assert violations_in_every_look(chat.page) == []
    first.get_by_role("button", name="Continue with this one").click()
    expect(chat.users).to_have_count(2)
    expect(chat.users.first).to_contain_text("1 / 2")


def test_any_two_answers_are_compared_by_keys_alone(visit: Visit) -> None:
    chat = visit().open().turns("Two.")
    for number in (2, 3):
        chat.answers.last.get_by_role("button", name="Try again", exact=True).click()
        expect(chat.answers.last).to_contain_text(f"{number} / {number}")
        expect(chat.writing).to_have_count(0)
    expect(chat.page.get_by_role("dialog", name="Two answers")).to_have_count(0)
    keys = chat.page.keyboard
    chat.draft.focus()
    walk_to(chat.page, "Try again", key="Shift+Tab")
    walk_to(chat.page, "Version 3 of 3", key="ArrowLeft")
    keys.press("Enter")
    expect(chat.popover).to_be_visible()
    assert violations(chat.page) == [], "with the menu"
    walk_to(chat.page, "Compare with version 1", key="ArrowUp")
    keys.press("Enter")
    window = chat.page.get_by_role("dialog", name="Two answers to the same question")
    expect(window.locator("h3")).to_contain_text(["Version 1", "Version 3 · shown now"])
    assert focused(chat.page) == "Two answers to the same question"
    keys.press("Escape")
    expect(window).to_be_hidden()
    assert focused(chat.page).startswith("Version 3 of 3")
    keys.press("Enter")
    walk_to(chat.page, "Compare with version 2", key="Shift+Tab")
    keys.press("Enter")
    expect(window.locator("h3")).to_contain_text(["Version 2", "Version 3 · shown now"])
    walk_to(chat.page, "Continue with this one: version 2")
    keys.press("Enter")
    expect(chat.answers.last).to_contain_text("2 / 3")


def test_a_version_that_is_gone_meanwhile_is_told_calmly(visit: Visit, watch: Watch) -> None:
    watch.allow(failed_request(404))
    chat = visit().open()
    chat.turns("How deep? [[text=Five fathoms.]]")
    edit_first(chat, "How deep at low water?")
    chat.users.first.get_by_role("button", name="Version 2 of 2").click()
    chat.page.route("**/messages/*/version", lambda route: route.fulfill(
        status=404, json={"message": "There is no such version here."}
    ))  # fmt: skip
    chat.popover.get_by_role("button", name="Compare with version 1").click()
    expect(chat.toasts).to_contain_text("There is no such version here.")
    expect(chat.page.get_by_role("dialog", name="Two versions of a question")).to_have_count(0)
