"""The sidebar with a month of work: pins, folders, the archive, several at once, each with undo."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.test_sidebar import many
from tests.running import Server

pytestmark = pytest.mark.browser
NAMES = ["Tides", "Quays", "Anchors", "Bollards"]


def with_chats(chat: Chat, *names: str) -> Chat:
    """A person with these chats, the last one the newest."""
    for name in names:
        chat.page.locator("#new").click()
        chat.say(name)
    expect(chat.conversations).to_have_text([*reversed(names)])
    return chat


def group(chat: Chat, name: str) -> Locator:
    return chat.page.locator("#convs").get_by_role("region", name=name, exact=True)


def fold(chat: Chat, name: str) -> Locator:
    return group(chat, name).get_by_role("button", expanded=None, name=re.compile(f"^{name}"))


def foot(chat: Chat, name: str) -> Locator:
    return chat.page.locator(".convs-foot").get_by_role("button", name=name, exact=True)


def undo(chat: Chat) -> None:
    chat.toasts.get_by_role("button", name="Undo").click()


def rows(place: Locator) -> Locator:
    return place.locator(".conv-row")


def focus_row(chat: Chat, name: str) -> None:
    chat.row(name).locator("a").focus()


def test_a_chat_is_dragged_onto_a_folder_and_onto_the_pinned_ones(chat: Chat) -> None:
    with_chats(chat, *NAMES)
    menu = chat.menu("Tides")
    menu.get_by_role("button", name="Move to folder").click()
    menu.get_by_role("button", name="New folder…").click()
    menu.get_by_label("New folder").fill("Harbour")
    menu.get_by_role("button", name="Save").click()
    expect(chat.toasts).to_contain_text("Moved to “Harbour”.")
    expect(fold(chat, "Harbour")).to_have_text("Harbour1")
    chat.row("Quays").locator("a").drag_to(fold(chat, "Harbour"))
    expect(fold(chat, "Harbour")).to_have_text("Harbour2")
    expect(chat.conversations).to_have_text(["Bollards", "Anchors"])
    fold(chat, "Harbour").click()
    expect(rows(group(chat, "Harbour"))).to_have_text(["Quays", "Tides"])
    chat.reload()
    expect(rows(group(chat, "Harbour"))).to_have_text(["Quays", "Tides"])
    chat.row("Bollards").locator("a").drag_to(
        fold(chat, "Harbour"), target_position={"x": 20, "y": 10}
    )
    expect(rows(group(chat, "Harbour"))).to_have_text(["Bollards", "Quays", "Tides"])
    undo(chat)
    expect(rows(group(chat, "Harbour"))).to_have_text(["Quays", "Tides"])
    chat.row("Anchors").locator("a").drag_to(chat.page.locator(".drop-pin"), force=True)
    expect(rows(group(chat, "Pinned"))).to_have_text(["Anchors"])
    chat.row("Tides").locator("a").drag_to(group(chat, "Pinned"))
    expect(rows(group(chat, "Pinned"))).to_have_text(["Anchors", "Tides"])
    undo(chat)
    expect(rows(group(chat, "Harbour"))).to_have_text(["Quays", "Tides"])
    expect(rows(group(chat, "Pinned"))).to_have_text(["Anchors"])
    # A pin and a folder don't know of each other; only from the pinned ones to the list unpins.
    chat.row("Anchors").locator("a").drag_to(
        fold(chat, "Harbour"), target_position={"x": 20, "y": 10}
    )
    expect(chat.toasts).to_contain_text("Moved to “Harbour”.")
    expect(rows(group(chat, "Pinned"))).to_have_text(["Anchors"])
    chat.row("Anchors").locator("a").drag_to(chat.row("Bollards"))
    expect(group(chat, "Pinned")).to_be_hidden()
    expect(rows(group(chat, "Harbour"))).to_have_text(["Anchors", "Quays", "Tides"])


def test_the_open_chat_stays_in_sight_in_whatever_folder_it_goes_to(chat: Chat) -> None:
    with_chats(chat, "Tides", "Quays")
    menu = chat.menu("Quays")
    menu.get_by_role("button", name="Move to folder").click()
    menu.get_by_role("button", name="New folder…").click()
    menu.get_by_label("New folder").fill("Harbour")
    menu.get_by_role("button", name="Save").click()
    current = group(chat, "Harbour").locator("a[aria-current]")
    expect(current).to_have_text("Quays")
    fold(chat, "Harbour").click()
    expect(current).to_be_hidden()
    chat.reload()
    expect(current).to_have_text("Quays")
    chat.menu("Quays").get_by_role("button", name="Pin").click()
    expect(group(chat, "Pinned").locator("a[aria-current]")).to_have_text("Quays")
    fold(chat, "Harbour").click()
    chat.menu("Quays").get_by_role("button", name="Unpin").click()
    expect(current).to_have_text("Quays")


def test_by_keys_alone_a_chat_is_pinned_moved_archived_and_brought_back(chat: Chat) -> None:
    with_chats(chat, *NAMES)
    keys = chat.page.keyboard
    focus_row(chat, "Quays")
    keys.press("Shift+F10")
    expect(chat.popover.get_by_role("button", name="Rename")).to_be_focused()
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(rows(group(chat, "Pinned"))).to_have_text(["Quays"])
    expect(chat.row("Quays").locator("a")).to_be_focused()
    keys.press("Shift+F10")
    expect(chat.popover.get_by_role("button", name="Unpin")).to_be_visible()
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(chat.popover.get_by_role("button", name="New folder…")).to_be_focused()
    keys.press("Enter")
    keys.type("Harbour")
    keys.press("Enter")
    expect(fold(chat, "Harbour")).to_have_text("Harbour1")
    expect(rows(group(chat, "Pinned"))).to_have_text(["Quays"])
    focus_row(chat, "Quays")
    keys.press("Shift+F10")
    chat.popover.get_by_role("button", name="Unpin").press("Enter")
    expect(group(chat, "Pinned")).to_be_hidden()
    expect(fold(chat, "Harbour")).to_have_text("Harbour1")
    fold(chat, "Harbour").press("Enter")
    expect(rows(group(chat, "Harbour"))).to_have_text(["Quays"])
    keys.press("ArrowDown")
    expect(chat.row("Quays").locator("a")).to_be_focused()
    keys.press("Shift+F10")
    expect(chat.popover).to_be_visible()
    chat.popover.get_by_role("button", name="Archive").press("Enter")
    expect(group(chat, "Harbour")).to_have_count(0)
    expect(chat.page.locator("#convs :focus")).to_have_count(1)
    keys.press("Control+z")
    expect(rows(group(chat, "Harbour"))).to_have_text(["Quays"])


def test_three_are_selected_archived_and_brought_back(chat: Chat) -> None:
    with_chats(chat, *NAMES)
    chat.row("Bollards").locator("a").click(modifiers=["ControlOrMeta"])
    chat.row("Quays").locator("a").click(modifiers=["Shift"])
    expect(chat.page.locator(".convs-foot")).to_contain_text("3 selected")
    foot(chat, "Archive").click()
    expect(chat.toasts).to_contain_text("Archived 3 chats.")
    expect(chat.conversations).to_have_text(["Tides"])
    foot(chat, "Archived").click()
    expect(chat.conversations).to_have_text(["Bollards", "Anchors", "Quays"])
    foot(chat, "Back to the list").click()
    undo(chat)
    expect(chat.conversations).to_have_text([*reversed(NAMES)])
    foot(chat, "Archived").click()
    expect(chat.page.locator("#convs")).to_contain_text("Nothing is archived.")


def test_keys_select_and_delete_several_and_undo_opens_what_was_open(chat: Chat) -> None:
    with_chats(chat, *NAMES)
    address, keys = chat.page.url, chat.page.keyboard
    focus_row(chat, "Bollards")
    keys.press("Shift+ArrowDown")
    expect(chat.page.locator(".convs-foot")).to_contain_text("2 selected")
    keys.press("ArrowDown")
    keys.press(" ")
    expect(chat.page.locator(".convs-foot")).to_contain_text("3 selected")
    keys.press(" ")
    expect(chat.page.locator(".convs-foot")).to_contain_text("2 selected")
    keys.press("Shift+F10")
    expect(foot(chat, "Cancel")).to_be_focused()
    focus_row(chat, "Quays")
    keys.press("Delete")
    expect(chat.toasts).to_contain_text("Deleted 2 chats.")
    expect(chat.conversations).to_have_text(["Quays", "Tides"])
    expect(chat.users).to_have_count(0)
    undo(chat)
    expect(chat.conversations).to_have_text([*reversed(NAMES)])
    expect(chat.users).to_have_text(re.compile("Bollards"))
    assert chat.page.url == address


def test_a_folder_is_renamed_and_dissolved_with_undo(chat: Chat) -> None:
    with_chats(chat, *NAMES)
    foot(chat, "Select").click()
    for name in ("Tides", "Quays"):
        chat.row(name).locator("a").click()
    foot(chat, "Move").click()
    chat.popover.get_by_role("button", name="New folder…").click()
    chat.popover.get_by_label("New folder").fill("Harbour")
    chat.page.keyboard.press("Enter")
    expect(fold(chat, "Harbour")).to_have_text("Harbour2")
    for words, act in (
        ("Renamed the folder to “Port”.", "Rename"),
        ("Dissolved “Harbour”.", "Dissolve: its chats stay"),
    ):
        group(chat, "Harbour").hover()
        group(chat, "Harbour").get_by_role("button", name="More for Harbour").click()
        chat.popover.get_by_role("button", name=act).click()
        if act == "Rename":
            chat.popover.get_by_label("New name").fill("Port")
            chat.page.keyboard.press("Enter")
            expect(fold(chat, "Port")).to_have_text("Port2")
        else:
            expect(chat.conversations).to_have_count(4)
        expect(chat.toasts).to_contain_text(words)
        undo(chat)
        expect(fold(chat, "Harbour")).to_have_text("Harbour2")
        expect(chat.conversations).to_have_count(2)


def test_an_undo_waits_while_the_pointer_or_the_focus_is_on_it(chat: Chat) -> None:
    with_chats(chat, "Tides", "Quays")
    clock = chat.page.clock
    clock.install()
    chat.menu("Tides").get_by_role("button", name="Pin").click()
    clock.fast_forward(11_000)
    button = chat.toasts.get_by_role("button", name="Undo")
    button.hover()
    clock.fast_forward(60_000)
    expect(button).to_be_visible()
    button.focus()
    chat.page.mouse.move(5, 5)
    clock.fast_forward(60_000)
    expect(button).to_be_focused()
    chat.page.locator("#draft").focus()
    clock.fast_forward(13_000)
    expect(button).to_have_count(0)


def test_another_tab_follows(chat: Chat) -> None:
    with_chats(chat, *NAMES)
    other = chat.tab()
    expect(other.conversations).to_have_count(4)
    chat.menu("Tides").get_by_role("button", name="Archive").click()
    expect(chat.conversations).to_have_count(3)
    other.page.evaluate("dispatchEvent(new Event('focus'))")
    expect(other.conversations).to_have_count(3)


def test_a_folder_of_many_is_read_when_it_is_opened_and_page_by_page(
    chat: Chat, server: Server
) -> None:
    with_chats(chat, "Tides")
    many(server, 130, like=chat.id, folder="Harbour")
    many(server, 3, like=chat.id, pinned="2026-01-01 00:00:00")
    asked: list[str] = []
    chat.page.on("request", lambda request: asked.append(request.url))
    chat.reload()
    expect(fold(chat, "Harbour")).to_have_text("Harbour130")
    expect(chat.conversations).to_have_count(4)
    expect(chat.page.locator("#me-open")).to_contain_text("134 conversations")
    assert not [url for url in asked if "folder=" in url]
    fold(chat, "Harbour").click()
    expect(rows(group(chat, "Harbour"))).to_have_count(100)
    group(chat, "Harbour").get_by_role("button", name="Show more").click()
    expect(rows(group(chat, "Harbour"))).to_have_count(130)
