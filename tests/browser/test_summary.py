"""The running summary at the horizon: read, edited, brought back, switched off and on."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit, provider_environment
from tests.browser.test_accessibility import violations_in_every_look
from tests.browser.watch import Watch, failed_request
from tests.fakes.mailing import until
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

pytestmark = pytest.mark.browser
LONG = "They talked about the walk along the coast in May, day by day. " * 12
NOTES = "The user plans a walk in May and has 90 euros a day."


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    environment = {"HISTORY_POLICY": "summary", "HISTORY_TOKENS": "700"}
    folder = tmp_path_factory.mktemp("summary")
    with Server(folder, **provider_environment(fake, **environment)) as running:
        yield running
        running.kill()


def open_summary(chat: Chat) -> Locator:
    chat.horizon.locator(".summary-open").click()
    return chat.page.get_by_role("dialog")


def test_the_summary_is_read_edited_brought_back_and_switched_off(
    visit: Visit, fake: FakeOpenAI, watch: Watch
) -> None:
    watch.allow(failed_request(400))
    chat = visit().open()
    for number in range(3):
        fake.script.extend([LONG, NOTES] if number else [LONG])
        chat.say(f"Question {number}?")
        until(lambda: not fake.script)  # the summary is requested after the answer
    button = chat.horizon.locator(".summary-open")
    expect(button).to_contain_text("Summary of earlier messages, by")
    other = chat.tab()
    dialog = open_summary(chat)
    text = dialog.get_by_label("What the model reads")
    expect(text).to_have_value(NOTES)
    expect(dialog).to_contain_text(re.compile(r"Covers \d exchanges?,"))

    text.fill("word " * 11_000)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Your text is kept; shorten it.")
    assert violations_in_every_look(chat.page) == []
    expect(text).not_to_have_value(NOTES)
    text.fill("Ada walks in May.")
    chat.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    dialog = open_summary(chat)
    expect(text).to_have_value("Ada walks in May.")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    for tab in (chat, other):
        expect(tab.horizon.locator(".summary-open")).to_contain_text("by you")

    dialog = open_summary(chat)
    dialog.get_by_text("2 older versions").click()
    expect(dialog.locator(".summary-words").first).to_have_text(NOTES)
    assert violations_in_every_look(chat.page) == [], "with the older versions"
    dialog.get_by_role("button", name="Restore version 2").click()
    expect(text).to_have_value(NOTES)
    with chat.page.expect_response("**/summary/switch"):
        dialog.get_by_role("switch").uncheck()
    dialog.get_by_role("button", name="Close").click()
    expect(button).to_contain_text("switched off")
    with chat.page.expect_response("**/summary/switch"):
        open_summary(chat).get_by_role("switch").check()
    chat.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(button).not_to_contain_text("switched off")
    expect(chat.horizon).to_contain_text("and a summary are sent")
    fake.script.append("A last answer.")
    chat.say("And on the last day?")
    # Other tests use the same fake provider, but only this one sends this question.
    requests = [request["messages"] for request in fake.requests]
    sent = next(m for m in requests if m[-1]["content"] == "And on the last day?")
    assert NOTES in str(sent)
