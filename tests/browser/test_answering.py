"""A person asks, an agent answers."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit
from tests.fakes.openai_server import FakeOpenAI

pytestmark = pytest.mark.browser
CODE = (
    "Here is **the function**:\n\n```python\ndef add(a, b):\n    return a + b\n```\n\nThat is all."
)


def test_a_person_picks_an_agent_and_gets_an_answer(visit: Visit, fake: FakeOpenAI) -> None:
    chat = visit().open("/")
    chat.page.locator("#agent-open").click()
    chat.popover.get_by_role("link", name="Archivist").click()
    expect(chat.page.locator("#agent-name")).to_have_text("Archivist")
    expect(chat.chip).to_have_text("Everything")
    fake.script.append("Noted: the meeting moved to Thursday.")
    expect(chat.say("Ada moved the meeting.").locator(".body")).to_have_text(
        "Noted: the meeting moved to Thursday."
    )
    expect(chat.page).to_have_title("Ada moved the meeting. · Chatsite")
    expect(chat.row("Ada moved the meeting.")).to_have_count(1)
    assert [role for role, _ in chat.transcript()] == ["assistant", "user", "assistant"]


def test_a_suggestion_is_put_into_the_box_for_the_person_to_send(chat: Chat) -> None:
    words = "Which city is the capital of Japan?"
    chat.page.get_by_role("button", name=words).click()
    expect(chat.draft).to_have_value(words)
    expect(chat.draft).to_be_focused()


def test_markdown_is_rendered_while_it_is_written(chat: Chat) -> None:
    chat.begin(answer(CODE, rate=8), shows="def add")
    expect(chat.writing.locator(".body strong")).to_have_text("the function")
    expect(chat.writing.locator(".code code")).to_contain_text("def add(a, b):")
    expect(chat.receipt_buttons).to_have_count(1)
    expect(chat.answers.last.locator(".body .md p").last).to_have_text("That is all.")


# What an answer being written holds whenever it changes: its text, and the elements made of it.
PIECES = """() => {
  globalThis.pieces = [];
  const note = () => {
    const words = document.querySelector("#col article.m.writing .md");
    const text = words?.textContent.trim();
    if (text) pieces.push([text, words.querySelectorAll("strong, script").length]);
  };
  new MutationObserver(note).observe(document.getElementById("col"),
    { subtree: true, childList: true, characterData: true });
}"""


def test_the_first_words_are_there_as_they_were_written_and_then_formatted(chat: Chat) -> None:
    """Whatever the first piece holds is a text, until a frame makes of it what it means."""
    first = "**Bold**<script>globalThis.ran=1</script>"
    chat.say("What formats it is loaded with this.")
    chat.page.evaluate(PIECES)
    body = chat.say(answer(f"{first} and more.", rate=8)).locator(".md")
    pieces = chat.page.evaluate("globalThis.pieces")
    assert pieces[0][0].startswith(first) and pieces[0][1] == 0
    assert any(text.startswith("Bold<script>") and made == 1 for text, made in pieces)
    expect(body).to_have_text("Bold<script>globalThis.ran=1</script> and more.")
    assert chat.page.evaluate("globalThis.ran") is None


def test_code_is_coloured_and_can_be_copied_as_plain_text(chat: Chat) -> None:
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    block = chat.say(answer(CODE)).locator(".code")
    expect(block.locator(".hljs-keyword").first).to_have_text("def")
    block.get_by_role("button", name="Copy").click()
    expect(block.get_by_role("button")).to_have_text("Copied")
    copied = chat.page.evaluate("navigator.clipboard.readText()")
    assert copied.rstrip() == "def add(a, b):\n    return a + b"


def test_a_failed_answer_says_why_and_gives_the_text_back(chat: Chat) -> None:
    text = "Is it there? [[mode=500]]"
    chat.write(text)
    expect(chat.endings).to_contain_text("Edit and resend")
    assert not re.search("sk-secret|sk-canary|secret.example", chat.page.content())
    chat.endings.get_by_role("button", name="Edit and resend").click()
    expect(chat.draft).to_have_value(text)


def test_a_text_too_long_for_a_frame_is_refused_before_it_is_sent(
    chat: Chat, fake: FakeOpenAI
) -> None:
    requests_before, text = len(fake.requests), "ä" * 33_000
    chat.write(text)
    expect(chat.notice).to_contain_text("longer than one message can be (64 KiB)")
    expect(chat.draft).to_have_value(text)
    expect(chat.users).to_have_count(0)
    assert len(fake.requests) == requests_before
    expect(chat.banner).to_be_hidden()


def test_the_transcript_follows_the_answer_unless_the_reader_scrolled_up(chat: Chat) -> None:
    long, newest = "x\n\n" * 60, chat.page.locator("#newest")
    chat.say(answer(long))
    chat.begin(answer(long, rate=40), shows="x")
    expect(chat.receipt_buttons).to_have_count(2)
    expect(newest).to_be_hidden()
    expect(chat.answers.last.locator(".acts")).to_be_in_viewport()
    chat.begin(answer(long, rate=40), shows="x")
    chat.page.locator("#log").hover()
    chat.page.mouse.wheel(0, -1500)
    expect(newest).to_be_visible()
    expect(chat.receipt_buttons).to_have_count(3)
    expect(chat.answers.last.locator(".acts")).not_to_be_in_viewport()
    newest.click()
    expect(newest).to_be_hidden()
    expect(chat.answers.last.locator(".acts")).to_be_in_viewport()
