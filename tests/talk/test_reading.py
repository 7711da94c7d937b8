"""What Talk says of a message, as a value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.talk.records import RoomFile, RoomMessage
from chatsite.talk.text.messages import (
    Reference,
    id_of_actor,
    named_ids,
    read_change,
    read_message,
    read_reaction,
    read_reference,
    resolve_text,
)

TURN = "5f0c9c4e-6a52-4d3c-9c2a-0d1f6f7b8c9d"
BOT = {"type": "user", "id": "assistant", "name": "Assistant"}
ADA = {"type": "user", "id": "ada", "name": "Ada Lovelace"}


def raw(text: str = "Hello", **fields: Any) -> dict[str, Any]:
    return {
        "id": 17,
        "token": "f5kq8zr2",
        "actorType": "users",
        "actorId": "ada",
        "actorDisplayName": "Ada Lovelace",
        "timestamp": 1764000000,
        "systemMessage": "",
        "messageType": "comment",
        "referenceId": "",
        "message": text,
        "messageParameters": [],
        **fields,
    }


def read(text: str = "Hello", **fields: Any) -> RoomMessage:
    found = read_message(raw(text, **fields), bot="assistant")
    assert found is not None
    return found


def test_a_message_is_read_with_who_wrote_it_and_when() -> None:
    assert read("How deep is it?") == RoomMessage(
        id=17,
        actor="users/ada",
        name="Ada Lovelace",
        kind="said",
        text="How deep is it?",
        sent=1764000000,
    )


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("{mention-user1}: what's up?", "what's up?"),
        ("{mention-user1}, what's up?", "what's up?"),
        ("{mention-user1} what's up?", "what's up?"),
        ("{mention-user1} : ça va ?", "ça va ?"),
        ("{mention-user1}：高さは？", "高さは？"),
        ("{mention-user1}、 高さは？", "高さは？"),
        ("{mention-user1}، كم الارتفاع؟", "كم الارتفاع؟"),
        ("{mention-user1}\n\nwhat's up?", "what's up?"),
        ("  {mention-user1}", ""),
        ("Hi {mention-user1}, what's up?", "Hi, what's up?"),
        ("Can {mention-user1} say?", "Can say?"),
        ("Thanks {mention-user1}", "Thanks"),
        ("{mention-user1} {mention-user1}: again", "again"),
        ("{mention-user2} and {mention-user1}?", "@Ada Lovelace and?"),
        ("All: {mention-call1}", "All: @Harbour works"),
        ("See {file}.", "See survey.pdf."),
        ("{unknown} {mention-user9}", "{unknown} {mention-user9}"),
        ("{nested}", "{mention-user1}"),
    ],
)
def test_placeholders_are_resolved_and_the_bots_own_mention_is_taken_out(
    text: str, seen: str
) -> None:
    parameters = {
        "mention-user1": BOT,
        "mention-user2": ADA,
        "mention-call1": {"type": "call", "id": "f5kq8zr2", "name": "Harbour works"},
        "file": {
            "type": "file",
            "id": "7",
            "name": "survey.pdf",
            "path": "Talk/survey.pdf",
            "size": "9",
        },
        "nested": {"type": "highlight", "id": "1", "name": "{mention-user1}"},
    }
    found = read(text, messageParameters=parameters)
    assert found.text == seen
    assert found.mentioned == ("{mention-user1}" in text)
    assert found.files == (RoomFile(id=7, name="survey.pdf", path="Talk/survey.pdf", size=9),)


def test_a_user_of_another_server_with_the_bots_name_is_somebody_else() -> None:
    other = {**BOT, "server": "https://evil.example", "mention-id": "federated_user/a@evil.example"}
    found = read("{mention-user1}: hello", messageParameters={"mention-user1": other})
    assert (found.mentioned, found.text) == (False, "@Assistant: hello")
    here = read(
        "{mention-user1}: hello", messageParameters={"mention-user1": {**BOT, "server": ""}}
    )
    assert (here.mentioned, here.text) == (True, "hello")


def test_whom_a_message_names_is_told_by_ids_and_never_by_names() -> None:
    eve = {"type": "user", "id": "eve", "name": 'bob @"group/staff"'}
    parameters = {
        "mention-user1": eve,
        "mention-group1": {"type": "user-group", "id": "crew", "name": "@bob"},
        "mention-guest1": {"type": "guest", "id": "guest/1f", "name": "all"},
        "mention-federated-user1": {
            "type": "user",
            "id": "ada",
            "name": "Ada",
            "server": "https://b.example",
            "mention-id": "federated_user/ada@b.example",
        },
        "mention-federated-user2": {"type": "user", "id": "bob", "server": "https://b.example"},
        "mention-user9": {"type": "user", "id": "unused", "name": "U"},
        "object": {"type": "user", "id": "bob", "name": "Bob", "mention-id": "bob"},
    }
    used = " ".join(f"{{{key}}}" for key in parameters if key != "mention-user9")
    found = named_ids(raw(f"@all @bob {used}", messageParameters=parameters))
    assert found == {"eve", "group/crew", "guest/1f", "federated_user/ada@b.example"}
    assert named_ids([]) == frozenset()
    assert named_ids(raw("{mention-user1}", messageParameters={"mention-user1": 3})) == frozenset()


@pytest.mark.parametrize(
    ("actor", "id"),
    [("users/ada", "ada"), ("guests/1f", "guest/1f"), ("bots/all", ""), ("users/", ""), ("", "")],
)
def test_who_wrote_is_mentioned_by_the_id(actor: str, id: str) -> None:
    assert id_of_actor(actor) == id


@given(
    st.text(alphabet="ab {}:,-1\n", max_size=60),
    st.dictionaries(
        st.text(alphabet="ab-1", min_size=1, max_size=4),
        st.fixed_dictionaries({"type": st.just("user"), "name": st.text(max_size=8)}),
        max_size=4,
    ),
)
def test_text_without_the_bots_name_loses_nothing(text: str, parameters: dict[str, Any]) -> None:
    """Whatever people write: resolving replaces known placeholders and changes nothing else."""
    expected = text
    for key, one in parameters.items():
        if not one["name"]:
            continue
        expected = expected.replace(f"{{{key}}}", f"\0{key}\0")
    for key, one in parameters.items():
        expected = expected.replace(f"\0{key}\0", one["name"])
    if not any("\0" in one["name"] for one in parameters.values()):
        assert resolve_text(text, parameters, bot="assistant") == expected.strip()


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({}, "said"),
        ({"messageType": "comment_deleted"}, "deleted"),
        ({"deleted": True}, "deleted"),
        ({"systemMessage": "call_started", "messageType": "system"}, "system"),
        ({"messageType": "command"}, "system"),
        ({"messageType": "voice-message"}, "said"),
        ({"actorId": "assistant", "referenceId": f"chatsite:{TURN}:result"}, "result"),
        ({"actorId": "assistant", "referenceId": f"chatsite:{TURN}:3:result"}, "result"),
        ({"actorId": "assistant", "referenceId": f"chatsite:{TURN}:ack"}, "ack"),
        ({"actorId": "assistant", "referenceId": f"chatsite:{TURN}:progress"}, "progress"),
        ({"actorId": "ada", "referenceId": f"chatsite:{TURN}:result"}, "said"),
    ],
)
def test_the_kind_of_a_message_is_told(fields: dict[str, Any], kind: str) -> None:
    assert read(**fields).kind == kind


def test_the_message_that_is_replied_to_is_read() -> None:
    parent = raw(id=9, actorId="assistant", referenceId=f"chatsite:{TURN}:result")
    found = read("And then?", parent=parent)
    assert (found.parent, found.parent_reference) == (9, f"chatsite:{TURN}:result")
    assert found.to_bot
    gone = read("And then?", parent={"id": 9, "deleted": True})
    assert (gone.parent, gone.to_bot) == (9, False)


def system(name: str, **fields: Any) -> dict[str, Any]:
    return raw(**{"messageType": "system", "systemMessage": name, **fields})


def test_system_messages_tell_what_became_of_earlier_ones() -> None:
    edited = read_change(
        system("message_edited", parent=raw("New text", id=9, lastEditTimestamp=5)), bot="assistant"
    )
    assert edited is not None and edited.after is not None
    assert (edited.kind, edited.message, edited.after.text) == ("edited", 9, "New text")
    assert edited.after.edited == 5
    deleted = read_change(
        system("message_deleted", parent={"id": 9, "deleted": True}), bot="assistant"
    )
    assert deleted is not None and (deleted.kind, deleted.message) == ("deleted", 9)
    reaction = read_reaction(system("reaction", message="🛑", parent=raw(id=9)))
    assert reaction is not None
    assert (reaction.message, reaction.emoji, reaction.by) == (9, "🛑", "users/ada")
    cleared = read_change(system("history_cleared"), bot="assistant")
    assert cleared is not None and (cleared.kind, cleared.message) == ("cleared", 17)
    assert read_change(system("call_started"), bot="assistant") is None
    assert read_change(raw(), bot="assistant") is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(raw() | {"parent": 0, "deleted": 0})), _JSON))
def test_whatever_a_server_says_is_read_without_an_error(fields: dict[str, Any]) -> None:
    for value in (fields, raw() | fields, system("message_edited") | fields):
        read_message(value, bot="assistant")
        named_ids(value)
        read_change(value, bot="assistant")
        read_reaction(value)


@pytest.mark.parametrize(
    ("kind", "id", "name"),
    [
        ("guests", "a1" * 20, "Guest"),
        ("emails", "b2" * 32, "Guest"),
        ("users", "ada", "ada"),
        ("federated_users", "eve@far.example", "eve@far.example"),
    ],
)
def test_who_has_no_name_is_a_guest_where_the_id_says_nothing(
    kind: str, id: str, name: str
) -> None:
    assert read(actorType=kind, actorId=id, actorDisplayName="").name == name


@given(st.uuids(), st.sampled_from(["result", "ack", "progress"]), st.integers(1, 9999))
def test_a_reference_id_is_read_as_it_was_written(about: Any, tag: Any, part: int) -> None:
    reference = Reference(str(about), tag, part)
    assert read_reference(str(reference)) == reference
    assert len(str(reference)) <= 64


@pytest.mark.parametrize("other", ["", "chatsite:x:result", f"chatsite:{TURN}:1:result", TURN])
def test_reference_ids_of_others_are_told(other: str) -> None:
    assert read_reference(other) in (None, Reference(TURN, "result", 1))
