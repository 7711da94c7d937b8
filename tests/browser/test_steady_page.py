"""What is opened over the chat moves nothing in it, and the keys go where somebody looks."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.browser.test_marks import choose

pytestmark = pytest.mark.browser
PALETTE = re.compile(r"/palette[^/]*\.js")


def box_of(locator: Locator) -> Any:
    found = locator.bounding_box()
    assert found is not None
    return found


def test_the_menu_of_policies_narrows_neither_text_nor_message_box(visit: Visit) -> None:
    chat = visit().open().turns("One.", "Two.")
    parts = (chat.page.locator("#col"), chat.page.locator("#composer"))
    for width in (800, 1280, 1920):
        chat.page.set_viewport_size({"width": width, "height": 800})
        before = [(box_of(one)["x"], box_of(one)["width"]) for one in parts]
        chat.chip.click()
        expect(chat.popover).to_be_visible()
        assert [(box_of(one)["x"], box_of(one)["width"]) for one in parts] == before
        chat.page.keyboard.press("Escape")
        expect(chat.popover).to_be_hidden()


def test_the_first_letters_after_the_shortcut_land_in_the_palette(visit: Visit) -> None:
    chat = visit().open()
    held: list[Route] = []
    chat.page.route(PALETTE, lambda route: held.append(route))
    keys = chat.page.keyboard
    with chat.page.expect_request(PALETTE):
        keys.press("Control+KeyK")
    keys.type("archivist")
    palette = chat.page.get_by_role("dialog", name="Find a chat, a message or an action")
    expect(palette.get_by_role("combobox")).to_have_value("archivist")
    expect(chat.draft).to_have_value("")
    for route in held:
        route.continue_()
    expect(palette.get_by_role("option").first).to_contain_text("Archivist")


def test_the_search_field_names_the_keys_that_lead_to_it(visit: Visit) -> None:
    chat = visit().open()
    expect(chat.page.locator(".find .hint")).to_have_text(re.compile(r"Ctrl Shift K|⌃⇧K|⇧⌘K"))
    chat.page.keyboard.press("Control+Shift+KeyK")
    expect(chat.page.locator("#find")).to_be_focused()


def test_a_toast_covers_nothing_of_the_message_box(visit: Visit) -> None:
    chat = visit(viewport={"width": 400, "height": 800}).open().turns("Ahoy.")
    files: list[Any] = [
        {"name": f"notes-{number}.txt", "mimeType": "text/plain", "buffer": b"Ahoy."}
        for number in range(4)
    ]
    with chat.page.expect_file_chooser() as chosen:
        chat.page.locator("#attach").click()
    chosen.value.set_files(files)
    expect(chat.page.locator("#composer")).to_contain_text("notes-3.txt")
    chat.draft.fill("A line.\n" * 6)
    choose(chat.answers.last, "Delete")
    toast = chat.toasts.locator(".toast")
    expect(toast).to_contain_text("Answer deleted.")
    composer = box_of(chat.page.locator("#composer"))
    shown = box_of(toast)
    assert shown["y"] + shown["height"] <= composer["y"]


def test_escape_from_editing_by_arrow_leads_back_to_the_message_box(chat: Chat) -> None:
    chat.say("How deep is the quay?")
    chat.draft.focus()
    chat.page.keyboard.press("ArrowUp")
    editor = chat.users.last.locator("textarea")
    expect(editor).to_be_focused()
    chat.page.keyboard.press("Escape")
    expect(editor).to_have_count(0)
    expect(chat.draft).to_be_focused()


def test_two_versions_side_by_side_have_their_verdict_and_close_in_view(visit: Visit) -> None:
    chat = visit(viewport={"width": 1280, "height": 800}).open()
    chat.say("[[text=" + "Terns breed on the quay. " * 150 + "]]")
    chat.answers.last.get_by_role("button", name="Try again").click()
    expect(chat.answers.last.get_by_role("button", name="Version 2 of 2")).to_be_visible()
    chat.answers.last.get_by_role("button", name="Version 2 of 2").click()
    chat.popover.get_by_role("button", name="Compare").first.click()
    dialog = chat.page.get_by_role("dialog", name="Two answers")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_role("button", name="Close")).to_be_in_viewport(ratio=1)
    expect(dialog.get_by_text("Both were sent the same")).to_be_in_viewport(ratio=1)
