"""A guest's first visit, and what the page says about its end."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.watch import Watch, failed_request
from tests.running import Server

pytestmark = pytest.mark.browser
SENTENCE = "Conversations of guests are deleted after 30 days without a visit."


@pytest.fixture(scope="module")
def server(locked: Server) -> Server:
    return locked


def test_a_first_visit_gets_a_session_before_its_socket_and_the_next_one_has_it(
    visit: Visit,
) -> None:
    chat = visit()
    asked: list[str] = []
    chat.page.on("request", lambda request: asked.append(f"{request.method} {request.url}"))
    chat.open()
    chat.turns("Hello")
    assert len([one for one in asked if one.startswith("POST") and "/session" in one]) == 1
    chat.reload()
    expect(chat.conversations).to_have_text(["Hello"])
    assert len([one for one in asked if one.startswith("POST") and "/session" in one]) == 1


def test_a_guest_reads_when_conversations_end_beside_the_export(visit: Visit) -> None:
    chat = visit().open()
    chat.page.locator("#me-open").click()
    expect(chat.popover).to_contain_text(SENTENCE)
    chat.page.goto("/accounts/")
    expect(chat.page.get_by_text(SENTENCE)).to_be_visible()
    expect(chat.page.get_by_role("link", name="Download everything")).to_be_visible()


def test_without_cookies_the_page_says_that_it_needs_one(visit: Visit, watch: Watch) -> None:
    chat = visit()
    watch.allow(failed_request(403))
    chat.page.route(
        "**/*",
        lambda route: route.continue_(
            headers={k: v for k, v in route.request.headers.items() if k != "cookie"}
        ),
    )
    chat.page.add_init_script(
        "Object.defineProperty(document, 'cookie', { get: () => '', set: () => {} });"
    )
    chat.page.goto("/chat")
    expect(chat.toasts).to_contain_text("This page needs a cookie to know you again.")
