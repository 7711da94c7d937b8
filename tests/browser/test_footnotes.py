"""Footnotes in answers: a number in the text leads to the note, and the note leads back."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat, answer
from tests.browser.test_accessibility import violations

pytestmark = pytest.mark.browser
TEXT = (
    "High water[^tide] comes twice a day, as everybody[^who] says[^tide].\n\n"
    + "It goes on for a while.\n\n" * 40
    + "[^tide]: By the *harbour's* table.\n[^lost]: Nobody refers to this one."
)


def test_a_number_leads_to_the_note_and_back_by_keys(chat: Chat) -> None:
    said = chat.say(answer(TEXT))
    numbers = said.get_by_role("button", name="Footnote 1", exact=True)
    expect(numbers).to_have_text(["1", "1"])
    note = said.locator(".footnote")
    expect(note).to_contain_text("1. By the harbour's table.")
    numbers.first.focus()
    chat.page.keyboard.press("Enter")
    expect(note).to_be_focused()
    expect(note).to_be_in_viewport()
    chat.page.keyboard.press("Tab")
    back = said.get_by_role("button", name="Back to the text")
    expect(back).to_be_focused()
    back.press("Enter")
    expect(numbers.first).to_be_focused()
    expect(numbers.first).to_be_in_viewport()
    assert violations(chat.page) == []
    # What has no partner stays as it was written.
    expect(said).to_contain_text("as everybody[^who] says")
    expect(said).to_contain_text("[^lost]: Nobody refers to this one.")


def test_numbers_of_two_answers_dont_mix_and_a_reload_changes_nothing(chat: Chat) -> None:
    chat.say(answer("One[^a].\n\n[^a]: First note."))
    chat.say(answer("Two[^a].\n\n[^a]: Second note."))
    for _ in range(2):
        chat.answers.last.get_by_role("button", name="Footnote 1").click()
        expect(chat.page.locator(".footnote:focus")).to_contain_text("1. Second note.")
        chat.reload()
