"""What can be looked up of a turn afterwards: its request, and its lines in the log."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from chatsite.conversations import receipts, store
from chatsite.conversations.models import Message as Row
from chatsite.conversations.models import Turn
from chatsite.history import Entry, Head
from chatsite.history.replaying import Kept
from chatsite.messages import Message
from chatsite.providers.openai_wire import wire_messages
from chatsite.turns.requests import fingerprint, request_of
from tests.conversations.given import ADA
from tests.turns.conftest import World

HEAD = Head.of("You are Demo.", ())
SENT = (Message.user("Hello", id="m1"), Message.assistant("Hi.", id="m2"))
ENTRIES = tuple(Entry(message=message, seq=seq) for seq, message in enumerate(SENT, 1))


def kept(entries: tuple[Entry, ...] = ENTRIES, **more: Any) -> Kept:
    receipt = {
        "head": {"hash": HEAD.hash, "messages": 1},
        "layout": [{"first": 1, "last": 2}],
        "fingerprint": fingerprint([*HEAD.messages, *SENT]),
        "asked": {"model": "some"},
        **more,
    }
    return Kept(agent="demo", receipt=receipt, entries=entries, summaries={})


def as_bytes(messages: Sequence[Message]) -> bytes:
    """The messages as the provider sends them."""
    return json.dumps(wire_messages(messages)).encode()


def test_the_request_is_head_and_what_was_sent() -> None:
    found = request_of(kept(), HEAD).to_dict()
    assert found["messages"] == [
        {"role": "system", "content": "You are Demo."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi."},
    ]
    assert found["complete"] and found["note"] == "" and found["asked"] == {"model": "some"}


def written(kind: str, *, sources: Sequence[int] = ()) -> list[dict[str, Any]]:
    made = {
        "kind": kind,
        "role": "user",
        "digest": "0a0a",
        "tokens": 9,
        "id": "",
        "sources": sources,
    }
    return [made]


CHANGED = replace(ENTRIES[1], message=replace(SENT[1], content="Ho."))


@pytest.mark.parametrize(
    ("head", "what", "note"),
    [
        (Head.of("You are someone else.", ()), kept(), "The agent was changed since"),
        (HEAD, kept(ENTRIES[:1]), "Message 2 isn't stored any more"),
        (HEAD, kept((ENTRIES[0], CHANGED)), "The text of message 2 was changed since"),
        (HEAD, kept(fingerprint={"whole": "0", "each": ""}), "The text of a message was changed"),
        (
            HEAD,
            kept(layout=[*written("text"), {"first": 1, "last": 2}]),
            "strategy (9 tokens) can't be shown: only its fingerprint 0a0a was kept",
        ),
        (
            HEAD,
            kept(layout=[*written("summary"), {"first": 1, "last": 2}]),
            "The summary that was sent isn't stored any more",
        ),
        (
            HEAD,
            kept(layout=[*written("recalled", sources=[7]), {"first": 1, "last": 2}]),
            "Message 7, which was quoted, isn't stored any more",
        ),
    ],
)
def test_it_says_where_it_can_not_be_the_same(head: Head, what: Kept, note: str) -> None:
    found = request_of(what, head).to_dict()
    assert not found["complete"] and note in found["note"]


def test_a_receipt_of_the_first_version_is_built_from_its_verdicts() -> None:
    verdicts = [
        {"first": 0, "last": 0, "sent": True},
        {"first": 1, "last": 1, "sent": False},
        {"first": 2, "last": 2, "sent": True},
    ]
    old = {"head": {"hash": HEAD.hash}, "verdicts": verdicts, "facts": {"sent": 1}}
    what = Kept(agent="demo", receipt=old, entries=ENTRIES[1:], summaries={})
    found = request_of(what, HEAD).to_dict()
    assert found["complete"]
    assert [one["content"] for one in found["messages"]] == ["You are Demo.", "Hi."]
    gone = request_of(replace(what, entries=()), HEAD)
    assert gone.differences


async def test_every_request_of_a_conversation_can_be_built_again(world: World) -> None:
    """Also after the path was cleared and another one begun."""
    asking = replace(world.asking(), query="historyPolicy=lastN&historyLength=2")
    for text in ("One", "Two", "Three"):
        await world.say(asking, text)
    await world.run(store.clear, owner=ADA, conversation=asking.conversation)
    await world.say(asking, "Four")
    turns = await world.run(lambda: list(Turn.objects.order_by("number")))
    assert len(turns) == 4
    head = world.answering("demo").head
    for turn, sent in zip(turns, world.provider.requests, strict=True):
        found = await world.run(receipts.kept, owner=ADA, turn=str(turn.id))
        rebuilt = request_of(found, head)
        assert rebuilt.differences == ()
        assert as_bytes(rebuilt.messages) == as_bytes(sent.messages)
    await world.run(lambda: Row.objects.filter(content="Two").update(content="2"))
    found = await world.run(receipts.kept, owner=ADA, turn=str(turns[2].id))
    assert "was changed since" in request_of(found, head).differences[0]


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
