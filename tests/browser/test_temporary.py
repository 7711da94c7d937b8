"""A temporary chat in the page: by a button, a link, enforced; kept, and closed by leaving it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit, provider_environment
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

pytestmark = pytest.mark.browser
SAID = "Temporary: nothing of this chat is kept after you close it."


def line(chat: Chat) -> Locator:
    return chat.page.locator("#temporary-line")


def switch(chat: Chat) -> Locator:
    return chat.page.get_by_role("button", name="Temporary", exact=True)


def button(chat: Chat, name: str) -> Locator:
    return line(chat).get_by_role("button", name=name)


def stored_in_tab(chat: Chat) -> str:
    text: str = chat.page.evaluate(
        "JSON.stringify([{...sessionStorage}, {...localStorage}, history.state])"
    )
    return text


def count(chat: Chat) -> int:
    return int(chat.ask("GET", "/conversations").json()["count"])


def test_it_is_switched_on_survives_a_reload_and_is_gone_once_it_is_left(visit: Visit) -> None:
    chat = visit().open()
    expect(line(chat)).to_be_hidden()
    switch(chat).focus()
    chat.page.keyboard.press("Enter")
    expect(switch(chat)).to_have_attribute("aria-pressed", "true")
    expect(line(chat)).to_contain_text(SAID)
    assert "temporary-chat=true" in chat.page.url
    chat.draft.fill("My otter is called Zoltan")
    assert "Zoltan" not in stored_in_tab(chat)
    chat.draft.press("Enter")
    expect(chat.receipt_buttons).to_have_count(1)
    assert "Zoltan" not in stored_in_tab(chat)
    assert chat.page.title() == "Temporary chat · Chatsite"
    expect(switch(chat)).to_be_hidden()
    assert count(chat) == 0
    chat.reload()
    expect(chat.users).to_have_count(1)
    expect(line(chat)).to_contain_text(SAID)
    with chat.page.expect_response("**/close") as closed:
        chat.page.locator("#new").click()
    assert closed.value.status == 200
    expect(line(chat)).to_be_hidden()
    expect(chat.users).to_have_count(0)
    chat.page.go_back()
    expect(line(chat)).to_contain_text(SAID)  # another one, empty
    expect(chat.users).to_have_count(0)


def test_a_link_opens_one_and_it_can_be_kept_by_keyboard_alone(visit: Visit) -> None:
    for query in ("temporary=true", "temporary-chat=true"):
        chat = visit().open(f"/chat?{query}&q=Hello")
        expect(line(chat)).to_contain_text(SAID)
        expect(chat.page.locator("#link-line")).to_be_hidden()
        expect(chat.users).to_have_count(0)
    chat.say("Keep this one")
    button(chat, "Keep this chat").focus()
    chat.page.keyboard.press("Enter")
    expect(line(chat)).to_be_hidden()
    expect(chat.row("Keep this one")).to_be_visible()
    expect(chat.draft).to_be_focused()
    assert chat.id and "temporary" not in chat.page.url
    chat.page.locator("#new").click()
    expect(chat.row("Keep this one")).to_be_visible()


def test_closing_it_tells_another_tab(visit: Visit) -> None:
    chat = visit().open("/chat?temporary-chat=true")
    chat.say("Hello")
    id = chat.page.evaluate("sessionStorage['chatsite:new:demo']")
    other = Chat(chat.page.context.new_page()).open(f"/chat/{id}")
    expect(line(other)).to_contain_text(SAID)
    button(chat, "Close temporary chat").click()
    expect(other.banner).to_have_text("This temporary chat was closed. Nothing of it is kept.")
    expect(chat.users).to_have_count(0)
    expect(chat.draft).to_be_focused()


@pytest.fixture(scope="module")
def enforced(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    environment = provider_environment(fake, TEMPORARY_CHATS="always")
    with Server(tmp_path_factory.mktemp("enforced"), **environment) as running:
        yield running
        running.kill()


def test_the_administrator_can_enforce_it(visit: Visit, enforced: Server) -> None:
    chat = visit(base_url=enforced.url).open()
    expect(line(chat)).to_contain_text("The administrator has all chats here be temporary.")
    expect(switch(chat)).to_be_hidden()
    chat.page.locator("#me-open").click()
    expect(chat.page.get_by_role("button", name="Your instructions")).to_be_visible()
    expect(chat.page.get_by_role("button", name="Import chats")).to_have_count(0)
    chat.page.keyboard.press("Escape")
    chat.say("Hello")
    expect(button(chat, "Close temporary chat")).to_be_visible()
    expect(button(chat, "Keep this chat")).to_have_count(0)
    assert count(chat) == 0
    chat.reload()
    expect(chat.users).to_have_count(1)


def test_a_link_in_vain_says_so_and_sends_nothing(visit: Visit, locked: Server) -> None:
    chat = visit(base_url=locked.url).open("/chat?temporary-chat=true&q=Hello")
    expect(chat.page.locator("#link-line")).to_contain_text("That isn't allowed here")
    expect(line(chat)).to_be_hidden()
    expect(switch(chat)).to_be_hidden()
    expect(chat.draft).to_have_value("Hello")
    expect(chat.users).to_have_count(0)
