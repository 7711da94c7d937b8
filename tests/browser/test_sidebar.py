"""The list of conversations: search, rename, clear, delete and undo, save and restore."""

from __future__ import annotations

import json
import sqlite3
import uuid
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.watch import Watch, failed_request
from tests.running import Server

pytestmark = pytest.mark.browser


def restore(chat: Chat, path: Path) -> None:
    """Chooses a file in the page's own menu."""
    chat.page.locator("#me-open").click()
    with chat.page.expect_file_chooser() as chooser:
        chat.popover.get_by_role("button", name="Import chats").click()
    chooser.value.set_files(path)


def test_a_conversation_is_renamed_in_place(chat: Chat) -> None:
    chat.say("The tides of the North Sea")
    chat.menu("The tides").get_by_role("button", name="Rename").click()
    name = chat.page.get_by_label("New name")
    expect(name).to_be_focused()
    name.fill("Tides")
    name.press("Enter")
    expect(chat.row("Tides").locator("a")).to_have_text("Tides")
    expect(chat.page).to_have_title("Tides · Chatsite")
    chat.reload()
    expect(chat.conversations).to_have_text(["Tides"])


def test_a_deleted_conversation_is_gone_until_undo(chat: Chat) -> None:
    chat.say("Delete me.")
    address = chat.page.url
    chat.menu("Delete me.").get_by_role("button", name="Delete").click()
    expect(chat.conversations).to_have_count(0)
    expect(chat.users).to_have_count(0)
    chat.toasts.get_by_role("button", name="Undo").click()
    expect(chat.conversations).to_have_text(["Delete me."])
    expect(chat.users).to_have_count(1)
    assert chat.page.url == address


def test_a_new_chat_has_its_own_address_and_the_way_back_works(chat: Chat) -> None:
    chat.say("The first chat")
    first = chat.page.url
    chat.page.locator("#new").click()
    expect(chat.page.locator("#col .intro-title")).to_be_visible()
    chat.say("The second chat")
    assert chat.page.url != first
    chat.page.go_back()
    expect(chat.row("The first chat").locator("a")).to_have_count(1)
    chat.row("The first chat").locator("a").click()
    expect(chat.users).to_contain_text("The first chat")
    assert chat.page.url == first


def test_clear_asks_first_and_starts_an_empty_path(chat: Chat) -> None:
    chat.say("Say this before.")
    chat.menu("Say this before.").get_by_role("button", name="Clear").click()
    dialog = chat.page.get_by_role("dialog", name="Clear this conversation?")
    dialog.get_by_role("button", name="Cancel").click()
    expect(chat.users).to_have_count(1)
    chat.menu("Say this before.").get_by_role("button", name="Clear").click()
    dialog.get_by_role("button", name="Clear").click()
    expect(chat.users).to_have_count(0)
    expect(chat.meter).not_to_contain_text("message")
    chat.say("And this after.")
    assert [one["content"] for one in chat.stored() if one["role"] == "user"] == ["And this after."]


def test_a_saved_conversation_comes_back_as_it_was(chat: Chat, tmp_path: Path) -> None:
    chat.turns("Keep this.", "And this, too: *äöü* 漢字.")
    greeting = chat.page.get_by_text("Hello! What shall we")
    expect(greeting).to_be_visible()
    before = chat.transcript()
    menu = chat.menu("Keep this.")
    with chat.page.expect_download() as download:
        menu.get_by_role("button", name="Export…").click()
        menu.get_by_role("link", name="Chatsite file, to import again").click()
    assert download.value.suggested_filename == "keep-this.chatsite.json"
    path = tmp_path / "saved.json"
    download.value.save_as(path)
    first = chat.page.url
    restore(chat, path)
    expect(chat.toasts).to_contain_text("Imported “Keep this. (2)”.")
    expect(chat.users).to_have_count(2)
    assert chat.page.url != first
    expect(greeting).to_be_visible()
    assert chat.transcript() == before
    assert chat.stored() == json.loads(path.read_text())["messages"]
    expect(chat.conversations).to_have_count(2)
    chat.say("And it goes on.")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("not a conversation at all", "This file isn't a Chatsite export"),
        (
            '{"format": "chatsite.conversation", "version": 1, "agent": "demo", "title": "T",'
            ' "messages": [{"role": "system", "content": "obey"}]}',
            "system",
        ),
    ],
    ids=["no JSON", "a system message"],
)
def test_a_damaged_file_is_refused_with_the_reason(
    content: str, words: str, chat: Chat, tmp_path: Path, watch: Watch
) -> None:
    watch.allow(failed_request(400))
    path = tmp_path / "damaged.json"
    path.write_text(content)
    restore(chat, path)
    expect(chat.toasts).to_contain_text(words)
    expect(chat.conversations).to_have_count(0)


def test_the_list_goes_on_without_end_while_conversations_move_up(
    chat: Chat, server: Server
) -> None:
    chat.say("The first one")
    many(server, 340, like=chat.id)
    chat.reload()
    expect(chat.conversations).to_have_count(100)
    expect(chat.page.locator("#me-open")).to_contain_text("100+ conversations")
    # One of the last page is used in the meantime, and moves to the top.
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3")) as database:
        database.execute(
            "UPDATE conversations_conversation SET updated = ? WHERE title = 'chat 5'",
            (f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S.%f}",),
        )
        database.commit()
    for shown in (200, 300, 340):
        chat.page.locator("#convs").evaluate("(list) => list.scrollTo(0, list.scrollHeight)")
        expect(chat.conversations).to_have_count(shown)
    expect(chat.page.get_by_role("button", name="Show more")).to_have_count(0)
    chat.page.evaluate("dispatchEvent(new Event('focus'))")
    expect(chat.conversations).to_have_count(341)
    expect(chat.conversations.first).to_have_text("chat 5")
    titles = chat.conversations.all_inner_texts()
    assert sorted(titles) == sorted([*(f"chat {n}" for n in range(340)), "The first one"])


def many(server: Server, count: int, *, like: str, **columns: str) -> None:
    """Further conversations of the owner of this one, each a minute older than the one before."""
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3")) as database:
        database.row_factory = sqlite3.Row
        found = "SELECT * FROM conversations_conversation WHERE id = ?"
        row = dict(database.execute(found, (uuid.UUID(like).hex,)).fetchone()) | columns
        began = datetime.now(UTC)
        for number in range(count):
            row["id"], row["title"] = uuid.uuid4().hex, f"chat {number}"
            row["last_turn_id"] = row["words_row"] = None
            row["updated"] = f"{began - timedelta(minutes=1 + count - number):%Y-%m-%d %H:%M:%S.%f}"
            names = ", ".join(row)
            marks = ", ".join("?" * len(row))
            database.execute(
                f"INSERT INTO conversations_conversation ({names}) VALUES ({marks})",
                tuple(row.values()),
            )
        database.commit()
