"""Restoring a long conversation: it has its progress, and nobody else waits for it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.browser.test_accessibility import violations
from tests.browser.test_sidebar import restore
from tests.browser.watch import Watch, failed_request
from tests.running import Server

pytestmark = pytest.mark.browser


def write_log(path: Path, messages: int) -> Path:
    said = [
        {"role": "assistant" if place % 2 else "user", "content": f"line {place} of the log"}
        for place in range(messages)
    ]
    whole = {"format": "chatsite.conversation", "version": 3, "agent": "demo"}
    path.write_text(json.dumps(whole | {"title": "The log", "messages": said}))
    return path


def line_of(chat: Chat) -> Locator:
    return chat.page.locator(".restoring")


def stored(server: Server) -> int:
    """Messages in the database, hidden ones among them."""
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3")) as database:
        found: int = database.execute("SELECT COUNT(*) FROM conversations_message").fetchone()[0]
    return found


@pytest.mark.thorough
def test_a_long_one_shows_how_far_it_is_while_others_chat(
    visit: Visit, server: Server, tmp_path: Path
) -> None:
    ada, bob = visit().open(), visit().open()
    before = stored(server)
    restore(ada, write_log(tmp_path / "log.json", 100_000))
    expect(line_of(ada)).to_contain_text("Importing “The log”: ")
    expect(line_of(ada)).to_contain_text(" of 100,000 messages")
    assert violations(ada.page) == []
    bob.turns("Hello", "And again")
    expect(bob.receipt_buttons).to_have_count(2)
    expect(ada.conversations).to_have_count(0)
    ada.reload()
    expect(line_of(ada)).to_contain_text(" of 100,000 messages")
    line_of(ada).get_by_role("button", name="Cancel").click()
    expect(line_of(ada)).to_be_hidden()
    expect(ada.toasts).to_contain_text("Cancelled. Nothing was imported.")
    assert stored(server) - before < 20, "only what was said since"
    ada.reload()
    expect(ada.conversations).to_have_count(0)
    expect(line_of(ada)).to_be_hidden()


def test_it_appears_when_it_is_complete(visit: Visit, tmp_path: Path) -> None:
    chat = visit().open()
    restore(chat, write_log(tmp_path / "log.json", 12_000))
    expect(line_of(chat)).to_contain_text(" of 12,000 messages")
    expect(chat.toasts).to_contain_text("Imported “The log”.", timeout=60_000)
    expect(line_of(chat)).to_be_hidden()
    expect(chat.conversations).to_have_text(["The log"])
    expect(chat.page.get_by_text("line 11999 of the log")).to_be_visible()


def test_what_is_wrong_with_a_large_file_is_said(
    visit: Visit, watch: Watch, tmp_path: Path
) -> None:
    whole = {"format": "chatsite.conversation", "version": 3, "agent": "demo", "title": "x"}
    said = [{"role": "nobody", "content": "x" * 400_000}]
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(whole | {"messages": said}))
    watch.allow(failed_request(400))
    chat = visit().open()
    restore(chat, broken)
    expect(chat.toasts).to_contain_text("messages.0.role")
    expect(chat.toasts).to_contain_text("Nothing was imported.")
