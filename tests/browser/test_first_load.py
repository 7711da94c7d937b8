"""A first visit loads little, and what somebody opens is loaded then."""

from __future__ import annotations

import pytest
from playwright.sync_api import Request, Route, expect

from tests.browser.chat import answer
from tests.browser.conftest import Visit
from tests.browser.watch import OFFLINE, Watch

MOST_REQUESTS = 8
# English words stand in the scripts; others come with the page.
MOST_BYTES = {"en": 100_000, "de": 125_000, "fr": 125_000, "es": 125_000}


def received(request: Request) -> int:
    sizes = request.sizes()
    return sizes["responseBodySize"] + sizes["responseHeadersSize"]


@pytest.mark.parametrize("language", MOST_BYTES)
def test_a_first_visit_takes_few_requests_and_few_bytes(language: str, visit: Visit) -> None:
    """Everything is counted: page, styles, scripts, icon, JSON and the socket."""
    chat = visit(locale=language)
    requests: list[Request] = []
    sockets: list[str] = []
    chat.page.on("requestfinished", lambda request: requests.append(request))
    chat.page.on("websocket", lambda socket: sockets.append(socket.url))
    chat.open()
    chat.page.wait_for_load_state("networkidle")
    assert chat.page.locator("html").get_attribute("lang") == language
    assert len(requests) + len(sockets) <= MOST_REQUESTS, [one.url for one in requests]
    assert sum(map(received, requests)) <= MOST_BYTES[language]


def test_the_socket_is_opened_while_the_modules_are_loaded_and_is_the_only_one(
    visit: Visit,
) -> None:
    """A first visit's session comes before it."""
    chat = visit()
    held: list[Route] = []
    sockets: list[str] = []
    chat.page.on("websocket", lambda socket: sockets.append(socket.url))
    chat.page.route("**/built/chunk-*.js", lambda route: held.append(route))
    with chat.page.expect_websocket():
        chat.page.goto("/chat", wait_until="commit")
    for route in held:
        route.continue_()
    chat.page.unroute("**/built/chunk-*.js")
    chat.ready().say("hello")
    assert len(sockets) == 1


FORMATTER = "**/built/formatter-*.js"


def test_an_answer_stands_as_it_is_written_until_what_formats_it_is_loaded(visit: Visit) -> None:
    chat = visit().open()
    held: list[Route] = []
    chat.page.route(FORMATTER, lambda route: held.append(route))
    with chat.page.expect_request(FORMATTER):
        chat.draft.press_sequentially("H")
    first = "**Bold**<script>globalThis.ran=1</script> and"
    chat.begin(answer(f"{first} then more.", rate=3), shows=first)
    expect(chat.receipt_buttons).to_have_count(1)
    body = chat.answers.last.locator(".md")
    expect(body).to_have_text(f"{first} then more.")
    expect(body.locator("strong, script")).to_have_count(0)
    for route in held:
        route.continue_()
    expect(body.locator("strong")).to_have_text("Bold")
    expect(body).to_have_text("Bold<script>globalThis.ran=1</script> and then more.")
    assert chat.page.evaluate("globalThis.ran") is None


def test_a_greeting_is_the_same_whether_what_formats_it_is_loaded_or_not(visit: Visit) -> None:
    chat = visit().open()
    greeting = chat.page.locator("#col article.m .md").first
    drawn_first = greeting.inner_html()
    chat.say("hello")
    chat.page.get_by_role("link", name="New chat").click()
    expect(chat.users).to_have_count(0)
    assert greeting.inner_html() == drawn_first


def test_an_answer_that_cannot_be_formatted_is_whole_and_says_why(
    visit: Visit, watch: Watch
) -> None:
    watch.allow(OFFLINE)
    chat = visit().open()
    chat.page.route(FORMATTER, lambda route: route.abort())
    body = chat.say(answer("So **bold** as ever.")).locator(".md")
    expect(body).to_contain_text("what formats it couldn't be loaded. Reload the page")
    expect(body).to_contain_text("So **bold** as ever.")
    chat.page.unroute(FORMATTER)
    chat.reload()
    expect(chat.answers.last.locator("strong")).to_have_text("bold")


def test_a_conversation_gets_what_formats_it_with_the_page(visit: Visit) -> None:
    chat = visit().open()
    chat.say(answer("So **bold** as ever."))
    hint = chat.page.locator("link[rel=modulepreload][href*='/built/formatter-']")
    expect(hint).to_have_count(0)
    chat.reload()
    expect(hint).to_have_count(1)


def test_the_panel_is_loaded_when_it_is_opened_and_once(visit: Visit) -> None:
    chat = visit()
    loaded: list[str] = []
    chat.page.on("request", lambda request: loaded.append(request.url))
    chat.open().say("hello")
    assert not [url for url in loaded if "/built/panel-" in url]
    toggle = chat.page.locator("#panel-toggle")
    for _ in range(2):
        toggle.click()
        expect(chat.panel.locator("[data-section=facts]")).to_be_visible()
        toggle.click()
        expect(chat.panel).to_be_hidden()
    assert len([url for url in loaded if "/built/panel-" in url]) == 1


def test_a_part_that_cannot_be_loaded_says_what_to_do_and_keeps_the_draft(
    visit: Visit, watch: Watch
) -> None:
    watch.allow(OFFLINE)
    chat = visit().open()
    chat.page.route("**/built/panel-*.js", lambda route: route.abort())
    chat.draft.fill("What would a quay cost?")
    chat.page.locator("#panel-toggle").click()
    expect(chat.toasts).to_contain_text("Reload the page; what you typed is kept.")
    chat.page.unroute("**/built/panel-*.js")
    chat.reload()
    expect(chat.draft).to_have_value("What would a quay cost?")
    expect(chat.panel.locator("[data-section=facts]")).to_be_visible()
