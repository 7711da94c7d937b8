"""A chat is handed on by a link: made, opened by a stranger, changed and taken back."""

from __future__ import annotations

import re
from secrets import token_hex
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.browser.test_accounts import fill_in, sign_up
from tests.browser.watch import Watch, failed_request

pytestmark = pytest.mark.browser
ADDRESS = re.compile(r"/shared/[A-Za-z0-9_-]{48}$")
# What the page forbids, the tests' own scripts that run in each page can't do either.
SANDBOXED = "sandboxed and the 'allow-scripts' permission is not set"


@pytest.fixture
def ada(visit: Visit) -> Chat:
    """Signed in, with a chat; the clipboard may be read."""
    chat = visit(permissions=["clipboard-read", "clipboard-write"]).open()
    sign_up(chat, f"ada-{token_hex(4)}")
    chat.say("How high is the **tide**?")
    return chat


def stranger(visit: Visit, watch: Watch, address: str, **options: Any) -> Page:
    """Somebody else's browser, without a cookie, at a link."""
    watch.allow(SANDBOXED)
    page = visit(**options).page
    page.goto(address)
    assert page.context.cookies() == []
    return page


def make(chat: Chat, title: str, *ticks: str) -> str:
    """Two clicks to the window, one for the link, which is copied at once."""
    dialog = chat.page.get_by_role("dialog", name="Share this chat")
    if not dialog.is_visible():
        chat.menu(title).get_by_role("button", name="Share or export…").click()
        chat.popover.get_by_role("button", name="Share…").click()
    for tick in ticks:
        dialog.get_by_label(tick).first.check()
    links = dialog.get_by_role("textbox", name="Link")
    before = links.count()
    dialog.get_by_role("button", name="Copy a new link").click()
    expect(links).to_have_count(before + 1)
    expect(links.first).to_have_value(ADDRESS)
    address = links.first.input_value()
    chat.page.wait_for_function(
        "async (address) => (await navigator.clipboard.readText()) === address", arg=address
    )
    return address


def test_a_link_is_made_in_three_clicks_read_by_a_stranger_and_taken_back(
    ada: Chat, visit: Visit, watch: Watch
) -> None:
    address = make(ada, "How high")
    page = stranger(visit, watch, address)
    expect(page.get_by_role("heading", name="How high is the")).to_be_visible()
    expect(page.locator("article.user strong")).to_have_text("tide")
    expect(page.get_by_text("Read only.")).to_be_visible()
    dialog = ada.page.get_by_role("dialog", name="Share this chat")
    dialog.get_by_role("button", name="Take back").click()
    sure = ada.page.get_by_role("dialog", name="Take this link back?")
    sure.get_by_role("button", name="Take back").click()
    expect(dialog.get_by_role("textbox", name="Link")).to_have_count(0)
    watch.allow(failed_request(404))
    page.reload()
    expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()


def test_what_follows_shows_the_next_answer_and_as_of_now_does_not(
    ada: Chat, visit: Visit, watch: Watch
) -> None:
    now, following = make(ada, "How high"), make(ada, "How high", "With what is added later")
    ada.page.get_by_role("dialog", name="Share this chat").get_by_role(
        "button", name="Close"
    ).click()
    pages = [stranger(visit, watch, address) for address in (now, following)]
    for page in pages:
        expect(page.locator("article.user")).to_have_count(1)
    ada.say("And when is it low?")
    for page, count in zip(pages, (1, 2), strict=True):
        page.reload()
        expect(page.locator("article.user")).to_have_count(count)


def test_the_head_says_until_when_a_chat_is_shared_and_opens_its_links(ada: Chat) -> None:
    mark = ada.page.locator(".shared-mark")
    expect(mark).to_have_text("Share")
    mark.click()
    dialog = ada.page.get_by_role("dialog", name="Share this chat")
    expect(dialog).to_be_visible()
    make(ada, "How high")
    dialog.get_by_role("button", name="Close").click()
    expect(mark).to_contain_text("Shared · until")
    before = mark.inner_text()
    ada.reload()
    expect(mark).to_have_text(before)
    mark.click()
    link = dialog.get_by_role("region", name="Link")
    link.get_by_text("Change").click()
    link.get_by_label("Attached files").check()
    expect(link.get_by_text("files · ends")).to_be_visible()
    link.get_by_label("Ends").select_option("in 90 days")
    expect(mark).not_to_have_text(before)
    dialog.get_by_role("button", name="Close").click()
    ada.page.locator("#new").click()
    expect(mark).to_be_hidden()


def test_a_link_is_made_and_taken_back_by_keyboard_alone(ada: Chat) -> None:
    keys = ada.page.keyboard
    keys.press("Control+k")
    ada.page.get_by_role("combobox").wait_for()
    keys.type("Share this chat")
    expect(ada.page.get_by_role("option", name="Share this chat")).to_be_visible()
    keys.press("Enter")
    dialog = ada.page.get_by_role("dialog", name="Share this chat")
    make_button = dialog.get_by_role("button", name="Copy a new link")
    expect(make_button).to_be_focused()
    keys.press("Enter")
    expect(dialog.get_by_role("textbox", name="Link")).to_have_count(1)
    # The button of the new link says for a while that it is copied.
    for name in ("Link", "Copied", "Change", "Take back"):
        keys.press("Tab")
        focused = ada.page.evaluate(
            "document.activeElement.ariaLabel ?? document.activeElement.innerText"
        )
        assert name in (focused, {"Copy": "Copied"}.get(focused))
    keys.press("Enter")
    sure = ada.page.get_by_role("dialog", name="Take this link back?")
    expect(sure).to_be_visible()
    keys.press("Tab")
    keys.press("Enter")
    expect(dialog.get_by_role("textbox", name="Link")).to_have_count(0)
    expect(make_button).to_be_focused()
    keys.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_guest_is_led_to_an_account_and_back_to_the_chat(visit: Visit) -> None:
    chat = visit(permissions=["clipboard-read", "clipboard-write"]).open()
    chat.say("A guest's words")
    chat.menu("A guest's words").get_by_role("button", name="Share or export…").click()
    chat.popover.get_by_role("button", name="Share…").click()
    dialog = chat.page.get_by_role("dialog", name="Share this chat")
    expect(dialog.get_by_text("Sign in to share a chat")).to_be_visible()
    expect(dialog.get_by_role("button", name="Copy a new link")).to_have_count(0)
    expect(dialog.get_by_role("link", name="Sign in")).to_be_visible()
    dialog.get_by_role("link", name="Create an account").click()
    fill_in(chat, f"ada-{token_hex(4)}")
    expect(chat.page).to_have_url(re.compile(f"/chat/{chat.id}$"))
    make(chat, "A guest's words")
    button = dialog.get_by_role("region", name="Link").get_by_role("button", name="Cop")
    expect(button).to_have_text("Copied")
