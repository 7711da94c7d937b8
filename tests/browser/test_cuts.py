"""A full budget: the last answer is sent beside pinned messages; a failed message is sent along."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.fakes.openai_server import FakeOpenAI

pytestmark = pytest.mark.browser
TURNS = 64
PINNED = (3, 20)
LAST = f"answer {TURNS - 1}: the harbour was built in three parts. "
FAILS = "Where is the old quay? [[mode=400]]"


def long_chat() -> dict[str, Any]:
    """64 turns, of which two short ones are pinned and the others have long answers."""
    messages: list[dict[str, Any]] = []
    for turn in range(TURNS):
        pinned = turn in PINNED
        text = f"answer {turn}: the harbour was built in three parts. "
        messages += [
            {"role": "user", "content": f"question {turn}", "pinned": pinned},
            {"role": "assistant", "content": text * (1 if pinned else 26)},
        ]
    return {
        "format": "chatsite.conversation",
        "version": 2,
        "agent": "demo",
        "title": "Harbours",
        "messages": messages,
    }


@pytest.mark.parametrize("budget", [700, 900])
def test_the_last_answer_is_sent_beside_two_pinned_messages(
    visit: Visit, fake: FakeOpenAI, budget: int
) -> None:
    chat = visit().open()
    stored = chat.ask("POST", "/conversations/import", long_chat())
    assert stored.ok, stored.text()
    id = stored.json()["conversation"]["id"]
    query = f"historyPolicy=all&historyTokens={budget}&debug=true"
    chat.open(f"/chat/{id}?{query}")
    expect(chat.horizon).to_be_visible()
    expect(chat.answers.last).not_to_have_class(re.compile(r"\bout\b"))
    chat.say("And in short?")
    sent = [str(message["content"]) for message in fake.requests[-1]["messages"]]
    assert [text for text in sent if text.startswith("question")] == [
        *(f"question {turn}" for turn in PINNED),
        f"question {TURNS - 1}",
    ]
    assert any(text.startswith(LAST) for text in sent)


def test_a_failed_message_is_sent_along_with_one_click(chat: Chat, fake: FakeOpenAI) -> None:
    def asked() -> list[str]:
        messages = fake.requests[-1]["messages"]
        return [str(message["content"]) for message in messages if message["role"] == "user"]

    chat.write(FAILS)
    failed = chat.users.first
    expect(failed.locator(".ending.bad")).to_be_visible()
    mark = failed.locator(".mark")
    expect(mark).to_contain_text("Not sent: its answer failed")
    chat.say("Are you there?")
    assert asked() == ["Are you there?"]
    expect(mark).to_be_visible()
    mark.get_by_role("button", name="Send it along").click()
    expect(mark).to_be_hidden()
    chat.toasts.get_by_role("button", name="Undo").click()
    expect(mark).to_be_visible()
    mark.get_by_role("button", name="Send it along").click()
    expect(mark).to_be_hidden()
    chat.say("And now?")
    assert asked() == [f"{FAILS}\n\nAre you there?", "And now?"]
    chat.reload()
    expect(mark).to_be_hidden()


def test_a_failed_message_is_marked_no_longer_once_it_is_answered(
    chat: Chat, fake: FakeOpenAI
) -> None:
    chat.write("Where is the quay? [[mode=400;fails=1]]")
    failed = chat.users.first
    expect(failed.locator(".mark")).to_contain_text("Not sent")
    failed.get_by_role("button", name="Try again").click()
    expect(chat.receipt_buttons).to_have_count(1)
    expect(failed.locator(".mark")).to_be_hidden()
