"""One case: everything that a choice is made from. It can be drawn, written down and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hypothesis.vendor.pretty import RepresentationPrinter

from chatsite.history import Entry, Evidence, Head, Transcript, Window, turns
from chatsite.messages import Message, TokenCount

LENGTH, LOW_WATER = 20, 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Everything that `decide` takes, but for the policy.

    `options` are settings that some policies have, by their names in a template.
    """

    transcript: Transcript
    head: Head
    window: Window
    evidence: Evidence = Evidence()
    length: int = LENGTH
    budget: int | None = None
    low_water: int = LOW_WATER
    options: Mapping[str, object] = field(default_factory=dict, hash=False)

    @property
    def limit(self) -> int:
        """What a request may take, in tokens."""
        return min(self.window.room, self.budget or self.window.room)

    @property
    def afresh(self) -> Case:
        """The case without the receipt of an earlier request."""
        return replace(self, evidence=replace(self.evidence, previous=None))

    def _repr_pretty_(self, printer: RepresentationPrinter, cycle: bool) -> None:
        """How hypothesis shows a failing example: one word a message instead of twelve lines."""
        printer.text(self.in_short())

    def in_short(self) -> str:
        path = " ".join(in_short(entry) for entry in self.transcript.entries)
        head = " ".join(message_in_short(message) for message in self.head.messages)
        said = [f"head: {head or '-'}", f"path: {path}", f"limit: {self.limit}"]
        said += [f"length: {self.length}"] * (self.length != LENGTH)
        said += [f"low-water mark: {self.low_water} %"] * (self.low_water != LOW_WATER)
        said += [f"{name}: {value}" for name, value in self.options.items()]
        names = ("previous", "recall", "triaged", "summary", "chosen")
        found = {name: getattr(self.evidence, name) for name in names}
        said += [f"{name}: {value}" for name, value in found.items() if value is not None]
        return "\n".join(said)


def in_short(entry: Entry) -> str:
    """3u* is a pinned user message with number 3; ! excluded, ^ forgets above, ~ background,
    - unloaded."""
    message = entry.message
    marks = "*" * entry.pinned + "!" * entry.excluded + "^" * entry.forgets_above
    marks += "~" * (message.source != "web") + "-" * (message.kv_status <= 0)
    reply = f">{message.reply_to}" if message.reply_to else ""
    return f"{entry.seq}{message_in_short(message, marks + reply)}"


def message_in_short(message: Message, marks: str = "") -> str:
    """Role's letter, last letters of the calls' ids, 0 where it has no text, tokens."""
    ids = [call.id[-1:] for call in message.calls] or [(message.call_id or "")[-1:]]
    blank = "" if message.content else "0"
    size = f"({message.tokens.count})" if message.tokens else ""
    return f"{message.role[0]}{''.join(ids)}{blank}{marks}{size}"


def counted(message: Message, tokens: int | None = None) -> Message:
    """With a token count: about a quarter of its bytes, as real ones are."""
    size = len((message.content or "").encode()) // 4 + 4 + 8 * len(message.calls)
    count = TokenCount(count=tokens or size, tokenizer="test", basis="counted")
    return replace(message, tokens=count)


def head(*, prefilled: bool = False) -> Head:
    examples = (
        [Message.user("Hi", id="x1"), Message.assistant("Hello!", id="x2")] if prefilled else []
    )
    made = Head.of("You are helpful.", examples)
    return replace(made, messages=tuple(counted(message) for message in made.messages))


HEADS = (head(), head(prefilled=True), Head.of(None))


def turns_of(entries: Sequence[Entry]) -> list[tuple[Entry, ...]]:
    """Turns as tuples, system messages left out; what stands before the first user comes first."""
    said = [entry for entry in entries if entry.message.role != "system"]
    return [turn.entries for turn in turns(said)]
