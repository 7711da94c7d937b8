"""The request in its order, and its layout: the list of its items after the head."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from chatsite.history.path.overflow import FittedPath
from chatsite.history.path.policy_choice import StrategyText, TextPlace
from chatsite.history.path.quotes import Quotes
from chatsite.history.path.turn_verdicts import TurnVerdict
from chatsite.history.values.layout import AddedMessage, LayoutItem, StoredRun
from chatsite.history.values.transcript import Entry, Transcript
from chatsite.history.values.window import Head
from chatsite.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedRequest:
    """`history` are the stored messages sent in their places, `texts` a strategy's own, `quoted`
    the messages of ours that quote older ones."""

    request: tuple[Message, ...]
    layout: tuple[LayoutItem, ...]
    history: tuple[Message, ...]
    texts: tuple[Message, ...]
    quoted: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class _Section:
    """Neighbours in the request, and their items in its layout."""

    messages: tuple[Message, ...]
    items: tuple[LayoutItem, ...]


def compose(
    fitted: FittedPath,
    head: Head,
    transcript: Transcript,
    *,
    instructions: Sequence[Entry],
    texts: Sequence[StrategyText],
) -> ComposedRequest:
    """Head, instructions, then from what changes least to what changes most: a prompt's
    beginning that stays the same costs a tenth where the provider keeps it."""
    places, sent = _Places(transcript), fitted.verdict.sent
    first = [places.section(instructions), _added(texts, "system")]
    before, after = _added(texts, "before"), _added(texts, "after")
    quoted = _quoted(fitted.quotes)
    rest = [
        _summary(fitted),
        before,
        *_history(sent, fitted.earlier_quotes, places),
        after,
        quoted,
        places.section(fitted.verdict.current.entries),
    ]
    return ComposedRequest(
        request=(*head.system, *_messages(first), *head.examples, *_messages(rest)),
        layout=tuple(item for section in (*first, *rest) for item in section.items),
        history=tuple(entry.message for turn in sent for entry in turn.entries),
        texts=(*first[1].messages, *before.messages, *after.messages),
        quoted=(*_messages(map(_quoted, fitted.earlier_quotes)), *quoted.messages),
    )


def _history(
    sent: Sequence[TurnVerdict], earlier_quotes: Iterable[Quotes], places: _Places
) -> Iterator[_Section]:
    """The older turns in their places, each with what is quoted before it."""
    shortened = _shortened(sent, places)
    quotes = {quotes.before: quotes for quotes in earlier_quotes}
    neighbours: list[Entry] = []
    for turn in sent:
        if turn.first in quotes:
            yield places.section(neighbours, shortened=shortened)
            yield _quoted(quotes[turn.first])
            neighbours = []
        neighbours += turn.entries
    yield places.section(neighbours, shortened=shortened)


def _messages(sections: Iterable[_Section]) -> Iterator[Message]:
    return (message for section in sections for message in section.messages)


def _added(texts: Sequence[StrategyText], place: TextPlace) -> _Section:
    messages = tuple(text.message for text in texts if text.place == place)
    return _Section(messages, tuple(AddedMessage.of(message, "text") for message in messages))


def _summary(fitted: FittedPath) -> _Section:
    message, source = fitted.summary, fitted.summary_source
    if message is None:
        return _Section((), ())
    id = f"{source.id}" if source else ""
    return _Section((message,), (AddedMessage.of(message, "summary", id=id),))


def _quoted(quotes: Quotes) -> _Section:
    """The message that quotes, with the one it stands before as its id in the layout."""
    message = quotes.message
    if message is None:
        return _Section((), ())
    sources = [entry.seq for entry in quotes.entries]
    item = AddedMessage.of(message, "recalled", id=f"{quotes.before}", sources=sources)
    return _Section((message,), (item,))


def _shortened(sent: Sequence[TurnVerdict], places: _Places) -> dict[int, int]:
    """The number of characters of each answer that was cut, by its sequence number."""
    return {
        entry.seq: turn.limit
        for turn in sent
        if turn.limit
        for entry in turn.entries
        if entry is not places.entry(entry.seq)
    }


class _Places:
    """Where the entries are on the loaded path: neighbours are one run."""

    def __init__(self, transcript: Transcript) -> None:
        self._entries = transcript.entries
        self._index = {entry.seq: place for place, entry in enumerate(transcript.entries)}
        self._last_not_loaded = transcript.not_loaded.last

    def entry(self, seq: int) -> Entry:
        return self._entries[self._index[seq]]

    def section(
        self, entries: Sequence[Entry], *, shortened: Mapping[int, int] | None = None
    ) -> _Section:
        messages = tuple(entry.message for entry in entries)
        return _Section(messages, tuple(self._runs(entries, shortened or {})))

    def _runs(self, entries: Sequence[Entry], shortened: Mapping[int, int]) -> Iterator[StoredRun]:
        """One run for neighbours; a shortened message is a run by itself, and marked turns among
        what was not loaded are nobody's neighbours."""
        first: Entry | None = None
        last: Entry | None = None
        for entry in entries:
            if first is None or last is None:
                first = last = entry
            elif (
                self._touch(last, entry)
                and entry.seq not in shortened
                and last.seq not in shortened
            ):
                last = entry
            else:
                yield StoredRun(first.seq, last.seq, shortened.get(first.seq, 0))
                first = last = entry
        if first is not None and last is not None:
            yield StoredRun(first.seq, last.seq, shortened.get(first.seq, 0))

    def _touch(self, one: Entry, other: Entry) -> bool:
        apart = one.seq <= self._last_not_loaded and other.message.role in ("user", "system")
        return not apart and self._index[other.seq] == self._index[one.seq] + 1
