"""How many tokens at a request's beginning are those of the previous one: a cache reuses them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from chatsite.history.values.evidence import Previous
from chatsite.history.values.layout import AddedMessage, LayoutItem, StoredRun
from chatsite.history.values.shortened import shorten_answer
from chatsite.history.values.transcript import Entry, Transcript
from chatsite.history.values.window import Head, known_counts, sum_tokens


class _Unit(NamedTuple):
    """One message of a request. `key` is the same where the message is; None is never the same.

    A named tuple: a decision makes two for each message, and a dataclass takes three times as long.
    """

    key: tuple[object, ...] | None
    tokens: int
    system: bool


def leading_tokens(
    previous: Previous | None, layout: Sequence[LayoutItem], *, head: Head, transcript: Transcript
) -> int:
    """Tokens at the beginning that are those of the previous request; 0 under another head.

    The previous receipt is of this path, so what it sent between two loaded messages is what is
    loaded between them. Where that isn't known the count ends: it is never too high.
    """
    if previous is None or previous.head_hash != head.hash:
        return 0
    path = _Loaded.of(transcript)
    now, before = list(path.units(layout)), list(path.units(previous.layout))
    total = sum_tokens(head.system)
    system_now = [unit for unit in now if unit.system]
    system_before = [unit for unit in before if unit.system]
    same = _common(system_now, system_before)
    total += sum(unit.tokens for unit in system_now[:same])
    if not same == len(system_now) == len(system_before):
        return total
    total += sum_tokens(head.examples)
    rest_now = [unit for unit in now if not unit.system]
    rest_before = [unit for unit in before if not unit.system]
    return total + sum(unit.tokens for unit in rest_now[: _common(rest_now, rest_before)])


def _units(entries: Sequence[Entry], shortened: int = 0) -> list[_Unit]:
    counts = known_counts([entry.message for entry in entries])
    return [
        _Unit(("stored", entry.seq, shortened), counted.count, entry.message.role == "system")
        for entry, counted in zip(entries, counts, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The loaded path; `whole` are its messages as they are when nothing of them is cut."""

    entries: tuple[Entry, ...]
    seqs: list[int]
    whole: list[_Unit]
    last_not_loaded: int

    @classmethod
    def of(cls, transcript: Transcript) -> _Loaded:
        entries = transcript.entries
        return cls(
            entries=entries,
            seqs=[entry.seq for entry in entries],
            whole=_units(entries),
            last_not_loaded=transcript.not_loaded.last,
        )

    def units(self, layout: Iterable[LayoutItem]) -> Iterator[_Unit]:
        for item in layout:
            if isinstance(item, AddedMessage):
                system = item.role == "system"
                yield _Unit((item.role, item.digest, item.id), item.tokens, system)
            else:
                yield from self._run(item)

    def _run(self, run: StoredRun) -> Iterator[_Unit]:
        """The run's messages in path order; an unknown one where a message is not loaded.

        A run of system messages holds nothing else, and another run holds none of them.
        """
        begin, end = bisect_left(self.seqs, run.first), bisect_right(self.seqs, run.last)
        if begin == end or self.seqs[begin] != run.first:
            yield _Unit(None, 0, False)
            return
        if run.first < self.last_not_loaded:
            # Among what was not loaded only whole marked turns are: the next one is no neighbour.
            end = self._turn_end(begin, end)
        if run.shortened:
            cut = [shorten_answer(entry, run.shortened) for entry in self.entries[begin:end]]
            yield from _units(cut, run.shortened)
        else:
            yield from self.whole[begin:end]
        if self.seqs[end - 1] != run.last:
            yield _Unit(None, 0, False)

    def _turn_end(self, begin: int, end: int) -> int:
        for position in range(begin + 1, end):
            if self.entries[position].message.role == "user":
                return position
        return end


def _common(now: Sequence[_Unit], before: Sequence[_Unit]) -> int:
    """How many units both begin with."""
    for count, (one, other) in enumerate(zip(now, before, strict=False)):
        if one.key is None or one.key != other.key:
            return count
    return min(len(now), len(before))
