"""The page of one's own account: reached from the chat, readable in light, dark and narrow."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Literal
from zipfile import ZipFile

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.chat import Chat
from tests.browser.conftest import WIDE, Visit
from tests.browser.test_accessibility import violations
from tests.browser.test_accounts import PASSWORD, sign_up
from tests.browser.watch import Watch, failed_request

pytestmark = pytest.mark.browser
NEW = "another-password-1852"
LOOKS: dict[str, tuple[Literal["light", "dark"], ViewportSize]] = {
    "light": ("light", WIDE),
    "dark": ("dark", WIDE),
    "narrow": ("light", {"width": 390, "height": 844}),
}


def open_account(chat: Chat, words: str) -> Page:
    chat.page.locator("#me-open").click()
    chat.popover.get_by_role("link", name=words).click()
    expect(chat.page.get_by_role("heading", name="Your data").first).to_be_visible()
    return chat.page


def test_everything_is_one_download(visit: Visit, tmp_path: Path) -> None:
    chat = visit().open()
    chat.say("A guest's words")
    page = open_account(chat, "Your data")
    expect(page.get_by_text("You are a guest")).to_be_visible()
    expect(page.get_by_role("link", name="Delete your account")).to_have_count(0)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download everything").click()
    download.value.save_as(tmp_path / "all.zip")
    with ZipFile(tmp_path / "all.zip") as archive:
        assert "conversations/00001 a-guests-words.chatsite.json" in archive.namelist()


def test_a_password_is_changed_and_an_account_deleted(visit: Visit, watch: Watch) -> None:
    chat = visit().open()
    sign_up(chat, f"ada-{secrets.token_hex(4)}")
    chat.say("Soon gone")
    address = chat.page.url
    page = open_account(chat, "Your account and data")
    page.get_by_role("link", name="Change your password").click()
    page.get_by_label("Old password").fill("a guess")
    page.get_by_label("New password", exact=True).fill(NEW)
    page.get_by_label("New password confirmation").fill(NEW)
    page.get_by_role("button", name="Change the password").click()
    expect(page.get_by_text("This isn't your password.")).to_be_visible()
    page.get_by_label("Old password").fill(PASSWORD)
    page.get_by_label("New password", exact=True).fill(NEW)
    page.get_by_label("New password confirmation").fill(NEW)
    page.get_by_role("button", name="Change the password").click()
    expect(page.get_by_role("status")).to_contain_text("Your password is changed.")
    page.get_by_role("link", name="Delete your account").click()
    expect(page.get_by_text("All your conversations")).to_be_visible()
    page.get_by_label("Password").fill(NEW)
    page.get_by_role("button", name="Delete my account").click()
    expect(page.get_by_role("status")).to_contain_text("Your account is deleted.")
    watch.allow(failed_request(404))
    page.goto(address)
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()


def test_the_pages_fit_and_can_be_read(visit: Visit) -> None:
    """`PICTURES_OF_ACCOUNT` names a folder for pictures of them."""
    chat = visit().open()
    sign_up(chat, f"ada-{secrets.token_hex(4)}")
    for name in ("", "password/", "delete/"):
        chat.page.goto(f"/accounts/{name}")
        for look, (scheme, size) in LOOKS.items():
            chat.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            chat.page.set_viewport_size(size)
            width = chat.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert width <= 0, "nothing is wider than the window"
            assert violations(chat.page) == [], f"{name} {look}"
            if folder := os.environ.get("PICTURES_OF_ACCOUNT"):
                said = name.strip("/") or "account"
                chat.page.screenshot(path=f"{folder}/{said}-{look}.png", full_page=True)
