from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsite.conversations import queries, store
from chatsite.conversations.files import FORMAT, VERSION, as_written, read_file, write_file
from chatsite.conversations.models import Conversation
from chatsite.errors import BadRestore
from chatsite.events import ConversationView
from chatsite.messages import Attachment, Message, ToolCall
from tests.conversations.given import ADA, new_id

text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
spoken = text.filter(str.strip)
name = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)
json_value = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(name, inner, max_size=3),
    max_leaves=6,
)
attachment = st.builds(
    Attachment,
    id=name,
    name=name,
    size=st.integers(1, 10**6),
    modality=st.sampled_from(["document", "image", "audio", "video"]),
    mime_type=st.none() | name,
)
user = st.builds(
    lambda content, files: Message.user(content, *files, id=new_id()),
    spoken,
    st.lists(attachment, max_size=2),
)
answer = st.builds(
    lambda content, reasoning, metadata: Message.assistant(
        content, id=new_id(), reasoning=reasoning, metadata=metadata
    ),
    text,
    st.none() | text,
    text,
)


@st.composite
def tool_round(draw: st.DrawFn) -> list[Message]:
    count = draw(st.integers(1, 3))
    calls = tuple(
        ToolCall(id=new_id(), name=draw(name), arguments=draw(st.dictionaries(name, json_value)))
        for _ in range(count)
    )
    content = draw(st.none() | text)
    asked = Message.assistant(content, id=new_id(), calls=calls)
    return [asked, *(Message.tool(draw(text), id=new_id(), call_id=call.id) for call in calls)]


chats = st.lists(st.one_of(user.map(lambda m: [m]), answer.map(lambda m: [m]), tool_round())).map(
    lambda groups: [message for group in groups for message in group]
)


def view(**more: Any) -> ConversationView:
    return replace(
        ConversationView(id=new_id(), agent="demo", title="Otters", created="", updated=""), **more
    )


def without_ids(messages: list[Message]) -> list[Message]:
    return [
        replace(
            message,
            id="",
            tokens=None,
            metadata=as_written(message.metadata),
            attachments=tuple(replace(file, id="") for file in message.attachments),
        )
        for message in messages
    ]


@given(chats, spoken)
@settings(max_examples=100, deadline=None)
def test_what_is_saved_comes_back_equal(messages: list[Message], title: str) -> None:
    saved = read_file(write_file(view(title=title), messages))
    assert (saved.agent, saved.title) == ("demo", title.strip())
    assert without_ids(list(saved.messages)) == without_ids(messages)
    assert not {m.id for m in saved.messages} & {m.id for m in messages}
    files = {file.id for m in messages for file in m.attachments}
    assert not {file.id for m in saved.messages for file in m.attachments} & files


@pytest.mark.django_db
def test_what_is_restored_is_stored_as_it_was_saved() -> None:
    calls = (ToolCall(id="c1", name="look", arguments={"at": ["Ö", 1, None]}),)
    messages = [
        Message.user("你好", id=new_id()),
        Message.assistant(None, id=new_id(), calls=calls),
        Message.tool("seen", id=new_id(), call_id="c1"),
        Message.assistant("Yes.", id=new_id(), metadata='{"a":  1}'),
    ]
    content = write_file(view(), messages)
    saved = read_file(content)
    stored = store.import_conversation(
        owner=ADA, agent=saved.agent, title=saved.title, messages=saved.messages
    )
    again, path = queries.whole_path(owner=ADA, conversation=stored.id)
    assert without_ids(path) == without_ids(messages)
    assert path[3].metadata == '{"from a file": "{\\"a\\":  1}"}', "no provider reads that"
    assert json.loads(write_file(again, path))["messages"] == json.loads(content)["messages"]


def change(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def apply(document: dict[str, Any]) -> None:
        place: Any = document
        *parents, last = path.split(".")
        for key in parents:
            place = place[int(key)] if key.isdigit() else place[key]
        place[last] = value

    return apply


DAMAGES = [
    ("format", "another.format", "this file's format is 'another.format'"),
    ("version", 2, "2"),
    ("version", "1", "version"),
    ("agent", None, "agent"),
    ("agent", "a" * 65, "agent"),
    ("title", 5, "title"),
    ("title", "a\0b", "title: it holds the character nul"),
    ("surprise", 1, "surprise"),
    ("messages", {}, "messages"),
    ("messages.0.role", "system", "message 0"),
    ("messages.0.role", "robot", "messages.0.role"),
    ("messages.0.content", " ", "message 0"),
    ("messages.0.content", "a\0b", "messages.0.content: it holds the character nul"),
    ("messages.0.call_id", "c1", "message 0"),
    ("messages.1.colour", "red", "messages.1.colour"),
    ("messages.2.call_id", "c2", "can't be restored"),
    ("messages.2.call_id", "c" * 201, "messages.2.call_id"),
    ("messages.1.calls", [], "can't be restored"),
    (
        "messages.1.calls",
        [{"id": "c1", "name": "x", "arguments": {"n": float("nan")}}],
        "arguments",
    ),
    ("messages.1.calls", [{"id": "c1", "name": "x", "arguments": {"n": ["\0"]}}], "arguments"),
    ("messages.1.calls", [{"id": "c1"}], "messages.1.calls.0.name"),
]


def whole() -> dict[str, Any]:
    calls = [{"id": "c1", "name": "look", "arguments": {"a": "\\u0000"}}]
    return {
        "format": FORMAT,
        "version": VERSION,
        "agent": "demo",
        "title": "Otters",
        "messages": [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "calls": calls},
            {"role": "tool", "content": "seen", "call_id": "c1"},
        ],
    }


def test_the_file_before_it_is_damaged_can_be_read() -> None:
    assert len(read_file(json.dumps(whole()).encode()).messages) == 3


@pytest.mark.django_db
@pytest.mark.parametrize(("path", "value", "said"), DAMAGES)
def test_a_damaged_file_is_refused_with_the_place(path: str, value: Any, said: str) -> None:
    document = whole()
    change(path, value)(document)
    with pytest.raises(BadRestore) as error:
        read_file(json.dumps(document).encode())
    assert said in error.value.message.lower()
    assert Conversation.objects.count() == 0


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"{",
        b"[" * 100_000,
        b'{"title": "\\ud800"}',
        b"1" * 10_000,
    ],
)
def test_what_is_no_conversation_is_refused_in_words(content: bytes) -> None:
    with pytest.raises(BadRestore, match="^This isn't a conversation saved by Chatsite: "):
        read_file(content)


def test_a_title_of_blanks_becomes_one_that_can_be_read() -> None:
    document = whole() | {"title": " "}
    assert read_file(json.dumps(document).encode()).title == "Restored chat"
