"""Everything can be reached and done without a mouse."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser
FOCUSED = """() => {
  const one = document.activeElement;
  const name = one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent ?? one.textContent;
  return one === document.body ? "" : name.trim();
}"""


def stops(page: Page) -> list[str]:
    """The names of all places that Tab reaches, from the page's first one on."""
    page.locator(".skip").focus()
    found: list[str] = []
    name = page.evaluate(FOCUSED)
    while name and name not in found[:1] and len(found) < 80:
        found.append(name)
        page.keyboard.press("Tab")
        name = page.evaluate(FOCUSED)
    return found


def test_tab_reaches_every_part_of_the_page(visit: Visit) -> None:
    chat = visit().open("/chat?debug=true")
    chat.say("Where can I go?")
    chat.draft.fill("more")
    chat.row("Where can I go?").wait_for()
    reached = stops(chat.page)
    wanted = [
        "Skip to the message box", "Chatsite", "Hide the sidebar", "New chat",
        "Search conversations", "Where can I go?", "More for Where can I go?",
        "Guest · 1 conversation", "Memo", "Your last 20 exchanges", "Debug panel", "Conversation",
        "Copy", "Message Memo", "Send", "Close the debug panel",
        "Next message", "Last answer",
    ]  # fmt: skip
    assert [name for name in wanted if name not in reached] == []
    assert list(dict.fromkeys(name for name in reached if name in wanted)) == wanted


def test_the_skip_link_leads_to_the_message_box(chat: Chat) -> None:
    chat.page.locator(".skip").press("Enter")
    expect(chat.draft).to_be_focused()


def test_a_chat_is_begun_searched_sent_and_stopped_by_keys(chat: Chat) -> None:
    keys = chat.page.keyboard
    expect(chat.draft).to_be_focused()
    keys.type("Count. [[tokens=500;rate=50]]")
    keys.press("Enter")
    expect(chat.writing.locator(".body")).to_contain_text("w3")
    keys.press("Escape")
    expect(chat.endings).to_contain_text("Stopped. What was written is kept.")
    expect(chat.draft).to_be_focused()
    keys.press("Control+Shift+KeyO")
    expect(chat.page.locator("#col .intro-title")).to_be_visible()
    keys.press("Control+Shift+KeyK")
    expect(chat.page.locator("#find")).to_be_focused()
    expect(chat.conversations).to_have_count(1)
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(chat.users).to_have_count(1)
    keys.press("Shift+Escape")
    expect(chat.draft).to_be_focused()


def test_shift_enter_makes_a_line_and_enter_sends_both(chat: Chat) -> None:
    for key in ("a", "Shift+Enter", "b", "Enter"):
        chat.draft.press(key)
    expect(chat.receipt_buttons).to_have_count(1)
    assert chat.stored()[1]["content"] == "a\nb"


def test_the_policy_is_changed_by_keys_and_focus_returns(chat: Chat) -> None:
    keys = chat.page.keyboard
    chat.chip.focus()
    keys.press("Enter")
    expect(chat.popover.get_by_label("Your last exchanges")).to_be_focused()
    keys.press("ArrowDown")
    expect(chat.chip).to_have_text("Everything")
    keys.press("Escape")
    expect(chat.popover).to_have_count(0)
    expect(chat.chip).to_be_focused()


def test_leaving_a_popover_by_tab_closes_it(chat: Chat) -> None:
    chat.page.locator("#agent-open").focus()
    chat.page.keyboard.press("Enter")
    expect(chat.popover).to_be_visible()
    for _ in range(6):
        chat.page.keyboard.press("Tab")
    expect(chat.popover).to_have_count(0)


def test_the_panel_opens_and_closes_by_keys_and_focus_returns(chat: Chat) -> None:
    chat.page.keyboard.press("Control+Period")
    expect(chat.panel).to_be_visible()
    chat.panel.get_by_role("button", name="Close the debug panel").press("Enter")
    expect(chat.panel).to_be_hidden()
    expect(chat.page.locator("#panel-toggle")).to_be_focused()


def test_a_shortcut_leads_to_the_horizon(visit: Visit) -> None:
    chat = visit().open("/chat?historyPolicy=none")
    chat.turns("One.", "Two.")
    expect(chat.horizon).to_be_visible()
    chat.page.keyboard.press("Control+Shift+ArrowUp")
    expect(chat.horizon).to_be_focused()
    chat.page.keyboard.press("Shift+Escape")
    expect(chat.draft).to_be_focused()


def test_a_conversation_is_renamed_and_deleted_in_the_list_by_keys(chat: Chat) -> None:
    chat.say("Here today")
    keys = chat.page.keyboard
    chat.row("Here today").locator("a").focus()
    keys.press("F2")
    keys.type("Gone tomorrow")
    keys.press("Enter")
    expect(chat.conversations).to_have_text(["Gone tomorrow"])
    chat.row("Gone tomorrow").locator("a").focus()
    keys.press("Delete")
    expect(chat.conversations).to_have_count(0)
    expect(chat.toasts.get_by_role("button", name="Undo")).to_be_visible()


def test_the_list_of_shortcuts_opens_and_they_can_be_switched_off(chat: Chat) -> None:
    keys = chat.page.keyboard
    keys.press("Control+Slash")
    dialog = chat.page.get_by_role("dialog", name="Keyboard shortcuts")
    dialog.get_by_label("Enable shortcuts").uncheck()
    keys.press("Escape")
    expect(dialog).to_be_hidden()
    keys.press("Control+Period")
    keys.press("Control+KeyK")
    expect(chat.panel).to_be_hidden()


def test_a_screen_reader_hears_the_start_and_the_end_not_the_stream(chat: Chat) -> None:
    status = chat.page.locator("#status")
    expect(chat.page.get_by_role("log")).to_have_attribute("aria-live", "off")
    chat.begin("Count. [[tokens=40;rate=20]]", shows="w3")
    expect(status).to_have_text("Memo is answering…")
    expect(status).to_have_text("Answer complete, 40 words.")


def test_the_palette_finds_actions_agents_memories_and_chats(visit: Visit) -> None:
    chat = visit().open().turns("The quay is deep.")
    keys = chat.page.keyboard
    palette = chat.page.get_by_role("dialog", name="Find a chat, a message or an action")
    keys.press("Control+KeyK")
    expect(palette.get_by_role("option").first).to_contain_text("The quay is deep.")
    find = palette.get_by_role("combobox")
    expect(find).to_be_focused()
    keys.type("archiv")
    expect(palette.get_by_role("option", selected=True)).to_contain_text("Archivist")
    keys.press("Enter")
    expect(chat.page.locator("#agent-name")).to_have_text("Archivist")
    keys.press("Control+KeyK")
    keys.type("quay")
    # As a chat, and as the message in it.
    expect(palette.get_by_role("option", name="The quay is deep.")).to_have_count(2)
    keys.press("Enter")
    expect(chat.users).to_have_count(1)
    chat.ready()
    keys.press("Control+KeyK")
    keys.type("everything")
    expect(palette.get_by_role("option", selected=True)).to_contain_text("Everything")
    keys.press("Enter")
    expect(chat.chip).to_have_text("Everything")
    keys.press("Control+KeyK")
    keys.type("nothing of this kind")
    expect(palette).to_contain_text("Nothing found.")
    keys.press("Escape")
    expect(palette).to_be_hidden()


def test_a_shortcut_can_be_changed_and_is_kept_and_reset(chat: Chat) -> None:
    keys = chat.page.keyboard
    dialog = chat.page.get_by_role("dialog", name="Keyboard shortcuts")
    keys.press("Control+Slash")
    change = dialog.get_by_role("button", name="Show or hide the debug panel")
    change.press("Enter")
    keys.press("Control+Shift+KeyO")
    expect(dialog).to_contain_text("These keys belong to “New chat”.")
    keys.press("KeyM")
    expect(dialog).to_contain_text("A shortcut needs Ctrl (⌘) or a function key.")
    keys.press("Control+Shift+KeyU")
    expect(change).to_contain_text("U")
    expect(change).to_be_focused()
    keys.press("Escape")
    expect(dialog).to_be_hidden()
    chat.reload()
    keys.press("Control+Shift+KeyU")
    expect(chat.panel).to_be_visible()
    keys.press("Control+Slash")
    dialog.get_by_role("button", name="Reset all").click()
    keys.press("Escape")
    keys.press("Control+Period")
    expect(chat.panel).to_be_hidden()


def test_the_sidebar_shows_the_keys_and_the_last_answer_is_copied(visit: Visit) -> None:
    chat = visit(permissions=["clipboard-read", "clipboard-write"]).open()
    expect(chat.page.locator("#new")).to_contain_text("Ctrl Shift O")
    chat.say("Say it. [[text=This is it.]]")
    chat.page.keyboard.press("Control+Shift+Quote")
    expect(chat.page.locator("#status")).to_have_text("Copied.")
    assert chat.page.evaluate("navigator.clipboard.readText()") == "This is it."


def test_keys_that_somebody_chose_outlast_a_change_of_the_usual_ones(visit: Visit) -> None:
    chat = visit(permissions=["clipboard-read", "clipboard-write"]).open()
    chat.say("Say it. [[text=This is it.]]")
    keys = {"shift": True, "control": True}
    store = "(chosen) => localStorage.setItem('chatsite:keys', chosen)"
    chat.page.evaluate(store, json.dumps({"answer": keys | {"code": "KeyC"}}))
    chat.reload().page.keyboard.press("Control+Shift+KeyC")
    expect(chat.page.locator("#status")).to_have_text("Copied.")
    chat.page.evaluate(store, json.dumps({"panel": keys | {"code": "Quote"}}))
    chat.reload().page.keyboard.press("Control+Shift+Quote")
    expect(chat.panel).to_be_visible()
    chat.page.keyboard.press("Control+Slash")
    dialog = chat.page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog.get_by_role("button", name="Copy the last answer: no keys")).to_be_visible()
    dialog.get_by_role("button", name="Reset all").click()
    expect(dialog.get_by_role("button", name="Copy the last answer: Ctrl Shift '")).to_be_visible()


def focused(page: Page) -> str:
    """The name of what has the focus; a message's is its own text."""
    name: str = page.evaluate(FOCUSED)
    return name


def walk_to(page: Page, name: str, *, key: str = "Tab") -> None:
    """Presses the key until the focus is at what has a name that begins like this."""
    for _ in range(60):
        if focused(page).startswith(name):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{name} isn't reached, the focus is at {focused(page)!r}")


def test_an_older_message_is_edited_and_the_answers_are_compared_by_keys(chat: Chat) -> None:
    chat.turns("How deep is the quay?", "And the bar?")
    keys = chat.page.keyboard
    walk_to(chat.page, "Copy", key="Shift+Tab")
    while chat.page.evaluate("document.activeElement.closest('article').dataset.seq") != "2":
        keys.press("Shift+Tab")
    walk_to(chat.page, "Edit", key="ArrowRight")
    keys.press("Enter")
    expect(chat.page.get_by_role("textbox", name="The message's text")).to_be_focused()
    keys.press("Control+a")
    keys.type("How deep is the quay at low water?")
    keys.press("Control+Enter")
    expect(chat.users.locator(".body")).to_have_text(["How deep is the quay at low water?"])
    expect(chat.draft).to_be_focused()
    expect(chat.receipt_buttons).to_have_count(1)
    walk_to(chat.page, "Earlier version", key="Shift+Tab")
    keys.press("Enter")
    expect(chat.users).to_have_count(2)
    assert focused(chat.page) == "Later version"


def test_what_was_forgotten_is_explained_and_pinned_by_keys(visit: Visit) -> None:
    chat = visit().open("/chat?historyPolicy=lastN&historyLength=1")
    chat.turns("My cat is called Miso.", "And my dog is called Rex.", "What is new?")
    expect(chat.horizon).to_be_visible()  # it comes with the preview
    keys = chat.page.keyboard
    keys.press("Control+Shift+ArrowUp")
    expect(chat.horizon).to_be_focused()
    while chat.page.evaluate("document.activeElement.closest('article')?.dataset.seq") != "2":
        keys.press("Shift+Tab")
    walk_to(chat.page, "Why did it forget?", key="ArrowRight")
    keys.press("Enter")
    window = chat.page.get_by_role("dialog", name="Why did it forget?")
    expect(window).to_contain_text("It dropped out of the context at turn 2")
    walk_to(chat.page, "Pin it")
    keys.press("Enter")
    expect(window).to_be_hidden()
    expect(chat.users.first.locator(".mark")).to_contain_text("Still sent: its turn is pinned")
    expect(chat.horizon).to_contain_text("0 of 3 exchanges + 1 pinned are sent")


def test_an_answer_is_tried_again_with_another_memory_by_keys(chat: Chat) -> None:
    chat.turns("How deep is the quay?")
    keys = chat.page.keyboard
    walk_to(chat.page, "Copy", key="Shift+Tab")
    walk_to(chat.page, "Answer with another model or memory", key="ArrowRight")
    keys.press("Enter")
    expect(chat.popover.get_by_role("button", name="Only your new message")).to_be_visible()
    walk_to(chat.page, "Only your new message")
    keys.press("Enter")
    expect(chat.page.get_by_role("button", name="Earlier version")).to_be_enabled()
    expect(chat.writing).to_have_count(0)
    assert chat.page.evaluate("document.activeElement.closest('article') !== null")


def test_a_message_is_deleted_and_comes_back_by_keys(chat: Chat) -> None:
    chat.turns("How deep is the quay?")
    keys = chat.page.keyboard
    walk_to(chat.page, "Copy", key="Shift+Tab")
    walk_to(chat.page, "More", key="ArrowRight")
    keys.press("Enter")
    walk_to(chat.page, "Delete")
    keys.press("Enter")
    expect(chat.receipt_buttons).to_have_count(0)
    walk_to(chat.page, "Undo")
    keys.press("Enter")
    expect(chat.receipt_buttons).to_have_count(1)
    expect(chat.draft).to_be_focused()


def test_who_sends_or_chooses_a_temporary_chat_with_the_pointer_goes_on_writing(
    chat: Chat,
) -> None:
    chat.page.get_by_role("button", name="Temporary").click()
    chat.page.keyboard.type("What is it?")
    expect(chat.draft).to_have_value("What is it?")
    expect(chat.page.locator("#temporary")).to_have_attribute("aria-pressed", "true")
    chat.send_button.click()
    chat.page.keyboard.type("And now?")
    expect(chat.draft).to_have_value("And now?")
    expect(chat.receipt_buttons).to_have_count(1)
