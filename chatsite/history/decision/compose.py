"""The request in its order, its layout, and how much of its beginning is that of the one before."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from chatsite.history.evidence import AddedKind, AddedMessage, LayoutItem, Previous, StoredRun
from chatsite.history.path.added_messages import Quotes
from chatsite.history.path.in_force import instructions_message
from chatsite.history.path.overflow import FittedPath
from chatsite.history.path.shortened import as_sent
from chatsite.history.path.transcript import Entry, Transcript
from chatsite.history.path.turn_verdicts import StrategyText, TextPlace, TurnVerdict
from chatsite.history.room import Head, sum_tokens
from chatsite.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedRequest:
    """`history` are the stored messages sent in their places, `texts` a strategy's own, `quoted`
    the messages of ours that quote older ones, `notes` our lines."""

    request: tuple[Message, ...]
    layout: tuple[LayoutItem, ...]
    history: tuple[Message, ...]
    texts: tuple[Message, ...]
    quoted: tuple[Message, ...]
    notes: tuple[Message, ...]


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
    in_force: Sequence[Entry],
    texts: Sequence[StrategyText],
    lines: Mapping[int, Sequence[Message]],
) -> ComposedRequest:
    """Head, instructions (also those that a person keeps in force), then from what changes least to
    what changes most: a prompt's beginning that stays the same costs a tenth where the provider
    keeps it. `lines` are our own, by the first message of the turn they stand before."""
    places, sent = _Places(transcript), fitted.verdict.sent
    own = _added(texts, "system")
    first = [places.section(instructions), _in_force(in_force), own]
    before, after = _added(texts, "before"), _added(texts, "after")
    quoted = _quoted(fitted.quotes)
    rest = [
        _summary(fitted),
        before,
        *_history(sent, fitted.earlier_quotes, lines, places),
        after,
        quoted,
        _lines(lines.get(fitted.verdict.current.first, ()) if lines else ()),
        places.section(
            fitted.verdict.current.entries, shortened=_shortened([fitted.verdict.current], places)
        ),
    ]
    return ComposedRequest(
        request=(*head.system, *_messages(first), *head.examples, *_messages(rest)),
        layout=tuple(item for section in (*first, *rest) for item in section.items),
        history=tuple(entry.message for turn in sent for entry in turn.entries),
        texts=(*own.messages, *before.messages, *after.messages),
        quoted=(*_messages(map(_quoted, fitted.earlier_quotes)), *quoted.messages),
        notes=tuple(line for own in lines.values() for line in own),
    )


def _history(
    sent: Sequence[TurnVerdict],
    earlier_quotes: Iterable[Quotes],
    lines: Mapping[int, Sequence[Message]],
    places: _Places,
) -> Iterator[_Section]:
    """The older turns in their places, each with what is quoted before it, and our lines."""
    shortened = _shortened(sent, places)
    quotes = {quotes.before: [_quoted(quotes)] for quotes in earlier_quotes}
    own = {first: [*quotes.get(first, ()), _lines(some)] for first, some in lines.items()}
    before, neighbours = quotes | own, list[Entry]()
    for turn in sent:
        if turn.first in before:
            yield places.section(neighbours, shortened=shortened)
            yield from before[turn.first]
            neighbours = []
        neighbours += turn.entries
    yield places.section(neighbours, shortened=shortened)


def _lines(lines: Sequence[Message]) -> _Section:
    kinds: dict[bool, AddedKind] = {True: "date", False: "told"}
    items = [AddedMessage.of(one, kinds[one.id.startswith("date")], id=one.id) for one in lines]
    return _Section(tuple(lines), tuple(items))


def _messages(sections: Iterable[_Section]) -> Iterator[Message]:
    return (message for section in sections for message in section.messages)


def _added(texts: Sequence[StrategyText], place: TextPlace) -> _Section:
    messages = tuple(text.message for text in texts if text.place == place)
    return _Section(messages, tuple(AddedMessage.of(message, "text") for message in messages))


def _in_force(kept: Sequence[Entry]) -> _Section:
    if not kept:
        return _Section((), ())
    message, sources = instructions_message(kept), [entry.seq for entry in kept]
    return _Section((message,), (AddedMessage.of(message, "instructions", sources=sources),))


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
    """Of each message that isn't whole, by its sequence number: how many characters an answer was
    cut to, or why a line stands for it."""
    return {
        entry.seq: turn.lines.get(entry.seq) or turn.limit
        for turn in sent
        if turn.limit or turn.lines
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


# ---- the beginning: a cache reuses what is the same as in the request before ----------------
class _Span(NamedTuple):
    """Neighbours on the loaded path, from the place `begin` to the one before `end`; `shortened` as
    in a run. Comparing message by message took a quarter of a decision on two hundred messages."""

    begin: int
    end: int
    shortened: int


# None is a message that isn't loaded: it is the same as no other.
_Piece = _Span | AddedMessage | None


def leading_tokens(
    previous: Previous | None, layout: Sequence[LayoutItem], *, head: Head, transcript: Transcript
) -> int:
    """Tokens at the beginning that are those of the previous request; 0 under another head.

    The previous receipt is of this path, so what it sent between two loaded messages is what is
    loaded between them. Where that isn't known the count ends: it is never too high.
    """
    if previous is None or previous.head_hash != head.hash:
        return 0
    path = _Loaded(transcript)
    system_now, rest_now = path.divided(layout)
    system_before, rest_before = path.divided(previous.layout)
    system, same = path.common(system_now, system_before)
    total = sum_tokens(head.system) + system
    if not same:
        return total
    rest, _ = path.common(rest_now, rest_before)
    return total + sum_tokens(head.examples) + rest


class _Loaded:
    """The loaded path, in which two layouts are compared."""

    def __init__(self, transcript: Transcript) -> None:
        self._entries = transcript.entries
        self._seqs = [entry.seq for entry in transcript.entries]
        self._last_not_loaded = transcript.not_loaded.last

    def divided(self, layout: Iterable[LayoutItem]) -> tuple[list[_Piece], list[_Piece]]:
        """The system messages of a layout, and all others."""
        system: list[_Piece] = []
        rest: list[_Piece] = []
        for piece in self._pieces(layout):
            (system if self._is_system(piece) else rest).append(piece)
        return system, rest

    def _pieces(self, layout: Iterable[LayoutItem]) -> Iterator[_Piece]:
        for item in layout:
            if isinstance(item, AddedMessage):
                yield item
            else:
                yield from self._run(item)

    def _run(self, run: StoredRun) -> Iterator[_Piece]:
        """The run's messages in path order; an unknown one where a message is not loaded."""
        begin, end = bisect_left(self._seqs, run.first), bisect_right(self._seqs, run.last)
        if begin == end or self._seqs[begin] != run.first:
            yield None
            return
        if run.first < self._last_not_loaded:
            # Among what was not loaded only whole marked turns are: the next one is no neighbour.
            end = self._turn_end(begin, end)
        yield _Span(begin, end, run.shortened)
        if self._seqs[end - 1] != run.last:
            yield None

    def _turn_end(self, begin: int, end: int) -> int:
        for position in range(begin + 1, end):
            if self._entries[position].message.role == "user":
                return position
        return end

    def _is_system(self, piece: _Piece) -> bool:
        """A run of system messages holds nothing else, and another run holds none of them."""
        if isinstance(piece, AddedMessage):
            return piece.role == "system"
        return piece is not None and self._entries[piece.begin].message.role == "system"

    def common(self, now: list[_Piece], before: list[_Piece]) -> tuple[int, bool]:
        """The tokens that both begin with, and whether both are the same to the end."""
        now, before, total = now[::-1], before[::-1], 0
        while now and before:
            one, other = now.pop(), before.pop()
            if isinstance(one, _Span) and isinstance(other, _Span):
                if (one.begin, one.shortened) != (other.begin, other.shortened):
                    return total, False
                end = min(one.end, other.end)
                total += self._tokens(one._replace(end=end))
                for pieces, span in ((now, one), (before, other)):
                    if span.end > end:
                        pieces.append(span._replace(begin=end))
            elif isinstance(one, AddedMessage) and _is_same_text(one, other):
                total += one.tokens
            else:
                return total, False
        return total, not (now or before)

    def _tokens(self, span: _Span) -> int:
        entries: Sequence[Entry] = self._entries[span.begin : span.end]
        if span.shortened:
            places = range(span.begin, span.end)
            entries = [as_sent(self._entries, place, span.shortened) for place in places]
        return sum_tokens([entry.message for entry in entries])


def _is_same_text(one: AddedMessage, other: _Piece) -> bool:
    key = (one.role, one.digest, one.id)
    return isinstance(other, AddedMessage) and key == (other.role, other.digest, other.id)
