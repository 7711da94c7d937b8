"""Restoring a long conversation: it has its progress, and nobody else waits for it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit, provider_environment
from tests.browser.test_accessibility import violations
from tests.browser.test_sidebar import restore
from tests.browser.watch import Watch, failed_request
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

pytestmark = pytest.mark.browser
MESSAGES = 100_000


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A database of its own, whose rows are counted."""
    with Server(tmp_path_factory.mktemp("importing"), **provider_environment(fake)) as running:
        yield running
        running.kill()


@pytest.fixture(scope="module")
def long_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    said = [
        {"role": "assistant" if place % 2 else "user", "content": f"line {place} of the log"}
        for place in range(MESSAGES)
    ]
    whole = {"format": "chatsite.conversation", "version": 3, "agent": "demo"}
    path = tmp_path_factory.mktemp("files") / "log.json"
    path.write_text(json.dumps(whole | {"title": "The log", "messages": said}))
    return path


def line_of(chat: Chat) -> Locator:
    return chat.page.locator(".restoring")


def stored(server: Server) -> tuple[int, int]:
    """Conversations and messages in the database, hidden ones among them."""
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3")) as database:
        tables = ("conversations_conversation", "conversations_message")
        counts = [database.execute(f"SELECT COUNT(*) FROM {one}").fetchone()[0] for one in tables]
    return counts[0], counts[1]


def test_a_long_one_shows_how_far_it_is_while_others_chat(
    visit: Visit, server: Server, long_file: Path
) -> None:
    ada, bob = visit().open(), visit().open()
    restore(ada, long_file)
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
    assert stored(server)[1] < 20, "only what was said since"
    ada.reload()
    expect(ada.conversations).to_have_count(0)
    expect(line_of(ada)).to_be_hidden()


def test_it_appears_when_it_is_complete(visit: Visit, tmp_path: Path, long_file: Path) -> None:
    whole = json.loads(long_file.read_text())
    whole["messages"] = whole["messages"][:12_000]
    shorter = tmp_path / "shorter.json"
    shorter.write_text(json.dumps(whole))
    chat = visit().open()
    restore(chat, shorter)
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
