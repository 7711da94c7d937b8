"""A conversation full of results: they make room, one click keeps one, one brings all back."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.fakes.openai_server import FakeOpenAI

pytestmark = pytest.mark.browser
TURNS = 12
LINE = (
    "[Result of search, about 399 tokens, left out to make room; ask for it again if it is needed]"
)


def full_of_results() -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for turn in range(TURNS):
        call = {"id": f"call-{turn}", "name": "search", "arguments": {"query": f"berth {turn}"}}
        result = f"Berth {turn}: " + "quay " * 318
        messages += [
            {"role": "user", "content": f"Which ship lies at berth {turn}?"},
            {"role": "assistant", "content": None, "calls": [call]},
            {"role": "tool", "content": result, "call_id": call["id"]},
            {"role": "assistant", "content": f"The Swan lies at berth {turn}."},
        ]
    return {
        "format": "chatsite.conversation",
        "version": 2,
        "agent": "demo",
        "title": "Berths",
        "messages": messages,
    }


@pytest.fixture
def chat(visit: Visit) -> Chat:
    chat = visit().open()
    id = chat.restored(full_of_results())
    return chat.open(f"/chat/{id}?historyPolicy=all&historyTokens=3000&debug=true")


def results_sent(fake: FakeOpenAI) -> list[str]:
    messages = fake.requests[-1]["messages"]
    return [str(one["content"]) for one in messages if one["role"] == "tool"]


def test_old_results_make_room_and_come_back(chat: Chat, fake: FakeOpenAI) -> None:
    expect(chat.horizon).to_be_hidden()
    made_room = chat.page.locator("#col .mark.gave")
    expect(made_room.first).to_contain_text(
        "Made room: a line is sent in place of 1 result · Send it whole"
    )
    chat.say("And in short?")
    before = results_sent(fake)
    gone = before.count(LINE)
    assert gone > 4
    assert before[:gone] == [LINE] * gone, "the oldest"
    expect(made_room).to_have_count(gone)
    expect(chat.panel).to_contain_text(f"{gone} results and files gave way, which freed")

    made_room.first.get_by_role("button", name="Send it whole").click()
    expect(chat.answers.first.locator(".mark.gave")).to_have_count(0)
    expect(made_room).to_have_count(gone - 1)  # there is room for it beside the others' lines
    chat.say("And now?")
    assert results_sent(fake)[0].startswith("Berth 0: quay")
    chat.toasts.get_by_role("button", name="Undo").click()
    expect(chat.answers.first.locator(".mark.gave")).to_be_visible()


def test_all_are_brought_back_with_one_click(chat: Chat, fake: FakeOpenAI) -> None:
    chat.panel.get_by_role("button", name="Send all of them whole").click()
    expect(chat.page.locator("#col .mark.gave")).to_have_count(0)
    expect(chat.horizon).to_be_visible()  # now the oldest exchanges go
    chat.toasts.get_by_role("button", name="Undo").click()
    expect(chat.page.locator("#col .mark.gave").first).to_be_visible()
    expect(chat.horizon).to_be_hidden()
    chat.panel.get_by_role("button", name="Send all of them whole").click()
    expect(chat.horizon).to_be_visible()
    chat.say("And in short?")
    assert LINE not in results_sent(fake)


def test_a_result_alone_is_left_out_by_hand_with_the_keyboard(chat: Chat, fake: FakeOpenAI) -> None:
    call = chat.answers.last.locator("details.call summary")
    call.focus()
    chat.page.keyboard.press("Enter")
    chat.page.keyboard.press("Tab")
    button = chat.page.get_by_role("button", name="Don't send this result")
    button.focus()
    chat.page.keyboard.press("Enter")
    expect(chat.answers.last.locator("details.call")).to_contain_text("left out")
    chat.say("And in short?")
    assert results_sent(fake)[-1] == "[Result of search, about 400 tokens, left out by the user]"
    asked = [one for one in fake.requests[-1]["messages"] if one.get("tool_calls")]
    assert json.loads(asked[-1]["tool_calls"][0]["function"]["arguments"]) == {"query": "berth 11"}
    again = chat.page.get_by_role("button", name="Send this result again")
    again.click()
    expect(again).to_have_count(0)
    chat.say("And now?")
    assert re.match(r"Berth 11: quay", results_sent(fake)[-1])
