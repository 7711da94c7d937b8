"""The row of actions under a message: what it offers, by mouse, by keys and on a phone."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit
from tests.browser.test_accessibility import LOOKS, NARROW, violations
from tests.browser.test_marks import choose, sent_texts
from tests.fakes.openai_server import FakeOpenAI

pytestmark = pytest.mark.browser
QUESTION, MARKDOWN = "Which birds breed here?", "**Terns** breed here, and `gulls`."


def row(message: Locator) -> Locator:
    return message.get_by_role("toolbar")


def names(message: Locator) -> list[str]:
    """The actions of a message's row."""
    found: list[str] = row(message).evaluate(
        """(row) => [...row.querySelectorAll("button")].filter((one) => !one.closest(".pop"))
            .map((one) => one.title)"""
    )
    return found


@pytest.fixture
def talk(visit: Visit) -> Chat:
    chat = visit(permissions=["clipboard-read", "clipboard-write"]).open()
    chat.turns(QUESTION)
    chat.say(answer(MARKDOWN))
    return chat


def test_every_message_has_one_row_and_the_rest_in_its_menu(talk: Chat) -> None:
    assert names(talk.users.first) == ["Copy", "Edit", "More"]
    for message in (talk.answers.nth(1), talk.answers.last):
        assert names(message) == [
            "Copy", "Try again", "Answer with another model or memory", "What the model saw",
            "More",
        ]  # fmt: skip
    # Further up the icon is enough.
    expect(row(talk.answers.last).get_by_text("Try again")).to_be_visible()
    expect(row(talk.answers.nth(1)).get_by_text("Try again")).to_have_count(0)
    row(talk.answers.last).get_by_title("More").click()
    expect(talk.popover.get_by_role("button")).to_have_text(
        [
            "Edit",
            "Reply",
            "Pin: always send",
            "Don't send",
            "Forget everything above",
            "Why is this sent?",
            "Bookmark",
            "Continue in a new chat",
            "Delete",
        ]
    )


def test_a_greeting_can_be_copied_and_nothing_else(talk: Chat) -> None:
    assert names(talk.answers.first) == ["Copy"]
    expect(talk.answers.first.locator(".mark:visible")).to_have_count(0)


def test_nothing_moves_when_the_row_shows(talk: Chat) -> None:
    places = """() => [...document.querySelectorAll("#col article")]
        .map((one) => one.getBoundingClientRect().top)"""
    talk.page.mouse.move(5, 5)
    before = talk.page.evaluate(places)
    button = row(talk.users.first).get_by_title("Copy")
    expect(button).to_have_css("opacity", "0")
    talk.users.first.hover()
    expect(button).to_have_css("opacity", "1")
    assert talk.page.evaluate(places) == before
    mine, theirs = row(talk.users.first).bounding_box(), talk.answers.nth(1).bounding_box()
    assert mine and theirs
    assert mine["y"] + mine["height"] <= theirs["y"]


def test_a_message_is_copied_as_it_was_written(talk: Chat) -> None:
    clipboard = "() => navigator.clipboard.readText()"
    row(talk.answers.last).get_by_title("Copy").click()
    expect(talk.page.locator("#status")).to_have_text("Copied.")
    assert talk.page.evaluate(clipboard) == MARKDOWN
    talk.users.first.hover()
    row(talk.users.first).get_by_title("Copy").click()
    talk.page.wait_for_function(
        f"async () => (await navigator.clipboard.readText()) === '{QUESTION}'"
    )


def test_a_row_is_one_stop_and_arrows_lead_through_it(talk: Chat) -> None:
    keys, acts = talk.page.keyboard, row(talk.answers.last)
    acts.get_by_title("Copy").focus()
    keys.press("ArrowRight")
    expect(acts.get_by_title("Try again")).to_be_focused()
    keys.press("End")
    expect(acts.get_by_title("More")).to_be_focused()
    keys.press("ArrowRight")
    expect(acts.get_by_title("Copy")).to_be_focused()
    keys.press("ArrowLeft")
    keys.press("Enter")
    expect(talk.popover.get_by_role("button", name="Edit")).to_be_focused()
    keys.press("End")
    expect(talk.popover.get_by_role("button", name="Delete")).to_be_focused()
    keys.press("Escape")
    expect(acts.get_by_title("More")).to_be_focused()
    keys.press("Tab")
    expect(talk.draft).to_be_focused()
    keys.press("Shift+Tab")
    expect(acts.get_by_title("More")).to_be_focused()  # where one left the row
    keys.press("Shift+Tab")
    expect(row(talk.users.last).get_by_title("Copy")).to_be_focused()


def test_on_a_phone_the_last_row_is_there_and_a_tap_calls_another(visit: Visit) -> None:
    chat = visit(viewport=NARROW, has_touch=True, is_mobile=True).open()
    for number, text in enumerate((QUESTION, "And in winter?"), start=1):
        chat.draft.fill(text)
        chat.send_button.tap()
        expect(chat.receipt_buttons).to_have_count(number)
    for message in (chat.answers.last, chat.users.first):
        message.locator(".body").tap()
        for button in row(message).locator("button:visible").all():
            expect(button).to_have_css("opacity", "1")
            box = button.bounding_box()
            assert box and box["width"] >= 36 and box["height"] >= 36
    assert chat.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@LOOKS
def test_row_and_menu_have_no_serious_fault(
    scheme: Literal["light", "dark"], size: dict[str, object], visit: Visit
) -> None:
    chat = visit(color_scheme=scheme, **size).open()
    chat.turns(QUESTION, "And in winter?")
    chat.users.last.hover()
    assert violations(chat.page) == []
    row(chat.users.last).get_by_title("More").click()
    expect(chat.popover).to_be_visible()
    assert violations(chat.page) == []


def test_a_chat_is_continued_in_a_new_one_from_a_message_on(talk: Chat, fake: FakeOpenAI) -> None:
    original = talk.id
    choose(talk.answers.nth(1), "Continue in a new chat")
    expect(talk.toasts).to_contain_text("This is a copy.")
    expect(talk.users).to_have_count(1)
    assert talk.id != original
    expect(talk.conversations).to_have_count(2)
    expect(talk.row(f"{QUESTION} (2)")).to_be_visible()
    talk.say("And in winter?")
    assert sent_texts(fake) == [QUESTION, "And in winter?"]
    talk.row(QUESTION).filter(has_not_text="(2)").get_by_role("link").click()
    expect(talk.users).to_have_count(2)


def test_a_question_without_its_answer_is_answered_anew_in_the_copy(talk: Chat) -> None:
    choose(talk.users.first, "Continue in a new chat")
    expect(talk.toasts).to_contain_text("This is a copy.")
    expect(talk.answers).to_have_count(1)  # the greeting
    talk.endings.get_by_role("button", name="Try again").click()
    expect(talk.receipt_buttons).to_have_count(1)


def test_the_menu_of_an_answer_has_its_tool_calls_in_a_part_of_their_own(chat: Chat) -> None:
    said: list[dict[str, object]] = [
        {"role": "user", "content": "What is 184000 / 92?"},
        {"role": "assistant", "calls": [{"id": "k", "name": "calculate", "arguments": {}}]},
        {"role": "tool", "call_id": "k", "content": "2000"},
        {"role": "assistant", "content": "About 2,000."},
    ]
    file = {
        "format": "chatsite.conversation", "version": 3, "agent": "demo", "title": "Divided",
        "messages": said,
    }  # fmt: skip
    chat.open(f"/chat/{chat.restored(file)}")
    row(chat.answers.last).get_by_title("More").click()
    expect(chat.popover.get_by_role("heading")).to_contain_text(["calculate"])
    names = chat.popover.get_by_role("button").all_inner_texts()
    assert names.index("Don't send") < names.index("Don't send this exchange")
    assert names.count("Delete") == 1, "a tool call goes with its answer"
    chat.popover.get_by_role("button", name="Don't send this exchange").click()
    expect(chat.answers.last.get_by_role("heading").first).to_contain_text("left out")
