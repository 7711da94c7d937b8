"""In one browser, servers on one host and another project keep what is theirs."""

from __future__ import annotations

import secrets

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.browser.test_accounts import sign_up
from tests.running import Server

pytestmark = pytest.mark.browser
FOREIGN = {"sessionid": "f" * 32, "csrftoken": "F" * 32, "messages": "theirs"}


def add_cookies(chat: Chat, url: str, cookies: dict[str, str]) -> None:
    chat.page.context.add_cookies(
        [{"name": name, "value": value, "url": url} for name, value in cookies.items()]
    )


def cookies_of(chat: Chat) -> dict[str, str]:
    return {str(one.get("name")): str(one.get("value")) for one in chat.page.context.cookies()}


def test_a_guests_chat_and_an_account_outlast_a_visit_to_another_server_on_the_host(
    visit: Visit, server: Server, locked: Server
) -> None:
    chat = visit()
    add_cookies(chat, server.url, FOREIGN)
    chat.open()
    chat.turns("On the first")
    sign_up(chat, f"ada-{secrets.token_hex(4)}", at=locked)
    chat.turns("On the second")
    chat.page.goto(f"{server.url}/chat")
    expect(chat.conversations).to_have_text(["On the first"])
    chat.turns("Again on the first")
    chat.page.goto(f"{locked.url}/chat")
    expect(chat.conversations).to_have_text(["On the second"])
    assert FOREIGN.items() <= cookies_of(chat).items()


def test_a_guest_of_a_former_version_goes_on_in_the_open_page_and_after_a_reload(
    visit: Visit, server: Server
) -> None:
    chat = visit()
    chat.open()
    chat.turns("Before")
    own = cookies_of(chat)
    (token,) = [name for name in own if name.endswith("_csrf")]
    former = {"csrftoken": own.pop(token), "sessionid": own.popitem()[1]}
    chat.page.context.clear_cookies()
    add_cookies(chat, server.url, former)
    chat.reload()
    chat.turns("After")
    expect(chat.conversations).to_have_text(["Before"])
    assert former.items() <= cookies_of(chat).items() and len(cookies_of(chat)) == 4
