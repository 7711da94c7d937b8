"""What happens is also what is sent: every event and reply is JSON that names its type."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import get_args

import pytest

from chatsite.events import (
    CacheChanged,
    CallEnded,
    Calling,
    CallsStarted,
    Cleared,
    Decided,
    Deleted,
    Delta,
    Engine,
    Event,
    Marked,
    PathChanged,
    Preview,
    Reading,
    Refusal,
    Renamed,
    Reply,
    Snapshot,
    SummaryChanged,
    TurnEnded,
    TurnStarted,
    Waiting,
)
from chatsite.messages import Attachment, Message, TokenCount, ToolCall
from chatsite.views import ConversationView, MessageView, Problem, Quote, SummaryView, TurnView

NOW = "2026-01-31T12:00:00+00:00"
CONVERSATION = ConversationView(id="c", agent="demo", title="Trip", created=NOW, updated=NOW)
ASKED = MessageView(
    message=Message(
        id="m1",
        role="user",
        content="Where to? 👍🏽",
        attachments=(Attachment(id="a", name="map.png", size=12, modality="image"),),
        tokens=TokenCount(count=4, tokenizer="words", basis="counted"),
    ),
    seq=1,
    state="complete",
    created=NOW,
)
ANSWERED = MessageView(
    message=Message(
        id="m2",
        role="assistant",
        content=None,
        calls=(ToolCall(id="k", name="search", arguments={"words": ["sea", 1.5, None]}),),
    ),
    seq=2,
    state="stopped",
    created=NOW,
    turn="t",
    finish_reason="stop",
    reply=Quote(id="m1", seq=1, role="user", text="Where to?"),
)
RESULT = MessageView(
    message=Message.tool('["the coast"]', id="m3", call_id="k"),
    seq=3,
    state="running",
    created=NOW,
)
FINAL = MessageView(
    message=Message.assistant("The coast.", id="m4", reasoning="By the sea."),
    seq=4,
    state="complete",
    created=NOW,
    turn="t",
    problem=Problem(code="server_cut", message="The server cut the prompt."),
    versions=("m0", "m2"),
)
PROBLEM = Problem(code="refused", message="Not now. Your text is kept.")
EVENTS: tuple[Event | Reply, ...] = (
    Snapshot(
        conversation_id="c",
        conversation=CONVERSATION,
        agent={"slug": "demo"},
        messages=(ASKED, ANSWERED),
        earlier=True,
        turn=TurnView(
            id="t",
            user_message="m1",
            text="So",
            reasoning="Hm.",
            calling=("search", "clock"),
            waiting="It is busy.",
            reading=(512, 3400),
        ),
        receipt={"turn": "t"},
        engine={"state": "ready"},
    ),
    Snapshot(
        conversation_id="c",
        conversation=None,
        agent={},
        messages=(),
        earlier=False,
        turn=None,
        receipt=None,
        engine={},
    ),
    TurnStarted(conversation=CONVERSATION, turn="t", client_id="x", messages=(ASKED,)),
    TurnStarted(
        conversation=CONVERSATION,
        turn="t",
        client_id="x",
        messages=(ASKED,),
        gone=("m2", "m3"),
        text="So",
        reasoning="Hm.",
    ),
    Decided(turn="t", receipt={"turn": "t"}),
    Delta(turn="t", offset=2, text=" far"),
    Delta(turn="t", offset=3, text=" Well", part="reasoning"),
    Calling(turn="t", name="search"),
    CallsStarted(turn="t", messages=(ANSWERED, RESULT)),
    CallEnded(turn="t", message=RESULT),
    Waiting(turn="t", sentence="It is busy.", seconds=3.0),
    Reading(turn="t", read=512, total=3400),
    TurnEnded(turn="t", state="stopped", message=ANSWERED, receipt={}, problem=PROBLEM),
    TurnEnded(turn="t", state="failed", message=None, receipt=None, problem=None),
    TurnEnded(
        turn="t", state="complete", message=FINAL, receipt={}, problem=None, messages=(RESULT,)
    ),
    Renamed(title="Journey"),
    Marked(message="m1", pinned=True, excluded=False, forget_above=0),
    SummaryChanged(summary=SummaryView(version=2, messages=34, by="a small model", last=40)),
    PathChanged(),
    CacheChanged(status={"m1": -1}),
    Cleared(),
    Deleted(),
    Refusal(ref="7", problem=PROBLEM),
    Preview(ref="7", decision={"facts": {}}),
    Preview(ref="7", decision=None, problem=PROBLEM),
    Engine(state="loading", sentence="The model is loading.", progress=0.5, provider={}),
)


def test_every_kind_is_looked_at_here() -> None:
    assert {type(event) for event in EVENTS} == {*get_args(Event), *get_args(Reply)}


def test_no_two_kinds_have_one_type() -> None:
    kinds = (*get_args(Event), *get_args(Reply))
    assert len({kind.type for kind in kinds}) == len(kinds)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_it_is_json_that_names_its_type(event: Event | Reply) -> None:
    said = event.to_dict()
    assert said["type"] == event.type
    assert json.loads(json.dumps(said, allow_nan=False)) == said


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_it_says_every_field(event: Event | Reply) -> None:
    """A refusal says its problem's code and message as its own."""
    flat = {"problem"} if isinstance(event, Refusal) else set()
    assert {field.name for field in fields(event)} - flat <= set(event.to_dict())


def test_a_refusal_says_what_it_refuses_and_why() -> None:
    assert Refusal(ref="7", problem=PROBLEM).to_dict() == {
        "type": "refused",
        "ref": "7",
        "code": "refused",
        "message": "Not now. Your text is kept.",
    }


def test_a_message_says_its_content_calls_attachments_and_tokens() -> None:
    asked, answered = ASKED.to_dict(), ANSWERED.to_dict()
    assert asked["tokens"] == {"count": 4, "tokenizer": "words", "basis": "counted"}
    assert asked["attachments"][0]["name"] == "map.png"
    assert answered["content"] is None
    assert answered["calls"][0]["arguments"] == {"words": ["sea", 1.5, None]}
    assert (answered["turn"], answered["state"]) == ("t", "stopped")
    assert (asked["reply"], answered["reply"]["text"]) == (None, "Where to?")


def test_an_answer_says_its_thoughts_its_versions_and_what_it_is_the_result_of() -> None:
    answer, result = FINAL.to_dict(), RESULT.to_dict()
    assert (answer["reasoning"], answer["versions"]) == ("By the sea.", ["m0", "m2"])
    assert answer["problem"]["code"] == "server_cut"
    assert (result["call_id"], result["state"], result["calls"]) == ("k", "running", [])
