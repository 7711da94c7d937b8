from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsite.conversations.files.export import (
    check_export,
    import_part,
    original_metadata,
    write_export,
)
from chatsite.conversations.files.export_format import FORMAT, VERSION
from chatsite.conversations.imports.imports import add_imported, begin_import
from chatsite.conversations.models import Conversation
from chatsite.conversations.path import marks, queries
from chatsite.conversations.path.cache_places import bring_back_turns, mark_turns, place_books
from chatsite.conversations.records import WholePath
from chatsite.conversations.turn.end import end_turn
from chatsite.errors import BadRestore
from chatsite.files.folder import safe_name
from chatsite.history import Entry
from chatsite.messages import Attachment, Message, ToolCall
from chatsite.views import ConversationView
from tests.conversations.builders import ADA, begin, messages, new_id, row, talk
from tests.examples import some
from tests.imported import import_conversation, read_export

text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
visible_text = text.filter(str.strip)
file_names = visible_text.map(safe_name)
name = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)
json_value = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(name, inner, max_size=3),
    max_leaves=6,
)
attachment = st.builds(
    Attachment,
    id=name,
    name=file_names,
    size=st.integers(1, 10**6),
    modality=st.sampled_from(["document", "image", "audio", "video"]),
    mime_type=st.none() | name,
)
user = st.builds(
    lambda content, files: Message.user(content, *files, id=new_id()),
    visible_text,
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
    call_message = Message.assistant(content, id=new_id(), calls=calls)
    return [
        call_message,
        *(Message.tool(draw(text), id=new_id(), call_id=call.id) for call in calls),
    ]


chats = st.lists(st.one_of(user.map(lambda m: [m]), answer.map(lambda m: [m]), tool_round())).map(
    lambda groups: [message for group in groups for message in group]
)


def whole_path(
    messages: Sequence[Message],
    *,
    title: str = "Otters",
    receipt: Mapping[str, Any] | None = None,
) -> WholePath:
    """A conversation in the form in which the store reads it for an export."""
    entries = (Entry(message=message, seq=at + 1) for at, message in enumerate(messages))
    view = ConversationView(id=new_id(), agent="demo", title=title, created="", updated="")
    return WholePath(
        conversation=view,
        entries=tuple(entries),
        bookmarked=frozenset(),
        forget_above=0,
        receipt=receipt,
    )


def parse_document(content: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(content)
    return found


def without_ids(messages: list[Message]) -> list[Message]:
    return [
        replace(
            message,
            id="",
            tokens=None,
            metadata=original_metadata(message.metadata),
            attachments=tuple(replace(file, id="") for file in message.attachments),
        )
        for message in messages
    ]


@pytest.mark.slow
@given(chats, visible_text)
@settings(max_examples=some(100), deadline=None)
def test_an_exported_conversation_is_read_back_equal(messages: list[Message], title: str) -> None:
    saved = read_export(write_export(whole_path(messages, title=title)))
    assert (saved.agent, saved.title) == ("demo", title.strip())
    assert without_ids(list(saved.messages)) == without_ids(messages)
    assert not {m.id for m in saved.messages} & {m.id for m in messages}
    files = {file.id for m in messages for file in m.attachments}
    assert not {file.id for m in saved.messages for file in m.attachments} & files


@pytest.mark.django_db
def test_an_imported_conversation_is_stored_as_it_was_exported() -> None:
    calls = (ToolCall(id="c1", name="look", arguments={"at": ["Ö", 1, None]}),)
    messages = [
        Message.user("你好", id=new_id()),
        Message.assistant(None, id=new_id(), calls=calls),
        Message.tool("seen", id=new_id(), call_id="c1"),
        Message.assistant("Yes.", id=new_id(), metadata='{"a":  1}'),
    ]
    content = write_export(whole_path(messages))
    imported = import_and_read(content)
    path = [entry.message for entry in imported.entries]
    assert without_ids(path) == without_ids(messages)
    assert path[3].metadata == '{"from a file": "{\\"a\\":  1}"}', "no provider reads that"
    assert parse_document(write_export(imported))["messages"] == parse_document(content)["messages"]


def import_and_read(content: bytes) -> WholePath:
    """Import the file and return the conversation that is stored."""
    saved = read_export(content)
    stored = import_conversation.here(
        owner=ADA,
        agent=saved.agent,
        title=saved.title,
        messages=saved.messages,
        pinned=saved.pinned,
        excluded=saved.excluded,
        unanswered=saved.unanswered,
        forget_above=saved.forget_above,
    )
    return queries.whole_path.here(owner=ADA, conversation=stored.id)


RECEIPT = {
    "settings": {
        "policy": {"value": "tokens", "source": "URL", "said": []},
        "length": {"value": 20, "source": "built in", "said": []},
        "tokens": {"value": 500, "source": "URL", "said": []},
        "low_water": {"value": 50, "source": "built in", "said": []},
        "step": {"value": 1, "source": "built in", "said": []},
        "selector": {"value": "lexical", "source": "built in", "said": []},
        "summary_model": {"value": "fast", "source": "built in", "said": []},
    },
    "asked": {"model": "smol", "max_tokens": 256, "temperature": 0.5},
}


@pytest.mark.django_db
class TestResuming:
    """The data that a file holds besides the text of messages."""

    @pytest.fixture
    def chat(self) -> str:
        """Three turns: the first unloaded, the second marked for cleanup, the third loaded."""
        conversation = new_id()
        talk(conversation, 2)
        end_turn.here(
            turn=begin(conversation, "q3").turn, state="complete", text="a3", receipt=RECEIPT
        )
        ids = [
            str(id) for id in messages(conversation).order_by("seq").values_list("id", flat=True)
        ]
        mark_turns.here(conversation=conversation, turns=[1])
        places = {id: (10 + 5 * at, 5) for at, id in enumerate(ids[2:])}
        place_books.here(conversation=conversation, places=places)
        mark_turns.here(conversation=conversation, turns=[3])
        return conversation

    def test_the_file_carries_settings_parameters_books_and_marks(self, chat: str) -> None:
        marks.pin_message.here(owner=ADA, message=str(messages(chat).get(seq=4).id), on=False)
        marks.exclude_message.here(owner=ADA, message=str(messages(chat).get(seq=6).id), on=True)
        marks.forget_above_message.here(
            owner=ADA, message=str(messages(chat).get(seq=3).id), on=True
        )
        valid_document = queries.whole_path.here(owner=ADA, conversation=chat)
        found = parse_document(write_export(valid_document, cleanup="keepSystemPromptOnly"))
        assert found["version"] == 3
        assert found["settings"] == {
            "policy": "tokens",
            "length": 20,
            "tokens": 500,
            "low_water": 50,
            "step": 1,
            "selector": "lexical",
            "cleanup": "keepSystemPromptOnly",
        }
        assert found["asked"] == RECEIPT["asked"]
        assert found["forget_above"] == 2
        assert [message.get("kv") for message in found["messages"]] == [
            {"status": -1},
            {"status": -1},
            {"size": 5, "start": 10, "status": 0},
            {"size": 5, "start": 15, "status": 0},
            {"size": 5, "start": 20},
            {"size": 5, "start": 25},
        ]
        assert found["messages"][5]["excluded"] is True

    def test_the_file_carries_every_other_setting_that_somebody_set(self, chat: str) -> None:
        said = {
            "recall_share": {"value": 30, "source": "template", "said": []},
            "conversation": {"enabled": {"value": False, "source": "environment", "said": []}},
        }
        receipt = RECEIPT | {"settings": RECEIPT["settings"] | said}
        end_turn.here(turn=begin(chat, "q4").turn, state="complete", text="a4", receipt=receipt)
        content = write_export(queries.whole_path.here(owner=ADA, conversation=chat))
        found = parse_document(content)["settings"]
        assert (found["recall_share"], found["enabled"]) == (30, False)
        assert "summary_model" not in found, "it is built in"
        saved = read_export(content).settings
        assert saved is not None and saved.model_extra == {"recall_share": 30, "enabled": False}

    def test_unloaded_messages_stay_unloaded_and_nothing_is_in_the_cache(self, chat: str) -> None:
        content = write_export(queries.whole_path.here(owner=ADA, conversation=chat))
        again = import_and_read(content)
        books = [
            (e.message.kv_start_position, e.message.kv_size, e.message.kv_status)
            for e in again.entries
        ]
        assert books == [(-1, -1, -1)] * 4 + [(-1, -1, 1)] * 2
        saved = read_export(content)
        assert saved.settings is not None and saved.settings.tokens == 500
        bring_back_turns.here(owner=ADA, conversation=again.conversation.id)
        assert not messages(again.conversation.id).exclude(kv_status=1).exists()

    @pytest.mark.parametrize("seq", [1, 5, 7])
    def test_marks_and_the_forget_marker_keep_their_places(self, chat: str, seq: int) -> None:
        marks.pin_message.here(owner=ADA, message=str(messages(chat).get(seq=2).id), on=True)
        marks.exclude_message.here(owner=ADA, message=str(messages(chat).get(seq=3).id), on=True)
        Conversation.objects.filter(id=chat).update(forget_above=seq)
        again = import_and_read(write_export(queries.whole_path.here(owner=ADA, conversation=chat)))
        assert [e.seq for e in again.entries if e.pinned] == [2]
        assert [e.seq for e in again.entries if e.excluded] == [3]
        found = row(again.conversation.id)
        assert (found.marked, found.forget_above) == (2, 0 if seq == 1 else seq)

    def test_a_message_whose_answer_failed_stays_unanswered(self, chat: str) -> None:
        end_turn.here(turn=begin(chat, "q4").turn, state="failed", text="")
        content = write_export(queries.whole_path.here(owner=ADA, conversation=chat))
        again = import_and_read(content)
        assert [e.seq for e in again.entries if e.unanswered] == [7]

    def test_results_have_their_values_for_the_line_again(self) -> None:
        call = ToolCall(id="c", name="berths")
        rows = [{"ship": one, "berth": f"B-{n}00"} for n, one in enumerate("Petrel Plover".split())]
        talk = [
            Message.user("Where does the Plover lie?", id=new_id()),
            Message.assistant(None, id=new_id(), calls=(call,)),
            Message.tool(json.dumps(rows * 5), id=new_id(), call_id="c"),
            Message.assistant("There.", id=new_id()),
        ]
        saved = check_export(write_export(whole_path(talk)))
        id = begin_import.here(owner=ADA, agent="demo", title="Berths")
        add_imported.here(conversation=id, part=import_part(saved.messages))
        stored = list(row(id).tree.order_by("seq").values_list("anchors", flat=True))
        assert stored[2] is not None and "berth: B-100" in stored[2]
        assert stored[:2] + stored[3:] == [None] * 3

    def test_token_ids_of_the_engine_are_imported_and_no_other_metadata(self) -> None:
        own = '{"engine":{"model":"smol","ids":[5,6]}}'
        said = [Message.user("Hi", id=new_id())]
        said += [
            Message.assistant("Yes.", id=new_id(), metadata=metadata)
            for metadata in (
                own,
                '{"engine":{"model":"smol","ids":[5,-6]}}',
                '{"engine":{"model":"smol","ids":[1,2,3,4,5]}}',
                '{"engine":{"model":"smol","ids":[]}}',
                '{"engine":{"model":"smol","ids":[5,true]}}',
                '{"engine":{"model":7,"ids":[5]}}',
                '{"engine":{"model":"smol","ids":[5],"more":1}}',
                '{"engine":{"model":"smol","ids":[5]},"openai":{}}',
                '{"engine":[]}',
                "[" * 5_000,
            )
        ]
        said += [replace(Message.user("Hi", id=new_id()), metadata=own)]
        kept = [
            entry.message.metadata
            for entry in import_and_read(write_export(whole_path(said))).entries
        ]
        assert kept[:2] == ["", own]
        assert all(metadata.startswith('{"from a file":') for metadata in kept[2:])

    def test_a_file_of_the_first_version_can_still_be_read(self) -> None:
        document = valid_document() | {"version": 1}
        again = import_and_read(json.dumps(document).encode())
        assert [e.message.kv_status for e in again.entries] == [1, 1, 1]
        assert read_export(json.dumps(document).encode()).settings is None

    def test_books_that_contradict_each_other_are_not_written(self) -> None:
        said = [Message.user("Hi", id=new_id()), Message.assistant("Yes.", id=new_id())]
        said = [replace(one, kv_size=5, kv_start_position=3, kv_status=0) for one in said]
        found = parse_document(write_export(whole_path(said)))
        assert [message["kv"] for message in found["messages"]] == [{"status": -1}] * 2


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
    ("version", 9, "'chatsite.conversation' 9; 'chatsite.conversation' 1, 2 and 3 can be imported"),
    ("version", "1", "version"),
    ("forget_above", 4, "forget_above: 4 messages stand above the marker, and there are 3"),
    ("forget_above", -1, "forget_above"),
    ("settings", [], "settings"),
    ("settings", {"policy": "lastN", "length": "5"}, "settings.length"),
    ("settings", {"policy": "lastN"}, "settings.length"),
    ("settings", {"policy": "lastN", "length": 5, "colour": 1}, "settings: it holds what is no"),
    ("settings", {"policy": "all", "length": 5, "recall_share": 101}, "a value that isn't allowed"),
    ("asked", {"temperature": float("inf")}, "asked"),
    ("messages.0.pinned", "yes", "messages.0.pinned"),
    ("messages.0.unanswered", 1, "messages.0.unanswered"),
    ("messages.1.unanswered", True, "messages.1: only a user's message can be unanswered"),
    ("messages.0.kv", [1, 2], "messages.0.kv"),
    ("messages.0.kv", {"status": 7}, "messages.0.kv.status: input should be -1, 0 or 1"),
    ("messages.0.kv", {"size": -5}, "messages.0.kv.size"),
    ("messages.0.kv", {"size": 1.5}, "messages.0.kv.size"),
    ("messages.0.kv", {"size": 0, "start": 4}, "messages.0.kv: the books don't add up"),
    ("messages.0.kv", {"start": 4}, "begins at 4 and has no size"),
    ("messages.0.kv", {"size": 4, "start": 4, "status": -1}, "unloaded and begins at 4"),
    ("messages.0.kv", {"status": 0}, "marked for cleanup and lies nowhere"),
    ("messages.0.kv", {"size": 4}, "loaded and lies nowhere"),
    (
        "messages.2.kv",
        {"size": 4, "start": 12},
        "inside messages.1, which ends at 13",
    ),
    ("messages.0.kv", {"size": 8, "start": 3}, "inside messages.0, which ends at 11"),
    ("messages.0.kv", {"cells": 8}, "messages.0.kv.cells"),
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


def valid_document() -> dict[str, Any]:
    calls = [{"id": "c1", "name": "look", "arguments": {"a": "\\u0000"}}]
    return {
        "format": FORMAT,
        "version": VERSION,
        "agent": "demo",
        "title": "Otters",
        "messages": [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "calls": calls, "kv": {"size": 3, "start": 10}},
            {"role": "tool", "content": "seen", "call_id": "c1"},
        ],
    }


def test_the_undamaged_file_can_be_read() -> None:
    assert len(read_export(json.dumps(valid_document()).encode()).messages) == 3


@pytest.mark.django_db
@pytest.mark.parametrize(("path", "value", "expected"), DAMAGES)
def test_a_damaged_file_is_refused_with_the_place(path: str, value: Any, expected: str) -> None:
    document = valid_document()
    change(path, value)(document)
    with pytest.raises(BadRestore) as error:
        read_export(json.dumps(document).encode())
    assert expected in error.value.message.lower()
    assert error.value.message.endswith(("Nothing was imported.", "Nothing changed."))
    assert Conversation.objects.count() == 0


def test_a_message_that_is_both_pinned_and_left_out_is_refused() -> None:
    document = valid_document()
    document["messages"][0] |= {"pinned": True, "excluded": True}
    with pytest.raises(BadRestore, match="messages.0: it is both pinned and left out. Nothing"):
        read_export(json.dumps(document).encode())


@pytest.mark.parametrize("places", [[0], [5]])
def test_only_messages_above_can_be_quoted_before_a_message(places: list[int]) -> None:
    document = valid_document()
    document["messages"][0] |= {"quoted": places}
    with pytest.raises(BadRestore, match="messages.0.quoted: only messages above it can be"):
        read_export(json.dumps(document).encode())


def test_a_file_of_another_program_or_a_newer_version_is_refused_by_its_name() -> None:
    for format, version in (("aspose.session", 1), (FORMAT, 9)):
        document = {"format": format, "version": version, "Messages": [{"KVSize": 4}]}
        with pytest.raises(BadRestore, match=f"format is '{format}' {version}; .* can be imported"):
            read_export(json.dumps(document).encode())


@given(st.data())
@settings(max_examples=some(60), deadline=None)
def test_a_file_that_was_cut_off_anywhere_is_refused(data: st.DataObject) -> None:
    content = json.dumps(valid_document()).encode()
    cut = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(BadRestore, match=r"isn't a Chatsite export\. Nothing was imported\.$"):
        read_export(content[:cut])


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
def test_a_file_that_is_no_conversation_is_refused_with_a_sentence(content: bytes) -> None:
    with pytest.raises(BadRestore, match="^This file isn't a Chatsite export[.:] "):
        read_export(content)


def test_a_blank_title_is_replaced_by_a_readable_one() -> None:
    document = valid_document() | {"title": " "}
    assert read_export(json.dumps(document).encode()).title == "Restored chat"


class TestHostileFiles:
    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("width", 10**400),
            ("height", 2_000_000),
            ("characters", 10**30),
            ("size", 0),
            ("size", 10**20),
        ],
    )
    def test_a_size_that_no_file_has_is_refused_with_its_place(
        self, field: str, value: int
    ) -> None:
        with pytest.raises(BadRestore, match=rf"messages\.0\.attachments\.0\.{field}.*Nothing"):
            read_export(with_attachment(**{field: value}))

    def test_a_name_is_stored_without_line_ends_and_direction_marks(self) -> None:
        saved = read_export(with_attachment(name="a/b\u202egpj\n.exe"))
        assert saved.messages[0].attachments[0].name == "bgpj .exe"

    @pytest.mark.slow
    def test_more_messages_than_are_taken_are_refused(self) -> None:
        said = b'{"role":"user","content":"x"},' * 150_001
        with pytest.raises(BadRestore, match="messages: .*150000.*Nothing was imported"):
            read_export(file_of(said[:-1]))


def file_of(messages: bytes) -> bytes:
    head = f'{{"format":"{FORMAT}","version":{VERSION},"agent":"demo","title":"t","messages":['
    return head.encode() + messages + b"]}"


def with_attachment(**changes: Any) -> bytes:
    attachment = {"name": "a.png", "size": 9, "modality": "image", **changes}
    message = {"role": "user", "content": "Look", "attachments": [attachment]}
    return file_of(json.dumps(message).encode())
