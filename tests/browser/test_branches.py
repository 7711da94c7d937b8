"""Messages are edited, deleted and restored, answered by other models, and their versions shown."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit
from tests.browser.test_marks import choose, sent_texts
from tests.fakes.openai_server import FakeOpenAI

pytestmark = pytest.mark.browser
FIRST, SECOND, THIRD = "Which birds breed here?", "And in winter?", "And on the islands?"


@pytest.fixture
def talk(chat: Chat) -> Chat:
    return chat.turns(FIRST, SECOND, THIRD)


def editor(row: Locator) -> Locator:
    return row.get_by_role("group", name="Edit the message")


def steps(row: Locator) -> Locator:
    return row.get_by_role("group", name="Versions of this message")


def user_texts(chat: Chat) -> list[str]:
    """Also those of a tab in the background, which lays nothing out."""
    return chat.users.locator(".body").all_text_contents()


def test_a_question_of_before_is_asked_otherwise_and_the_old_branch_comes_back(
    talk: Chat, fake: FakeOpenAI
) -> None:
    chat, asked = talk, talk.users.nth(1)
    other = chat.tab()
    chat.page.bring_to_front()
    chat.draft.fill("What I was writing")
    choose(asked, "Edit")
    box = editor(asked).get_by_role("textbox")
    expect(box).to_be_focused()
    expect(box).to_have_value(SECOND)
    expect(editor(asked)).to_contain_text("This version and the 3 messages below it are kept")
    box.fill("And in summer?")
    box.press("Control+Enter")
    for tab in (chat, other):
        expect(tab.users).to_have_count(2)
        expect(tab.answers).to_have_count(3)  # the greeting is one
        expect(tab.writing).to_have_count(0)
        expect(steps(tab.users.nth(1))).to_contain_text("2 / 2")
    assert user_texts(chat) == [FIRST, "And in summer?"] == sent_texts(fake)
    expect(chat.draft).to_have_value("What I was writing")
    expect(chat.toasts).to_contain_text(
        "Your earlier version and the 3 messages below it are kept."
    )
    chat.toasts.get_by_role("button", name="Show them").click()
    expect(chat.users).to_have_count(3)
    expect(steps(chat.users.nth(1))).to_contain_text("1 / 2")
    steps(chat.users.nth(1)).get_by_role("button", name="Later version").click()
    expect(chat.users).to_have_count(2)
    steps(chat.users.nth(1)).get_by_role("button", name="Earlier version").click()
    for tab in (chat, other):
        expect(tab.users).to_have_count(3)
        expect(steps(tab.users.nth(1))).to_contain_text("1 / 2")
        assert user_texts(tab) == [FIRST, SECOND, THIRD]
    chat.draft.fill("")
    chat.say("Go on.")
    assert sent_texts(fake) == [FIRST, SECOND, THIRD, "Go on."]


def test_the_place_of_the_edited_message_is_in_sight(chat: Chat) -> None:
    chat.turns(*(f"Question {number}. " + "It is long. " * 40 for number in range(5)))
    choose(chat.users.nth(1), "Edit")
    editor = chat.users.nth(1).locator(".editor")
    expect(editor).to_be_in_viewport()
    below_the_head = """(one) => one.getBoundingClientRect().top
        >= document.querySelector("header.top").getBoundingClientRect().bottom"""
    assert editor.evaluate(below_the_head)


def test_an_older_answer_is_tried_again_and_the_old_branch_comes_back(
    talk: Chat, fake: FakeOpenAI
) -> None:
    chat, older = talk, talk.answers.nth(2)  # the greeting is one
    other = chat.tab()
    chat.page.bring_to_front()
    older.hover()
    older.get_by_role("button", name="Try again").click()
    for tab in (chat, other):
        expect(tab.answers).to_have_count(3)
        expect(tab.writing).to_have_count(0)
        expect(steps(tab.answers.last)).to_contain_text("2 / 2")
        assert user_texts(tab) == [FIRST, SECOND]
    assert sent_texts(fake) == [FIRST, SECOND]
    expect(chat.toasts).to_contain_text("with all that was below it")
    chat.page.get_by_role("button", name="Side by side").click()
    window = chat.page.get_by_role("dialog", name="Two answers to the same question")
    expect(window).to_contain_text(SECOND)
    window.get_by_role("button", name="Continue with this one: version 1").click()
    for tab in (chat, other):
        expect(tab.users).to_have_count(3)
        expect(steps(tab.answers.nth(2))).to_contain_text("1 / 2")
        assert user_texts(tab) == [FIRST, SECOND, THIRD]


def test_while_an_answer_is_written_none_is_tried_again_and_the_page_says_so(talk: Chat) -> None:
    talk.begin("Slowly [[mode=slow;tokens=400]]", shows="w3")
    older = talk.answers.nth(1)
    older.hover()
    older.get_by_role("button", name="Try again").click()
    expect(talk.toasts).to_contain_text("An answer is still being written here.")
    expect(talk.writing).to_have_count(1)
    expect(talk.users).to_have_count(4)


def test_up_in_the_empty_box_edits_the_last_message_and_escape_leaves_it(talk: Chat) -> None:
    talk.draft.press("ArrowUp")
    last = talk.users.last
    box = editor(last).get_by_role("textbox")
    expect(box).to_be_focused()
    box.fill("Something else")
    box.press("Escape")
    expect(editor(last)).to_have_count(0)
    expect(last.locator(".body")).to_have_text(THIRD)
    expect(talk.draft).to_be_focused()


def test_a_text_is_corrected_without_asking_again(talk: Chat, fake: FakeOpenAI) -> None:
    asked, requests = talk.users.nth(1), len(fake.requests)
    choose(asked, "Edit")
    box = editor(asked).get_by_role("textbox")
    box.fill("And in autumn?")
    box.press("Control+s")
    expect(asked.locator(".body")).to_have_text("And in autumn?")
    expect(asked.get_by_role("heading")).to_contain_text("edited")
    expect(talk.users).to_have_count(3)
    assert len(fake.requests) == requests
    talk.say("Go on.")
    assert sent_texts(fake)[1] == "And in autumn?"


def test_a_corrected_answer_keeps_what_the_model_wrote_as_a_version(
    chat: Chat, fake: FakeOpenAI
) -> None:
    said = chat.say(answer("Terns breed here."))
    chat.say("Thanks.")
    first = chat.answers.nth(1)
    choose(first, "Edit")
    box = editor(first).get_by_role("textbox")
    expect(box).to_have_value("Terns breed here.")
    box.fill("Terns and gulls breed here.")
    editor(first).get_by_role("button", name="Save").click()
    expect(first.locator(".md")).to_have_text("Terns and gulls breed here.")
    expect(first.get_by_role("heading")).to_contain_text("edited by you")
    expect(steps(first)).to_contain_text("2 / 2")
    chat.say("Go on.")
    assert "Terns and gulls breed here." in str(fake.requests[-1])
    steps(first).get_by_role("button", name="Version 2 of 2").click()
    chat.popover.get_by_role("button", name="Version 1").first.click()
    expect(chat.answers.nth(1).locator(".md")).to_have_text("Terns breed here.")
    expect(chat.users).to_have_count(1)
    assert said is not None


def test_a_deleted_message_is_not_sent_and_comes_back_by_undo(talk: Chat, fake: FakeOpenAI) -> None:
    other = talk.tab()
    talk.page.bring_to_front()
    choose(talk.users.nth(1), "Delete")
    for tab in (talk, other):
        expect(tab.users).to_have_count(2)
        assert user_texts(tab) == [FIRST, THIRD]
    expect(talk.toasts).to_contain_text("Message deleted.")
    talk.say("Go on.")
    assert sent_texts(fake) == [FIRST, THIRD, "Go on."]
    talk.toasts.get_by_role("button", name="Undo").click()
    for tab in (talk, other):
        expect(tab.users).to_have_count(4)
        assert user_texts(tab) == [FIRST, SECOND, THIRD, "Go on."]


def test_deleting_the_last_answer_alarms_nobody(talk: Chat) -> None:
    before = talk.answers.count()
    choose(talk.answers.last, "Delete")
    expect(talk.answers).to_have_count(before - 1)
    expect(talk.toasts).to_contain_text("Answer deleted.")
    expect(talk.page.locator("#col .ending.bad")).to_have_count(0)
    expect(talk.page.locator("#col")).not_to_contain_text("was not answered")
    talk.reload()
    expect(talk.endings).to_contain_text("There is no answer here.")
    expect(talk.page.locator("#col .ending.bad")).to_have_count(0)
    expect(talk.endings.get_by_role("button", name="Try again")).to_be_visible()


def test_another_model_answers_once_and_the_old_answer_stays(talk: Chat) -> None:
    last, model = talk.answers.last, talk.page.locator("#model").inner_text()
    last.hover()
    last.get_by_role("button", name="Answer with another model or memory").click()
    menu = talk.page.get_by_role("dialog", name="Answer with another model or memory")
    menu.get_by_role("button", name="fake-model").click()
    expect(steps(talk.answers.last)).to_contain_text("2 / 2")
    expect(talk.writing).to_have_count(0)
    expect(talk.page.locator("#model")).to_have_text(model)
    # Two models wrote in this place, so the page says which without being asked.
    expect(talk.answers.last.locator(".version-facts.mixed")).to_contain_text("fake-model")
    steps(talk.answers.last).get_by_role("button", name="Version 2 of 2").click()
    expect(talk.popover.locator(".version-text").first).to_contain_text("w0 w1")


def test_no_button_moves_from_one_version_to_the_next(talk: Chat) -> None:
    places = """(row) => [...row.querySelectorAll(".acts > .act, .versions > button")]
        .map((one) => one.getBoundingClientRect().left)"""
    last = talk.answers.last
    last.get_by_role("button", name="Answer with another model or memory").click()
    menu = talk.page.get_by_role("dialog", name="Answer with another model or memory")
    button = last.locator("[data-act=again-with]").bounding_box()
    box = menu.bounding_box()
    assert button and box
    below, above = (
        box["y"] >= button["y"] + button["height"],
        box["y"] + box["height"] <= button["y"],
    )
    assert below or above, "the menu isn't over its own button"
    menu.get_by_role("button", name="fake-model").click()
    expect(steps(last)).to_contain_text("2 / 2")
    expect(talk.writing).to_have_count(0)
    before = last.evaluate(places)
    steps(last).get_by_role("button", name="Earlier version").click()
    expect(steps(last)).to_contain_text("1 / 2")
    assert last.evaluate(places) == before


def test_an_edit_that_is_refused_keeps_its_text(chat: Chat) -> None:
    chat.say(FIRST)
    chat.begin("Tell me more [[mode=slow;tokens=200]]", shows="w3")
    choose(chat.users.first, "Edit")
    box = editor(chat.users.first).get_by_role("textbox")
    box.fill("Which fish?")
    box.press("Control+Enter")
    expect(editor(chat.users.first)).to_contain_text("Your text stays here")
    expect(box).to_have_value("Which fish?")
    chat.page.locator("#stop").click()
    expect(chat.writing).to_have_count(0)
    box.press("Control+Enter")
    expect(chat.users).to_have_count(1)
    expect(chat.users.first.locator(".body")).to_have_text("Which fish?")


def test_a_text_whose_message_another_tab_takes_away_goes_to_the_message_box(talk: Chat) -> None:
    other = talk.tab()
    choose(other.users.last, "Edit")
    editor(other.users.last).get_by_role("textbox").fill("My long thoughts")
    talk.page.bring_to_front()
    choose(talk.users.last, "Delete")
    other.page.bring_to_front()
    expect(other.users).to_have_count(2)
    expect(other.draft).to_have_value("My long thoughts")


def test_a_version_that_is_stepped_to_stays_in_sight_with_the_focus(chat: Chat) -> None:
    long = "[[tokens=300]]"
    chat.turns(f"{FIRST} {long}", *(f"And number {n}? {long}" for n in range(4)))
    chat.draft.press("ArrowUp")
    chat.page.keyboard.press("Escape")
    choose(chat.users.first, "Edit")
    box = editor(chat.users.first).get_by_role("textbox")
    box.fill(f"Which fish? {long}")
    box.press("Control+Enter")
    expect(chat.users).to_have_count(1)
    expect(chat.writing).to_have_count(0)
    steps(chat.users.first).get_by_role("button", name="Earlier version").click()
    expect(chat.users).to_have_count(5)
    expect(chat.users.first).to_be_in_viewport()
    expect(steps(chat.users.first).get_by_role("button", name="Later version")).to_be_focused()
    chat.page.keyboard.press("Enter")
    expect(chat.users).to_have_count(1)
    expect(steps(chat.users.first).get_by_role("button", name="Earlier version")).to_be_focused()


def test_versions_and_the_editor_work_at_400_pixels(visit: Visit) -> None:
    chat = visit(viewport={"width": 400, "height": 800}).open().turns(FIRST)
    row = chat.users.first
    choose(row, "Edit")
    box = editor(row).get_by_role("textbox")
    box.fill("Which fish?")
    editor(row).get_by_role("button", name="Send", exact=True).click()
    expect(steps(chat.users.first)).to_contain_text("2 / 2")
    assert chat.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
