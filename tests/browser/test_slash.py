"""A slash in the message box: commands and own prompts, by keyboard alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser
PROMPT = "Explain {{topic}} to {{reader=a child}}, {{tone:friendly|formal}}."


def listed(chat: Chat) -> Locator:
    return chat.page.locator("#slash-list:visible [role=option]")


def type_text(chat: Chat, text: str) -> None:
    chat.draft.focus()
    chat.page.keyboard.type(text)


def marked(chat: Chat) -> str:
    """The entry that the box names to a screen reader."""
    named = chat.draft.get_attribute("aria-activedescendant")
    return chat.page.locator(f"#{named}").inner_text().split("\n")[0]


def commands(chat: Chat) -> list[str]:
    return listed(chat).locator("b").all_inner_texts()


def test_it_lists_what_can_be_done_now_and_nothing_moves(chat: Chat) -> None:
    before = chat.page.locator("#composer").bounding_box()
    type_text(chat, "/")
    expect(listed(chat).first).to_be_visible()
    assert chat.page.locator("#composer").bounding_box() == before
    expect(chat.draft).to_have_attribute("role", "combobox")
    expect(chat.draft).to_have_attribute("aria-expanded", "true")
    empty = commands(chat)
    assert "/policy" in empty and "/new" in empty
    assert not {"/compact", "/forget", "/title", "/export"} & set(empty)
    chat.page.keyboard.press("Backspace")
    expect(listed(chat)).to_have_count(0)
    expect(chat.draft).not_to_have_attribute("role", "combobox")
    chat.say("Hello.")
    type_text(chat, "/")
    expect(listed(chat).first).to_be_visible()
    assert {"/compact", "/forget", "/title", "/export"} <= set(commands(chat))
    assert "/remember" not in commands(chat)


def test_arrows_enter_tab_and_the_mouse_choose(chat: Chat) -> None:
    chat.say("Hello.")
    type_text(chat, "/ti")
    expect(listed(chat)).to_have_count(1)
    chat.page.keyboard.press("Tab")
    expect(chat.draft).to_have_value("/title ")
    chat.page.keyboard.type("Tides of May")
    chat.page.keyboard.press("Enter")
    expect(chat.row("Tides of May")).to_be_visible()
    expect(chat.draft).to_have_value("")
    type_text(chat, "/")
    expect(listed(chat).first).to_be_visible()
    first = marked(chat)
    chat.page.keyboard.press("ArrowDown")
    chat.page.keyboard.press("ArrowUp")
    assert marked(chat) == first
    chat.page.keyboard.press("ArrowUp")
    assert marked(chat) == commands(chat)[-1]
    chat.page.keyboard.type("pol")
    assert marked(chat) == "/policy"
    chat.page.keyboard.press("Enter")
    expect(chat.draft).to_have_value("/policy ")
    offered = chat.page.locator("#slash-list [role=option] span").all_inner_texts()
    assert len(offered) > 1
    chat.page.keyboard.press("ArrowDown")
    words = marked(chat)
    before = chat.chip.inner_text()
    chat.page.keyboard.press("Enter")
    expect(chat.chip).not_to_have_text(before)
    assert words
    expect(chat.draft).to_have_value("")
    type_text(chat, "/new")
    listed(chat).first.click()
    expect(chat.users).to_have_count(0)
    expect(chat.draft).to_be_focused()
    expect(chat.draft).to_have_value("")


def test_everything_above_is_forgotten_and_remembered_again(chat: Chat) -> None:
    chat.turns("The code is 4711.", "Thank you.")
    type_text(chat, "/forg")
    chat.page.keyboard.press("Enter")
    expect(chat.toasts).to_contain_text("Everything above is forgotten.")
    line = chat.page.locator(".forget-place")
    expect(line).to_be_visible()
    chat.page.reload()
    chat.ready()
    expect(line).to_be_visible()
    chat.say("Which code?")
    line.get_by_role("button", name="Remember again").click()
    expect(line).to_have_count(0)
    type_text(chat, "/forget")
    chat.page.keyboard.press("Enter")
    expect(line).to_be_visible()
    chat.toasts.get_by_role("button", name="Undo").click()
    expect(line).to_have_count(0)


def test_a_chat_is_exported(chat: Chat) -> None:
    chat.say("Hello.")
    type_text(chat, "/exp")
    chat.page.keyboard.press("Enter")
    expect(listed(chat)).to_have_count(3)
    with chat.page.expect_download() as kept:
        chat.page.keyboard.press("Enter")
    assert kept.value.suggested_filename.endswith(".md")


def test_what_is_no_command_is_sent_as_it_was_written(chat: Chat) -> None:
    for text in ("/etc/hosts is a file", "/compactness", "/new York is large"):
        type_text(chat, text)
        expect(listed(chat)).to_have_count(0)
        chat.page.keyboard.press("Enter")
        expect(chat.users.last).to_contain_text(text)
        expect(chat.writing).to_have_count(0)
    type_text(chat, "/new")
    expect(listed(chat).first).to_be_visible()
    chat.page.keyboard.press("Escape")
    expect(listed(chat)).to_have_count(0)
    expect(chat.draft).to_have_value("/new")
    chat.page.keyboard.press("Enter")
    expect(chat.users).to_have_count(4)
    chat.draft.evaluate(
        "(box) => { box.focus(); document.execCommand('insertText', false, 'a'); box.value = ''; }"
    )
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    chat.page.evaluate("navigator.clipboard.writeText('/')")
    chat.page.keyboard.press("Control+V")
    expect(chat.draft).to_have_value("/")
    expect(listed(chat)).to_have_count(0)


def test_a_prompt_is_written_called_and_filled_by_keyboard_alone(visit: Visit) -> None:
    chat = visit().open()
    keyboard = chat.page.keyboard
    type_text(chat, "/prom")
    expect(listed(chat)).to_have_count(1)
    keyboard.press("Enter")
    window = chat.page.get_by_role("dialog", name="Your prompts")
    expect(window.get_by_role("button", name="New prompt")).to_be_focused()
    keyboard.press("Enter")
    keyboard.type("explain it")
    keyboard.press("Tab")
    keyboard.type(PROMPT)
    keyboard.press("Tab")
    keyboard.press("Tab")
    keyboard.press("Enter")
    expect(chat.page.locator("#prompts")).to_contain_text("Saved. Call it with /explain it.")
    keyboard.press("Escape")
    expect(chat.draft).to_be_focused()
    type_text(chat, "/expl")
    expect(listed(chat)).to_have_count(1)
    keyboard.press("Enter")
    blanks = chat.page.get_by_role("dialog", name="/explain it")
    expect(blanks.get_by_label("topic")).to_be_focused()
    keyboard.type("the tides")
    keyboard.press("Enter")
    expect(blanks.get_by_label("reader")).to_be_focused()
    keyboard.press("Enter")
    keyboard.press("ArrowDown")
    expect(blanks.locator("p")).to_have_text("Explain the tides to a child, formal.")
    keyboard.press("Enter")
    expect(chat.draft).to_have_value("Explain the tides to a child, formal.")
    expect(chat.draft).to_be_focused()
    expect(chat.users).to_have_count(0)
    chat.draft.fill("")
    type_text(chat, "/expl")
    expect(listed(chat)).to_have_count(1)
    keyboard.press("Enter")
    expect(blanks.get_by_label("topic")).to_have_value("")
    keyboard.press("Escape")
    expect(chat.draft).to_have_value("")


def test_a_prompt_is_saved_from_the_box_changed_deleted_and_brought_back(visit: Visit) -> None:
    chat = visit(viewport={"width": 400, "height": 800}).open()
    chat.draft.fill("Summarise what we said.")
    chat.page.keyboard.press("Control+KeyK")
    chat.page.keyboard.type("as a prompt")
    expect(chat.page.get_by_role("option")).to_have_count(1)
    chat.page.keyboard.press("Enter")
    window = chat.page.locator("#prompts")
    expect(window.get_by_label("Text")).to_have_value("Summarise what we said.")
    window.get_by_label("Name").fill("sum up")
    window.get_by_role("button", name="Save").click()
    expect(window.get_by_role("listitem")).to_contain_text("/sum up")
    assert chat.page.evaluate("document.documentElement.scrollWidth") <= 400
    window.get_by_role("button", name="Edit “sum up”").click()
    window.get_by_label("Text").fill("Summarise it in a line.")
    window.get_by_role("button", name="Save").click()
    expect(window.get_by_role("listitem")).to_contain_text("in a line")
    window.get_by_role("button", name="Delete “sum up”").click()
    expect(window.get_by_role("listitem")).to_have_count(0)
    expect(window.get_by_role("button", name="Undo")).to_be_focused()
    chat.page.keyboard.press("Enter")
    expect(window.get_by_role("listitem")).to_contain_text("in a line")
    window.get_by_role("button", name="Close").click()
    chat.draft.fill("")
    type_text(chat, "/sum")
    listed(chat).first.click()
    expect(chat.draft).to_have_value("Summarise it in a line.")
