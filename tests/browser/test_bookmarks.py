"""Bookmarks: set in a message's menu, listed beside the search, and the way back to the message."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.test_marks import choose

pytestmark = pytest.mark.browser


def test_a_bookmarked_message_is_listed_and_found_again_from_another_chat(chat: Chat) -> None:
    chat.turns("About whales", "About the berth at pier nine")
    button = chat.page.get_by_role("button", name="Bookmarks", exact=True)
    button.click()
    expect(chat.page.locator("#convs")).to_contain_text("No bookmarks yet.")
    choose(chat.users.last, "Bookmark")
    expect(chat.users.last.locator(".m-label")).to_have_text("bookmarked")
    hits = chat.page.locator(".hit")
    expect(hits.locator(".hit-text")).to_have_text(["About the berth at pier nine"])
    expect(chat.page.locator(".hit-title")).to_have_text(["About whales"])
    chat.page.locator("#new").click()
    expect(chat.users).to_have_count(0)
    hits.click()
    expect(chat.users).to_have_count(2)
    expect(chat.page.locator("article.m.user").last).to_be_focused()
    chat.reload()
    expect(chat.users.last.locator(".m-label")).to_have_text("bookmarked")
    choose(chat.users.last, "Remove the bookmark")
    expect(chat.users.last.locator(".m-label")).to_be_hidden()


def test_the_list_of_chats_comes_back_by_the_button_by_escape_and_by_searching(chat: Chat) -> None:
    chat.turns("About whales")
    button = chat.page.get_by_role("button", name="Bookmarks", exact=True)
    field = chat.page.locator("#find")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    button.click()
    expect(chat.conversations).to_have_text(["About whales"])
    button.click()
    field.press("Escape")
    expect(chat.conversations).to_have_text(["About whales"])
    button.click()
    field.fill("whales")
    expect(chat.page.locator(".hit mark").first).to_have_text("whales")
    expect(button).to_have_attribute("aria-pressed", "false")
