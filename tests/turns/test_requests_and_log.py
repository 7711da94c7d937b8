"""What can be looked up of a turn afterwards: its request, and its lines in the log."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest

from chatsite.history import Head
from chatsite.messages import Message
from chatsite.turns.requests import request_of
from tests.turns.conftest import World

HEAD = Head.of("You are Demo.", ())
SENT = [Message.user("Hello", id="m1"), Message.assistant("Hi.", id="m2")]


def receipt(**more: Any) -> dict[str, Any]:
    return {"head": {"hash": HEAD.hash, "messages": 1}, "facts": {"sent": 2}, **more}


def test_the_request_is_head_and_what_was_sent() -> None:
    found = request_of(receipt(), HEAD, SENT)
    assert found["messages"] == [
        {"role": "system", "content": "You are Demo."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi."},
    ]
    assert found["complete"] and found["note"] == ""


@pytest.mark.parametrize(
    ("head", "sent", "note"),
    [
        (Head.of("You are someone else.", ()), SENT, "The agent was changed since"),
        (HEAD, SENT[:1], "not stored any more"),
    ],
)
def test_it_says_where_it_can_not_be_the_same(head: Head, sent: list[Message], note: str) -> None:
    found = request_of(receipt(), head, sent)
    assert not found["complete"] and note in found["note"]


async def test_each_turn_logs_its_settings_and_what_was_left_out_without_a_word_of_it(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    asking = replace(world.asking(), query="historyLength=1")
    with caplog.at_level(logging.INFO, "chatsite.history"):
        await world.say(asking, "canary one")
        first = [record.getMessage() for record in caplog.records]
        caplog.clear()
        await world.say(asking, "canary two")
        second = [record.getMessage() for record in caplog.records]
    assert len(first) == 1 and len(second) == 2
    begins = '[History] Agent demo history settings: {policy: "lastN", length: 1, messageCount: '
    assert first[0].startswith(begins + '1, source: "built in, length: URL", tokens: ') or first[
        0
    ].startswith(begins + '1, source: "built in", tokens: ')
    assert second[0].startswith(begins + "3, ")
    assert second[1] == "[History] Trimmed messages from 3 to 1"
    assert "canary" not in "".join(first + second)
