"""Bringing chats along from ChatGPT, in the page: the report, and the chat with its versions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.browser.test_importing import line_of
from tests.browser.test_keyboard import focused, walk_to
from tests.browser.test_sidebar import restore
from tests.browser.watch import Watch, failed_request
from tests.conversations.imports.exports import many, tides, tides_zip

pytestmark = pytest.mark.browser


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_zip_of_chatgpt_brings_a_branch_and_a_picture_along(visit: Visit, tmp_path: Path) -> None:
    chat = visit().open()
    restore(chat, write(tmp_path / "chatgpt.zip", tides_zip()))
    report = chat.page.get_by_role("dialog", name="Chats from ChatGPT")
    expect(report).to_contain_text("1 chat, 5 messages and 1 file came along.", timeout=30_000)
    expect(report).to_contain_text("The model would see all 4 messages in “Tides” now.")
    expect(report.get_by_role("listitem").last).to_contain_text("user.json")
    expect(chat.conversations).to_have_text(["Tides"])
    report.get_by_role("button", name="Open this chat").click()
    expect(report).to_be_hidden()
    answer = chat.page.get_by_role("article").filter(has_text="At noon, twice.")
    expect(answer).to_contain_text("2 / 2")
    expect(chat.page.get_by_role("img", name="map.png")).to_be_visible()


def test_the_report_is_there_until_it_is_closed(visit: Visit, tmp_path: Path) -> None:
    chat = visit().open()
    file = write(tmp_path / "two.json", json.dumps([tides("1", "One"), tides("2", "Two")]).encode())
    restore(chat, file)
    report = chat.page.get_by_role("dialog", name="Chats from ChatGPT")
    expect(report).to_be_visible(timeout=30_000)
    report.get_by_role("button", name="Close").click()
    chat.reload()
    expect(line_of(chat)).to_contain_text("Imported 2 chats from ChatGPT")
    expect(report).to_be_hidden()
    line_of(chat).get_by_role("button", name="Report").click()
    expect(report).to_contain_text("Files that aren't in the export")
    report.get_by_role("button", name="Close").click()
    line_of(chat).get_by_role("button", name="Close").click()
    expect(line_of(chat)).to_be_hidden()
    chat.reload()
    expect(chat.conversations).to_have_count(2)
    expect(line_of(chat)).to_be_hidden()
    restore(chat, file)
    expect(chat.page.get_by_role("dialog")).to_contain_text("Chats that are here already: 2")


def test_many_chats_show_how_far_they_are_and_come_together(visit: Visit, tmp_path: Path) -> None:
    chat = visit().open()
    restore(chat, write(tmp_path / "many.json", many(150, 40)))
    expect(line_of(chat)).to_contain_text(" of 150 chats · ", timeout=30_000)
    expect(chat.conversations).to_have_count(0)
    line_of(chat).get_by_role("button", name="Cancel").click()
    expect(chat.toasts).to_contain_text("Cancelled. Nothing was imported.", timeout=30_000)
    expect(line_of(chat)).to_be_hidden()
    expect(chat.conversations).to_have_count(0)


def test_a_file_that_holds_no_chats_is_refused_with_what_is_allowed(
    visit: Visit, watch: Watch, tmp_path: Path
) -> None:
    watch.allow(failed_request(400))
    chat: Chat = visit().open()
    restore(chat, write(tmp_path / "other.json", b'{"hello": "world"}'))
    expect(chat.toasts).to_contain_text("holds no chats of ChatGPT, Claude, Open WebUI")
    expect(line_of(chat)).to_be_hidden()


def test_an_export_is_brought_along_by_keys_alone(chat: Chat, tmp_path: Path) -> None:
    page, keys = chat.page, chat.page.keyboard
    file = tmp_path / "one.json"
    file.write_text(json.dumps([tides("1", "One")]))
    page.locator("#me-open").press("Enter")
    walk_to(page, "Import chats")
    with page.expect_file_chooser() as chooser:
        keys.press("Enter")
    chooser.value.set_files(file)
    report = page.get_by_role("dialog", name="Chats from ChatGPT")
    expect(report).to_be_visible(timeout=30_000)
    assert focused(page) in ("Open this chat", "Close")
    keys.press("Escape")
    expect(report).to_be_hidden()
    walk_to(page, "Report")
    keys.press("Enter")
    expect(report).to_be_visible()
    walk_to(page, "Open this chat")
    keys.press("Enter")
    expect(report).to_be_hidden()
    expect(chat.users.first).to_be_visible()
