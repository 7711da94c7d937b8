"""The request in its order, and its layout: of what it is made after the head."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chatsite.history.decision.fit import Fitted
from chatsite.history.policies.strategy_slots import Text
from chatsite.history.values.layout import Item, Run, Written
from chatsite.history.values.transcript import Entry, Transcript
from chatsite.history.values.window import Head
from chatsite.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """`history` are the stored messages sent in their places, `texts` a strategy's own."""

    request: tuple[Message, ...]
    layout: tuple[Item, ...]
    history: tuple[Message, ...]
    texts: tuple[Message, ...]


def compose(
    fitted: Fitted,
    transcript: Transcript,
    *,
    head: Head,
    instructions: Sequence[Entry],
    texts: Sequence[Text],
) -> Composed:
    """Head, instructions, then from what changes least to what changes most: a prompt's
    beginning that stays the same costs a tenth where the provider keeps it."""
    places = _Places(transcript)
    system = [text.message for text in texts if text.place == "system"]
    before = [text.message for text in texts if text.place == "before"]
    after = [text.message for text in texts if text.place == "after"]
    summary = [fitted.summary] if fitted.summary else []
    quoted = [fitted.quotes.message] if fitted.quotes.message else []
    older = [entry for fate in fitted.choice.loads for entry in fate.entries]
    shortened = {
        entry.seq: fate.limit
        for fate in fitted.choice.loads
        if fate.limit
        for entry in fate.entries
        if entry is not places.entry(entry.seq)
    }
    current = fitted.choice.current.entries
    history = tuple(entry.message for entry in older)
    source = fitted.source
    layout: list[Item] = [
        *places.runs(instructions),
        *(Written.of(message, "text") for message in system),
        *(
            Written.of(message, "summary", id=f"{source.id}" if source else "")
            for message in summary
        ),
        *(Written.of(message, "text") for message in before),
        *places.runs(older, shortened=shortened),
        *(Written.of(message, "text") for message in after),
        *(
            Written.of(message, "recalled", sources=[e.seq for e in fitted.quotes.entries])
            for message in quoted
        ),
        *places.runs(current),
    ]
    return Composed(
        request=(
            *head.system,
            *(entry.message for entry in instructions),
            *system,
            *head.examples,
            *summary,
            *before,
            *history,
            *after,
            *quoted,
            *(entry.message for entry in current),
        ),
        layout=tuple(layout),
        history=history,
        texts=(*system, *before, *after),
    )


class _Places:
    """Where the entries lie on the loaded path: neighbours are one run."""

    def __init__(self, transcript: Transcript) -> None:
        self._entries = transcript.entries
        self._index = {entry.seq: place for place, entry in enumerate(transcript.entries)}
        self._away = transcript.unloaded.last

    def entry(self, seq: int) -> Entry:
        return self._entries[self._index[seq]]

    def runs(
        self, entries: Sequence[Entry], *, shortened: dict[int, int] | None = None
    ) -> Iterator[Run]:
        """One run for neighbours; a shortened message is a run by itself, and marked turns among
        what was not loaded are nobody's neighbours."""
        cut = shortened or {}
        first: Entry | None = None
        last: Entry | None = None
        for entry in entries:
            if first is None or last is None:
                first = last = entry
            elif self._touch(last, entry) and entry.seq not in cut and last.seq not in cut:
                last = entry
            else:
                yield Run(first.seq, last.seq, cut.get(first.seq, 0))
                first = last = entry
        if first is not None and last is not None:
            yield Run(first.seq, last.seq, cut.get(first.seq, 0))

    def _touch(self, one: Entry, other: Entry) -> bool:
        apart = one.seq <= self._away and other.message.role in ("user", "system")
        return not apart and self._index[other.seq] == self._index[one.seq] + 1
