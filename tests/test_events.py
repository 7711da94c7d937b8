"""Every event and reply is sent as JSON that names its type."""

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
    EngineStatus,
    Event,
    HistoryChosen,
    Kept,
    Marked,
    MessagesChanged,
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
from chatsite.views import (
    ConversationView,
    MessageView,
    Problem,
    Quote,
    SummaryView,
    TurnView,
    Version,
)

NOW = "2026-01-31T12:00:00+00:00"
CONVERSATION = ConversationView(id="c", agent="demo", title="Trip", created=NOW, updated=NOW)
QUESTION = MessageView(
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
TOOL_CALL = MessageView(
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
ANSWER = MessageView(
    message=Message.assistant("The coast.", id="m4", reasoning="By the sea."),
    seq=4,
    state="complete",
    created=NOW,
    turn="t",
    problem=Problem(code="server_cut", message="The server cut the prompt."),
    versions=(Version(id="m0", at=NOW, model="a small model", tokens=9), Version(id="m4", at=NOW)),
)
PROBLEM = Problem(code="refused", message="Not now. Your text is kept.")
EVENTS: tuple[Event | Reply, ...] = (
    Snapshot(
        conversation_id="c",
        conversation=CONVERSATION,
        agent={"slug": "demo"},
        messages=(QUESTION, TOOL_CALL),
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
    TurnStarted(conversation=CONVERSATION, turn="t", client_id="x", messages=(QUESTION,)),
    TurnStarted(
        conversation=CONVERSATION,
        turn="t",
        client_id="x",
        messages=(QUESTION,),
        gone_from=2,
        text="So",
        reasoning="Hm.",
    ),
    Decided(turn="t", receipt={"turn": "t"}),
    Delta(turn="t", offset=2, text=" far"),
    Delta(turn="t", offset=3, text=" Well", part="reasoning"),
    Calling(turn="t", name="search"),
    CallsStarted(turn="t", messages=(TOOL_CALL, RESULT)),
    CallEnded(turn="t", message=RESULT),
    Waiting(turn="t", sentence="It is busy.", seconds=3.0),
    Reading(turn="t", read=512, total=3400),
    TurnEnded(turn="t", state="stopped", message=TOOL_CALL, reported={}, problem=PROBLEM),
    TurnEnded(turn="t", state="failed", message=None, reported=None, problem=None),
    TurnEnded(
        turn="t", state="complete", message=ANSWER, reported={}, problem=None, messages=(RESULT,)
    ),
    Renamed(title="Journey"),
    HistoryChosen(history={"historyPolicy": "lastN", "historyLength": "5"}),
    Marked(
        message="m1",
        pinned=True,
        excluded=False,
        bookmarked=False,
        forget_above=0,
        state="complete",
    ),
    SummaryChanged(summary=SummaryView(version=2, messages=34, by="a small model", last=40)),
    MessagesChanged(messages=(ANSWER,), gone=("m1",), forget_above=0),
    PathChanged(below=3),
    CacheChanged(status={"m1": -1}),
    Cleared(),
    Deleted(),
    Kept(),
    Refusal(ref="7", problem=PROBLEM),
    Preview(ref="7", decision={"facts": {}}),
    Preview(ref="7", decision=None, problem=PROBLEM),
    Preview(ref="7", decision=None, problem=PROBLEM, too_large={"facts": {}}),
    EngineStatus(state="loading", sentence="The model is loading.", progress=0.5, provider={}),
)


def test_every_kind_of_event_is_tested_here() -> None:
    assert {type(event) for event in EVENTS} == {*get_args(Event), *get_args(Reply)}


def test_no_two_kinds_of_event_share_a_type() -> None:
    kinds = (*get_args(Event), *get_args(Reply))
    assert len({kind.type for kind in kinds}) == len(kinds)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_an_event_is_json_that_names_its_type(event: Event | Reply) -> None:
    payload = event.to_dict()
    assert payload["type"] == event.type
    assert json.loads(json.dumps(payload, allow_nan=False)) == payload


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_an_event_contains_every_field(event: Event | Reply) -> None:
    """A refusal has its problem's code and message as its own fields."""
    flat = {"problem"} if isinstance(event, Refusal) else set()
    assert {field.name for field in fields(event)} - flat <= set(event.to_dict())


def test_a_refusal_names_the_refused_command_and_the_reason() -> None:
    assert Refusal(ref="7", problem=PROBLEM, seconds=3).to_dict() == {
        "type": "refused",
        "ref": "7",
        "code": "refused",
        "message": "Not now. Your text is kept.",
        "seconds": 3,
        "costs": None,
    }


def test_a_message_contains_its_content_calls_attachments_and_tokens() -> None:
    question, tool_call = QUESTION.to_dict(), TOOL_CALL.to_dict()
    assert question["tokens"] == {"count": 4, "tokenizer": "words", "basis": "counted"}
    assert question["attachments"][0]["name"] == "map.png"
    assert tool_call["content"] is None
    assert tool_call["calls"][0]["arguments"] == {"words": ["sea", 1.5, None]}
    assert (tool_call["turn"], tool_call["state"]) == ("t", "stopped")
    assert (question["reply"], tool_call["reply"]["text"]) == (None, "Where to?")


def test_an_answer_contains_its_reasoning_and_versions_and_a_result_names_its_call() -> None:
    answer, result = ANSWER.to_dict(), RESULT.to_dict()
    assert answer["reasoning"] == "By the sea."
    assert [(one["id"], one["tokens"]) for one in answer["versions"]] == [("m0", 9), ("m4", None)]
    assert answer["problem"]["code"] == "server_cut"
    assert (result["call_id"], result["state"], result["calls"]) == ("k", "running", [])
