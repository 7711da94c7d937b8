"""Which messages of a path a strategy may select: none that a person left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chatsite.history import Entry, Transcript
from chatsite.history.path.marks import selectable_entries
from chatsite.messages import Message, ToolCall

PATH = (
    Entry(message=Message.assistant("Welcome!", id="0"), seq=1),
    Entry(message=Message.user("one", id="1"), seq=2),
    Entry(message=Message.assistant("1", id="2"), seq=3),
    Entry(message=Message.system("Be brief.", id="3"), seq=4),
    Entry(message=Message.user("two", id="4"), seq=5),
    Entry(message=Message.assistant("2", id="5"), seq=6),
    Entry(message=Message.user("now", id="6"), seq=7),
)


def seqs(*entries: Entry, reply_to: frozenset[str] = frozenset()) -> list[int]:
    return [
        entry.seq for entry in selectable_entries(Transcript(entries=entries), reply_to=reply_to)
    ]


def with_mark(seq: int, **marks: Any) -> list[Entry]:
    return [replace(entry, **marks) if entry.seq == seq else entry for entry in PATH]


def test_everything_before_the_current_message_except_the_greeting() -> None:
    assert seqs(*PATH) == [2, 3, 4, 5, 6]
    assert seqs(*PATH[:1], PATH[-1]) == []


def test_an_excluded_question_takes_its_turn_and_an_excluded_answer_itself() -> None:
    assert seqs(*with_mark(2, excluded=True)) == [4, 5, 6]
    assert seqs(*with_mark(3, excluded=True)) == [2, 4, 5, 6]
    assert seqs(*with_mark(4, excluded=True)) == [2, 3, 5, 6]


def test_nothing_above_the_marker() -> None:
    assert seqs(*with_mark(5, forgets_above=True)) == [5, 6]
    assert seqs(*with_mark(7, forgets_above=True)) == []


def test_background_messages_only_if_pinned_or_replied_to() -> None:
    briefing = replace(PATH[4], message=replace(PATH[4].message, source="briefing"))
    path = [*PATH[:4], briefing, *PATH[5:]]
    assert seqs(*path) == [2, 3, 4]
    assert seqs(*path, reply_to=frozenset({"5"})) == [2, 3, 4, 5, 6]
    assert seqs(*path[:5], replace(PATH[5], pinned=True), PATH[6]) == [2, 3, 4, 5, 6]
    task = replace(PATH[5], message=replace(PATH[5].message, source="scheduled"))
    assert seqs(*PATH[:5], task, PATH[6]) == [2, 3, 4, 5]


def test_no_call_without_its_result() -> None:
    call = Message.assistant(None, id="5", calls=(ToolCall(id="c", name="look"),))
    assert seqs(*PATH[:5], replace(PATH[5], message=call), PATH[6]) == [2, 3, 4, 5]
