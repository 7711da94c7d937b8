"""Guests and accounts: nobody else finds what a person wrote."""

from __future__ import annotations

import secrets
import sqlite3
from contextlib import closing

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.browser.watch import Watch, failed_request
from tests.running import Server

pytestmark = pytest.mark.browser
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"
PASSWORD = secrets.token_urlsafe(12)


def sign_up(chat: Chat, name: str, *, at: Server | None = None) -> None:
    chat.page.goto(f"{at.url if at else ''}/accounts/signup/")
    fill_in(chat, name)


def fill_in(chat: Chat, name: str) -> None:
    """The open form for an account."""
    chat.page.get_by_label("Username").fill(name)
    chat.page.get_by_label("Password", exact=True).fill(PASSWORD)
    chat.page.get_by_label("Password confirmation").fill(PASSWORD)
    chat.page.get_by_role("button", name="Create an account").click()
    chat.ready()


def test_what_a_guest_wrote_moves_to_the_account_at_sign_up_and_sign_in(visit: Visit) -> None:
    name = f"ada-{secrets.token_hex(4)}"
    chat = visit().open()
    chat.say("Written as a guest.")
    sign_up(chat, name)
    expect(chat.page.locator("#me-open")).to_have_text(f"{name} · 1 conversation")
    expect(chat.conversations).to_have_text(["Written as a guest."])

    elsewhere = visit().open()
    elsewhere.say("Written in another browser.")
    address = elsewhere.page.url
    elsewhere.page.locator("#me-open").click()
    elsewhere.popover.get_by_role("link", name="Sign in").click()
    elsewhere.page.get_by_label("Username").fill(name)
    elsewhere.page.get_by_label("Password").fill(PASSWORD)
    elsewhere.page.get_by_role("button", name="Sign in").click()
    elsewhere.ready()
    assert elsewhere.page.url == address
    expect(elsewhere.users).to_have_count(1)
    expect(elsewhere.conversations).to_have_text(
        ["Written in another browser.", "Written as a guest."]
    )
    elsewhere.page.locator("#me-open").click()
    elsewhere.popover.get_by_role("button", name="Sign out").click()
    expect(elsewhere.page.locator("#me-open")).to_have_text("Guest")
    expect(elsewhere.conversations).to_have_count(0)


def test_another_person_finds_nothing_at_the_address(visit: Visit, watch: Watch) -> None:
    chat = visit().open()
    chat.say("This is between us.")
    stranger = visit().open()
    watch.allow(failed_request(404))
    answer = stranger.page.goto(chat.page.url)
    assert answer is not None
    assert answer.status == 404
    expect(stranger.page.get_by_role("heading")).to_be_visible()
    theirs, unknown = (stranger.ask("GET", f"/chat/{one}") for one in (chat.id, UNKNOWN_ID))
    assert theirs.status == unknown.status == 404
    assert theirs.text() == unknown.text()
    assert stranger.ask("GET", f"/conversations/{chat.id}/export").status == 404


def test_the_next_person_in_the_tab_finds_no_draft_of_the_account(visit: Visit) -> None:
    chat = visit().open()
    chat.write("Begun as a guest")
    sign_up(chat, f"ada-{secrets.token_hex(4)}")
    chat.open()
    chat.write("Nobody else's business")
    chat.page.locator("#me-open").click()
    chat.popover.get_by_role("button", name="Sign out").click()
    expect(chat.page.locator("#me-open")).to_have_text("Guest")
    chat.ready()
    expect(chat.page.get_by_role("textbox", name="Message")).to_have_value("")
    storage = chat.page.evaluate("() => JSON.stringify({...sessionStorage})")
    assert "Nobody else's business" not in storage


def elsewhere(server: Server, name: str, right: str, *, value: bool) -> None:
    """Another process changes an account."""
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3", timeout=30)) as database:
        database.execute(f"UPDATE auth_user SET {right} = ? WHERE username = ?", (value, name))
        database.commit()


def test_the_page_says_that_the_account_was_ended(
    visit: Visit, server: Server, watch: Watch
) -> None:
    watch.allow(failed_request(404))
    chat = visit().open()
    sign_up(chat, name := f"ada-{secrets.token_hex(4)}")
    chat.say("Before the end")
    address = chat.page.url
    elsewhere(server, name, "is_active", value=False)
    said = chat.page.locator(".form-errors")
    expect(said).to_contain_text("You were signed out here: your password or your rights were")
    elsewhere(server, name, "is_active", value=True)
    chat.page.get_by_label("Username").fill(name)
    chat.page.get_by_label("Password").fill(PASSWORD)
    chat.page.get_by_role("button", name="Sign in").click()
    chat.ready()
    assert chat.page.url == address
    expect(chat.users).to_contain_text(["Before the end"])


def test_who_is_still_signed_in_goes_on_with_the_new_rights(visit: Visit, server: Server) -> None:
    chat = visit().open()
    sign_up(chat, name := f"ada-{secrets.token_hex(4)}")
    chat.say("As anybody")
    address = chat.page.url
    elsewhere(server, name, "is_staff", value=True)
    expect(chat.toasts).to_contain_text("You are still signed in here.")
    assert chat.page.url == address
    expect(chat.users).to_contain_text(["As anybody"])
