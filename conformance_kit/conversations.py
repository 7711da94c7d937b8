"""Whole conversations as hypothesis draws them: ordinary ones, and all ways to be broken.

A turn is drawn as a few letters, so that an example costs some ten small draws and shrinks to
something one can read. The letters:

    a  an answer                       e  an empty answer          r  reasoning without a text
    c  a call and its result           p  three calls at once, their results shuffled
    m  a call without its result       w  two calls, one of them without a result
    o  a result without a call         d  two calls with one id    2  two results for one call
    f  a call and, behind another message, its result              b  a background task's answer
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from hypothesis import strategies as st

from chatsite.messages import Attachment, Message, Source, ToolCall
from conformance_kit.cases import Case, CaseEntry, split_turns, with_tokens

T = TypeVar("T")

PLAIN_LIMITS = (4_096, 1_000_000, 30, 60, 100, 160, 260, 400, 700, 1_500)
INSTRUCTIONS = with_tokens(Message.system("You are helpful.", id="personality"))
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

WHOLE = (*["a"] * 6, "ca", "ca", "pa", "cpa", "ccca")
BODIES = (
    *["a"] * 6, "", "", "ca", "ca", "pa", "cpa", "c", "ma", "m", "wa", "cw", "oa", "da", "2a", "fa",
    "e", "ra", "ba", "aa", "ccca",
)  # fmt: skip
UNMARKED = tuple(body for body in BODIES if "b" not in body)
RUNNING = ("", "", "", "c", "p", "cc")
TEXTS = (
    "hi", "What is the capital of France?", "你好,世界", "こんにちは、元気ですか。", "안녕하세요",
    "مرحبا بالعالم", "👩‍👩‍👧 👍🏽", "def f(x):\n    return x + 1\n", "long " * 40,
    "longer " * 90, "Longest. " * 90,
)  # fmt: skip
HUGE = "A very long message. " * 400
OPENINGS = ("", "", "", "a", "aa", "s", "sa", "sas", "oa", "c")
USER_MARKS = (
    *[""] * 8, "pin", "exclude", "forget", "scheduled", "briefing", "unload", "unload", "fail",
)  # fmt: skip
ANSWER_MARKS = ("", "", "", "", "", "", "", "", "pin", "exclude", "forget", "system", "unload")


class Dials:
    """Choices out of one number: ten times cheaper than a draw for each, and 0 is the plainest."""

    def __init__(self, number: int) -> None:
        self.number = number

    def of(self, choices: Sequence[T]) -> T:
        self.number, place = divmod(self.number, len(choices))
        return choices[place]


class PathWriter:
    """Writes a path turn by turn. Numbers have gaps, as on a path with several versions."""

    def __init__(self, *, timed: bool = False) -> None:
        self.entries: list[CaseEntry] = []
        self.calls = 0
        self.timed = timed

    def add(self, message: Message, mark: str = "") -> None:
        seq = (self.entries[-1].seq if self.entries else 0) + 1 + (len(self.entries) % 5 == 3)
        if mark in ("scheduled", "briefing"):
            source: Source = "scheduled" if mark == "scheduled" else "briefing"
            message = replace(message, source=source)
        if mark == "unload":  # by a cleanup, or marked for one
            message = replace(message, kv_status=-1 if message.role == "user" else 0)
        self.entries.append(
            CaseEntry(
                message=with_tokens(message),
                seq=seq,
                pinned=mark == "pin",
                excluded=mark == "exclude",
                unanswered=mark == "fail",
                forgets_above=mark == "forget",
                at=NOON + timedelta(hours=len(self.entries)) if self.timed else None,
            )
        )

    def turn(self, body: str, *, text: str, mark: str, answer_mark: str) -> None:
        """With the mark "fail" nothing of an answer is there, but maybe a background task's."""
        self.add(Message.user(text, id=self._id()), mark)
        self.answers("b" * body.count("b") if mark == "fail" else body, text=text, mark=answer_mark)

    def answers(self, body: str, *, text: str, mark: str = "") -> None:
        if mark == "system":
            self.add(Message.system("Be kind.", id=self._id()))
        for letter in body:
            self._answer(letter, text, "" if mark == "system" else mark)

    def _answer(self, letter: str, text: str, mark: str) -> None:
        if letter == "a":
            self.add(Message.assistant(text, id=self._id(), metadata='{"a" :1}'), mark)
        elif letter == "b":
            self.add(Message.assistant(text, id=self._id()), "briefing")
        elif letter == "e":
            self.add(Message.assistant("", id=self._id()), mark)
        elif letter == "r":
            self.add(Message.assistant(None, id=self._id(), reasoning="So it is."), mark)
        elif letter == "s":
            self.add(Message.system("Answer briefly.", id=self._id()), mark)
        else:
            self._round(letter, mark)

    def _round(self, letter: str, mark: str) -> None:
        """One round of tools: ids of calls made, and of results in their order."""
        first = self.calls % 7  # ids come again in later rounds, as some models do
        self.calls += 3
        one, two, three = (f"call-{first + number}" for number in range(3))
        made, results = {
            "c": ([one], [one]),
            "p": ([one, two, three], [three, one, two]),
            "m": ([one], []),
            "w": ([one, two], [two]),
            "o": ([], [one]),
            "d": ([one, one], [one, one]),
            "2": ([one], [one, one]),
            "f": ([one], ["-", one]),
        }[letter]
        if made:
            calls = tuple(ToolCall(id=id, name="search", arguments={"q": "x"}) for id in made)
            said = None if len(made) > 1 else "Let me look."
            self.add(Message.assistant(said, id=self._id(), calls=calls, reasoning="Search."), mark)
        for id in results:
            if id == "-":
                self.add(Message.assistant("Just a moment.", id=self._id()))
            else:
                self.add(Message.tool('{"ok": true}', id=self._id(), call_id=id))

    def _id(self) -> str:
        return f"m{len(self.entries)}"


@st.composite
def paths(draw: st.DrawFn) -> tuple[CaseEntry, ...]:
    """A whole path: an opening, up to seven turns and the current one, in any state."""
    first = Dials(draw(st.integers(0, 99_999)))
    writer = PathWriter(timed=first.of((False, True)))
    writer.answers(first.of(OPENINGS), text="Welcome!")
    numbers = draw(st.lists(st.integers(0, 99_999), min_size=1, max_size=8))
    pending = first.of((True, False))
    for place, number in enumerate(numbers, 1):
        dials = Dials(number)
        body, text = dials.of(BODIES), dials.of(TEXTS)
        if place == len(numbers) and pending:
            body = ""
        writer.turn(body, text=text, mark=dials.of(USER_MARKS), answer_mark=dials.of(ANSWER_MARKS))
    return _with_oddity(first, writer.entries)


def _with_oddity(dials: Dials, entries: list[CaseEntry]) -> tuple[CaseEntry, ...]:
    """Sometimes one message is huge, one has a file, and the current one replies to another."""
    odd = dials.of(("", "", "huge", "file", "reply"))
    place = dials.of(range(len(entries)))
    message = entries[place].message
    if odd == "huge" and message.role != "tool":
        entries[place] = replace(
            entries[place], message=with_tokens(replace(message, content=HUGE))
        )
    elif odd == "file" and message.role == "user":
        file = Attachment(id="f", name="plan.pdf", size=9, modality="document")
        entries[place] = replace(entries[place], message=replace(message, attachments=(file,)))
    elif odd == "reply":
        asked = split_turns(entries)[-1][0]
        reply = replace(asked, message=replace(asked.message, reply_to=message.id))
        entries[entries.index(asked)] = reply
    return tuple(entries)


@st.composite
def plain_paths(draw: st.DrawFn, *, broken: bool) -> tuple[CaseEntry, ...]:
    """A path without marks, for a function that knows nothing of them.

    Unless it may be broken, every turn but the running one has been answered, and every call has
    its results: what any provider accepts.
    """
    writer = PathWriter()
    first = Dials(draw(st.integers(0, 9_999)))
    writer.answers(first.of(("", "", "a", "oa", "c")) if broken else "", text="Welcome!")
    numbers = draw(st.lists(st.integers(0, 9_999), min_size=1, max_size=12))
    for number in numbers[:-1]:
        dials = Dials(number)
        text, body = dials.of(TEXTS), dials.of(UNMARKED if broken else WHOLE)
        writer.turn(body, text=text, mark="", answer_mark="")
    last = Dials(numbers[-1])
    writer.turn(last.of(RUNNING), text=last.of(TEXTS), mark="", answer_mark="")
    return tuple(writer.entries)


@st.composite
def plain_cases(draw: st.DrawFn, *, broken: bool = False) -> Case:
    """Messages and a number of tokens: what a function that trims is given."""
    dials = Dials(draw(st.integers(0, 999)))
    limit = dials.of(PLAIN_LIMITS)
    head = dials.of(((INSTRUCTIONS,), ()))
    return Case(head=head, limit=limit, entries=draw(plain_paths(broken=broken)))
