"""How much of a room is read: the newest messages, in whole turns, whatever the policy is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.history import Entry, Head, NotLoaded, Transcript, Window, decide, resolve
from chatsite.history.path.transcript import split_turns, within_talk_limit
from chatsite.history.policies.table import POLICIES
from chatsite.messages import Message, TokenCount, ToolCall

TOKENS = TokenCount(count=10, tokenizer="t", basis="counted")
HEAD = Head.of(None)
WINDOW = Window(size=100_000, reply=100)


def entry(seq: int, message: Message, pinned: bool = False) -> Entry:
    return Entry(message=replace(message, tokens=TOKENS), seq=seq, pinned=pinned)


def said(seq: int, **fields: str) -> Message:
    fields = {"source": "talk", "speaker": "Ada"} | fields
    return Message.user(f"said {seq}", id=str(seq), **fields)  # type: ignore[arg-type]


def room(*roles: str, pinned: int = 0) -> Transcript:
    """One message for each role; the message `pinned` is."""
    entries = []
    for seq, role in enumerate(roles, 1):
        message = said(seq) if role == "user" else Message.assistant(f"it {seq}", id=str(seq))
        if role == "report":
            message = replace(message, source="scheduled")
        entries.append(entry(seq, message, pinned=seq == pinned))
    return Transcript(entries=tuple(entries))


def seqs(transcript: Transcript) -> list[int]:
    return [entry.seq for entry in transcript.entries]


TALK = ("user", "assistant", "user", "user", "assistant", "user")


@pytest.mark.parametrize(
    ("limit", "read"),
    [
        (None, [1, 2, 3, 4, 5, 6]),
        (100, [1, 2, 3, 4, 5, 6]),
        (6, [1, 2, 3, 4, 5, 6]),
        (5, [3, 4, 5, 6]),
        (4, [3, 4, 5, 6]),
        (3, [4, 5, 6]),
        (2, [6]),
        (1, [6]),
    ],
)
def test_the_newest_messages_are_read_in_whole_turns(limit: int | None, read: list[int]) -> None:
    assert seqs(within_talk_limit(room(*TALK), limit)) == read


def test_what_is_older_counts_as_not_loaded() -> None:
    found = within_talk_limit(room(*TALK), 3)
    assert found.not_loaded == NotLoaded(
        messages=3, users=2, tokens=30, first=1, last=3, over_talk_limit=True
    )


def test_a_pinned_turn_and_the_one_replied_to_are_read_however_old_they_are() -> None:
    transcript = room(*TALK, pinned=1)
    *before, current = transcript.entries
    reply = replace(current, message=replace(current.message, reply_to="3"))
    found = within_talk_limit(Transcript(entries=(*before, reply)), 1)
    assert seqs(found) == [1, 2, 3, 6]


def test_calls_results_and_reports_of_tasks_are_no_messages_of_the_room() -> None:
    called = Message.assistant(None, id="c", calls=(ToolCall(id="x", name="clock"),))
    result = Message.tool("{}", id="r", call_id="x")
    entries = [
        entry(1, said(1)),
        entry(2, called),
        entry(3, result),
        entry(4, Message.assistant("noon", id="4")),
        entry(5, replace(Message.assistant("report", id="5"), source="scheduled")),
        entry(6, said(6)),
    ]
    assert seqs(within_talk_limit(Transcript(entries=tuple(entries)), 3)) == [1, 2, 3, 4, 5, 6]
    assert seqs(within_talk_limit(Transcript(entries=tuple(entries)), 2)) == [6]


@given(
    roles=st.lists(st.sampled_from(["user", "assistant", "report"]), max_size=30),
    limit=st.integers(1, 40),
)
def test_never_more_is_read_than_the_limit_and_no_turn_is_cut(roles: list[str], limit: int) -> None:
    transcript = room("user", *roles, "user")
    found = within_talk_limit(transcript, limit)
    assert within_talk_limit(found, limit) == found
    kept, turns = set(seqs(found)), split_turns(transcript.entries)
    for turn in turns:
        inside = [one.seq in kept for one in turn.entries]
        assert all(inside) or not any(inside)
    older = [e for e in found.entries[:-1] if e.message.source != "scheduled"]
    assert len(older) < max(limit, 1) or not older
    assert found.not_loaded.messages + len(found.entries) == len(transcript.entries)


@pytest.mark.parametrize("policy", [name for name in POLICIES.names if name != "strategy"])
def test_every_policy_keeps_to_it_and_the_receipt_says_so(policy: str) -> None:
    transcript = room(*TALK)
    settings = resolve(
        environment={},
        url={},
        template={"historyPolicy": policy},
        room={"conversation": {"talk_context_limit": 1}},
    )
    decision = decide(transcript, settings, head=HEAD, window=WINDOW, agent="demo")
    assert [message.id for message in decision.request] == ["6"]
    older = next(verdict for verdict in decision.verdicts if verdict.first == 1)
    assert (older.reason, older.last, older.messages) == ("over_talk_limit", 5, 5)


def test_outside_a_room_it_limits_nothing() -> None:
    template = {"historyPolicy": "all", "conversation": {"talk_context_limit": 1}}
    settings = resolve(environment={}, url={}, template=template)
    decision = decide(room(*TALK), settings, head=HEAD, window=WINDOW, agent="demo")
    assert len(decision.request) == 6
    assert "talk_context_limit" not in settings.conversation_in_force
