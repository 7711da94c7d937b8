"""Conversations as hypothesis draws them: ordinary ones, and every way in which one is broken.

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
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter

from chatsite.history import (
    Entry,
    Evidence,
    Head,
    Previous,
    Run,
    Settings,
    Transcript,
    Unloaded,
    Window,
    resolve,
    turns,
)
from chatsite.messages import Attachment, Message, Source, TokenCount, ToolCall

T = TypeVar("T")

BODIES = (
    *["a"] * 6, "", "", "ca", "ca", "pa", "cpa", "c", "ma", "m", "wa", "cw", "oa", "da", "2a", "fa",
    "e", "ra", "ba", "aa", "ccca",
)  # fmt: skip
TEXTS = (
    "hi", "What is the capital of France?", "你好,世界", "こんにちは、元気ですか。", "안녕하세요",
    "مرحبا بالعالم", "👩‍👩‍👧 👍🏽", "def f(x):\n    return x + 1\n", "long " * 40,
)  # fmt: skip
HUGE = "A very long message. " * 400
OPENINGS = ("", "", "", "a", "aa", "s", "sa", "sas", "oa", "c")
USER_MARKS = ("", "", "", "", "", "", "", "", "pin", "exclude", "forget", "scheduled", "briefing")
ANSWER_MARKS = ("", "", "", "", "", "", "", "", "pin", "exclude", "forget", "system")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Everything that `decide` takes, but for the policy; and the length and budget apart."""

    transcript: Transcript
    head: Head
    window: Window
    evidence: Evidence
    length: int
    budget: int | None
    low_water: int

    def settings(self, policy: str) -> Settings:
        return settings_of(policy, self.length, self.budget, self.low_water)

    def _repr_pretty_(self, printer: RepresentationPrinter, cycle: bool) -> None:
        """How hypothesis shows a failing example: one word a message instead of twelve lines."""
        path = " ".join(in_short(entry) for entry in self.transcript.entries)
        printer.text(
            f"[{path}] head={len(self.head.messages)} window={self.window.size}-"
            f"{self.window.reply} length={self.length} budget={self.budget} "
            f"low_water={self.low_water} previous={self.evidence.previous}"
        )


def in_short(entry: Entry) -> str:
    """3u* is a pinned user message with number 3; ! excluded, ^ forgets above, ~ background."""
    message = entry.message
    marks = "*" * entry.pinned + "!" * entry.excluded + "^" * entry.forgets_above
    marks += "~" * (message.source != "web")
    ids = [call.id[-1] for call in message.calls] or [(message.call_id or "")[-1:]]
    blank = "" if message.content else "0"
    reply = f">{message.reply_to}" if message.reply_to else ""
    size = f"({message.tokens.count})" if message.tokens else ""
    return f"{entry.seq}{message.role[0]}{''.join(ids)}{blank}{marks}{reply}{size}"


@cache
def settings_of(policy: str, length: int, budget: int | None, low_water: int) -> Settings:
    """As if an agent had said so."""
    template: dict[str, object] = {
        "historyPolicy": policy,
        "historyLength": length,
        "historyTokens": budget,
        "historyLowWater": low_water,
    }
    return resolve(environment={}, url={}, template=template)


def counted(message: Message, tokens: int | None = None) -> Message:
    """With a token count: about a quarter of its bytes, as real ones are."""
    size = len((message.content or "").encode()) // 4 + 4 + 8 * len(message.calls)
    count = TokenCount(count=tokens or size, tokenizer="test", basis="counted")
    return replace(message, tokens=count)


class Writer:
    """Writes a transcript turn by turn. Numbers have gaps, as on a path with several versions."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.calls = 0

    def add(self, message: Message, mark: str = "") -> None:
        seq = (self.entries[-1].seq if self.entries else 0) + 1 + (len(self.entries) % 5 == 3)
        if mark in ("scheduled", "briefing"):
            source: Source = "scheduled" if mark == "scheduled" else "briefing"
            message = replace(message, source=source)
        self.entries.append(
            Entry(
                message=counted(message),
                seq=seq,
                pinned=mark == "pin",
                excluded=mark == "exclude",
                forgets_above=mark == "forget",
            )
        )

    def turn(self, body: str, *, text: str, mark: str, answer_mark: str) -> None:
        self.add(Message.user(text, id=self._id()), mark)
        self.answers(body, text=text, mark=answer_mark)

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


class Dials:
    """Choices out of one number: ten times cheaper than a draw for each, and 0 is the plainest."""

    def __init__(self, number: int) -> None:
        self.number = number

    def of(self, choices: Sequence[T]) -> T:
        self.number, place = divmod(self.number, len(choices))
        return choices[place]


@st.composite
def transcripts(draw: st.DrawFn) -> Transcript:
    """A whole path: an opening, up to seven turns and the current one, in any state."""
    first = Dials(draw(st.integers(0, 99_999)))
    writer = Writer()
    writer.answers(first.of(OPENINGS), text="Welcome!")
    numbers = draw(st.lists(st.integers(0, 99_999), min_size=1, max_size=8))
    pending = first.of((True, False))
    for place, number in enumerate(numbers, 1):
        dials = Dials(number)
        body, text = dials.of(BODIES), dials.of(TEXTS)
        if place == len(numbers) and pending:
            body = ""
        writer.turn(body, text=text, mark=dials.of(USER_MARKS), answer_mark=dials.of(ANSWER_MARKS))
    return _touched(first, writer.entries)


def _touched(dials: Dials, entries: list[Entry]) -> Transcript:
    """Sometimes one message is huge, one has a file, and the current one replies to another."""
    odd = dials.of(("", "", "huge", "file", "reply"))
    place = dials.of(range(len(entries)))
    message = entries[place].message
    if odd == "huge" and message.role != "tool":
        entries[place] = replace(entries[place], message=counted(replace(message, content=HUGE)))
    elif odd == "file" and message.role == "user":
        file = Attachment(id="f", name="plan.pdf", size=9, modality="document")
        entries[place] = replace(entries[place], message=replace(message, attachments=(file,)))
    elif odd == "reply":
        asked = turns_of(entries)[-1][0]
        reply = replace(asked, message=replace(asked.message, reply_to=message.id))
        entries[entries.index(asked)] = reply
    return Transcript(entries=tuple(entries))


def head(*, prefilled: bool = False) -> Head:
    examples = (
        [Message.user("Hi", id="x1"), Message.assistant("Hello!", id="x2")] if prefilled else []
    )
    made = Head.of("You are helpful.", examples)
    return replace(made, messages=tuple(counted(message) for message in made.messages))


HEADS = (head(), head(prefilled=True), Head.of(None))
SIZES = (4_096, 1_000_000, 60, 100, 160, 260, 400, 700, 1_500)


def previous(dials: Dials) -> Previous | None:
    """Evidence that may be wrong in every way: another path's, another head's, nonsense."""
    kind = dials.of(("none", "none", "some", "wrong"))
    if kind == "none":
        return None
    first = dials.of(range(1, 13))
    return Previous(
        head_hash="0" * 64 if kind == "wrong" else HEADS[0].hash,
        layout=(Run(first, first + dials.of(range(20))),),
        cut=dials.of((None, first, first + 3)),
        under=dials.of(("all   50", "all   1", "lastN 3  50")),
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    dials = Dials(draw(st.integers(0, 2**24 - 1)))
    size = dials.of(SIZES)
    return Case(
        window=Window(size, size // dials.of((4, 10))),
        head=dials.of(HEADS),
        length=dials.of((3, 0, 1, 2, 5, 20, 1_000_000)),
        budget=dials.of((None, None, None, 60, 150, 400, 5_000)),
        low_water=dials.of((50, 1, 25, 75, 100)),
        evidence=Evidence(previous=previous(Dials(draw(st.integers(0, 99_999))))),
        transcript=draw(transcripts()),
    )


def as_loaded(transcript: Transcript, *, users: int) -> Transcript:
    """What a store loads for that many user messages: the tail, and above it what is marked."""
    entries = transcript.entries
    replied = turns_of(entries)[-1][0].message.reply_to
    current = turns_of(entries)[-1][0].seq
    asked = [
        entry.seq
        for entry in entries
        if entry.message.role == "user" and (entry.message.source == "web" or entry.seq == current)
    ]
    cut = asked[-users] if len(asked) >= users else 0
    marked = {
        entry.seq
        for turn in turns_of(entries)
        if any(e.pinned or e.excluded or e.forgets_above or e.message.id == replied for e in turn)
        for entry in turn
    }
    away = [
        e for e in entries if e.seq < cut and e.seq not in marked and e.message.role != "system"
    ]
    gone = {entry.seq for entry in away}
    return Transcript(
        entries=tuple(entry for entry in entries if entry.seq not in gone),
        unloaded=Unloaded(
            messages=len(away),
            users=sum(entry.message.role == "user" for entry in away),
            tokens=sum(entry.message.tokens.count for entry in away if entry.message.tokens),
            first=away[0].seq if away else 0,
            last=away[-1].seq if away else 0,
        ),
    )


def turns_of(entries: Sequence[Entry]) -> list[tuple[Entry, ...]]:
    """Turns as tuples, system messages left out; what stands before the first user comes first."""
    said = [entry for entry in entries if entry.message.role != "system"]
    return [turn.entries for turn in turns(said)]
