"""A whole chat on the clipboard: what the export gives, from the sidebar and the palette."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit
from tests.browser.watch import OFFLINE, Watch, failed_request
from tests.fakes.openai_server import FakeOpenAI

pytestmark = pytest.mark.browser
ALLOWED = {"permissions": ["clipboard-read", "clipboard-write"]}
QUESTION, ANSWER = "How deep is the quay?", "**Five** fathoms.\n\n- at high water"
REFUSES = """
navigator.clipboard.write = navigator.clipboard.writeText = async () => { throw new Error("no"); };
document.execCommand = () => false;
"""


def talk(chat: Chat, fake: FakeOpenAI) -> Chat:
    chat.open()
    fake.script.append(answer(ANSWER))
    return chat.turns(QUESTION)


def copied(chat: Chat) -> str:
    # Windows and some Linux desktops give other line ends back.
    text: str = chat.page.evaluate("navigator.clipboard.readText()")
    return text.replace("\r\n", "\n")


def exported(chat: Chat, form: str) -> str:
    return chat.ask("GET", f"/conversations/{chat.id}/export?format={form}").text()


def exports(chat: Chat) -> Locator:
    """Opens what the conversation's menu has behind its one item."""
    menu = chat.menu(QUESTION)
    menu.get_by_role("button", name="Export…").click()
    return menu


def test_the_sidebar_copies_what_the_export_gives(visit: Visit, fake: FakeOpenAI) -> None:
    chat = talk(visit(**ALLOWED), fake)
    exports(chat).get_by_role("button", name="Copy as Markdown").click()
    expect(chat.toasts).to_have_text("Copied as Markdown.")
    assert copied(chat) == exported(chat, "markdown")
    assert f"## You\n\n{QUESTION}\n\n## Memo\n\n{ANSWER}" in copied(chat)
    exports(chat).get_by_role("button", name="Copy as text").click()
    expect(chat.toasts).to_have_text("Copied as text.")
    assert copied(chat) == exported(chat, "text")


def test_the_palette_copies_the_open_chat_by_keys(visit: Visit, fake: FakeOpenAI) -> None:
    chat = visit(**ALLOWED).open()
    keys = chat.page.keyboard
    for words, told in (
        ("copy this chat as markdown", "There is nothing to copy yet."),
        ("copy this chat as markdown", "Copied as Markdown."),
        ("copy this chat as text", "Copied as text."),
    ):
        keys.press("Control+KeyK")
        expect(chat.page.get_by_role("combobox")).to_be_focused()
        keys.type(words)
        expect(chat.page.get_by_role("option")).to_have_count(1)
        keys.press("Enter")
        expect(chat.toasts).to_contain_text(told)
        if told.startswith("There"):
            fake.script.append(answer(ANSWER))
            chat.turns(QUESTION)
            continue
        assert copied(chat) == exported(chat, "markdown" if "Markdown" in told else "text")


def test_a_failure_is_told_and_the_clipboard_is_left_as_it_is(
    visit: Visit, fake: FakeOpenAI, watch: Watch
) -> None:
    watch.allow(OFFLINE, failed_request(404))
    chat = talk(visit(**ALLOWED), fake)
    chat.page.evaluate("navigator.clipboard.writeText('what was there')")
    chat.page.route("**/export?format=*", lambda route: route.abort())
    exports(chat).get_by_role("button", name="Copy as text").click()
    expect(chat.toasts).to_contain_text("The server can't be reached.")
    chat.page.unroute("**/export?format=*")
    gone = {"status": 404, "json": {"message": "There is no such conversation."}}
    chat.page.route("**/export?format=*", lambda route: route.fulfill(**gone))
    exports(chat).get_by_role("button", name="Copy as text").click()
    expect(chat.toasts).to_contain_text("There is no such conversation.")
    assert copied(chat) == "what was there"


def test_a_browser_that_refuses_leads_to_the_export(visit: Visit, fake: FakeOpenAI) -> None:
    chat = visit()
    chat.page.add_init_script(REFUSES)
    exports(talk(chat, fake)).get_by_role("button", name="Copy as Markdown").click()
    expect(chat.toasts).to_have_text("Copying isn't allowed here. Export the chat instead.")
