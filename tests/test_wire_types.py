"""The page's types of the wire have exactly the fields that the server sends."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest

from chatsite.events import Event, Refusal, Reply
from chatsite.messages import Attachment, Message, ToolCall
from chatsite.views import (
    ConversationView,
    MessageView,
    Problem,
    Quote,
    SummaryView,
    TurnView,
    Version,
)

TYPES = (Path(__file__).resolve().parent.parent / "static/chat/types/wire.d.ts").read_text()
INTERFACE = re.compile(r"^export interface (\w+) \{(.*?)\}$", flags=re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", flags=re.DOTALL)
FIELD = re.compile(r"(?:^|;|\{)\s*(\w+)\??:", flags=re.MULTILINE)

# The page's own name for a record, and the record.
RECORDS = {
    "Conversation": ConversationView,
    "Problem": Problem,
    "Quote": Quote,
    "TurnView": TurnView,
    "Summary": SummaryView,
    "Call": ToolCall,
    "Version": Version,
}
# A field that the senders add, and one that the page doesn't read.
NOTE, UNREAD = {"note"}, {"tokens"}


def declared() -> dict[str, set[str]]:
    return {
        name: set(FIELD.findall(COMMENT.sub("", body))) for name, body in INTERFACE.findall(TYPES)
    }


def names(record: Any) -> set[str]:
    return {field.name for field in fields(record)}


@pytest.mark.parametrize("kind", [*get_args(Event), *get_args(Reply)])
def test_every_event_is_declared_with_its_fields(kind: Any) -> None:
    tagged = re.findall(rf'interface (\w+) \{{\s*type: "{kind.type}"', TYPES)
    assert len(tagged) == 1
    sent = names(kind)
    if kind is Refusal:
        sent = sent - {"problem"} | names(Problem)
    assert declared()[tagged[0]] == {"type", *sent}


def test_no_other_event_is_declared() -> None:
    known = {kind.type for kind in (*get_args(Event), *get_args(Reply))}
    assert set(re.findall(r'^\s*(?:export interface \w+ \{ )?type: "(\w+)"', TYPES, re.M)) == known


@pytest.mark.parametrize("name", RECORDS)
def test_every_record_is_declared_with_its_fields(name: str) -> None:
    assert declared()[name] == names(RECORDS[name])


def test_messages_and_attachments_are_declared_with_their_fields() -> None:
    view = MessageView(
        message=Message.user("Hello.", id="m"), seq=1, state="complete", created="now"
    )
    assert declared()["Message"] == set(view.to_dict()) - UNREAD
    assert declared()["Attachment"] == names(Attachment) | NOTE
