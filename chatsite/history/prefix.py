"""How much of a request's beginning is that of the previous one: what a cache can reuse."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence

from chatsite.history.evidence import Previous
from chatsite.history.reasons import SENT, Reason
from chatsite.history.tokens import known_tokens
from chatsite.history.transcript import Entry, Transcript
from chatsite.history.window import Head


def leading_tokens(
    previous: Previous | None,
    *,
    head: Head,
    transcript: Transcript,
    reasons: Mapping[int, Reason],
) -> int:
    """Tokens at the beginning that are those of the previous request; 0 under another head.

    The previous receipt lies on this path, so what it sent between two loaded messages is what
    is loaded between them. Where that can't be known the count ends: never too high.
    """
    if previous is None or previous.head_hash != head.hash:
        return 0
    now = [entry for entry in transcript.entries if reasons[entry.seq] in SENT]
    before = list(_sent_before(previous, transcript))
    system_now = [entry for entry in now if entry.message.role == "system"]
    system_before = [entry for entry in before if entry and entry.message.role == "system"]
    same_system = _common(system_now, system_before)
    total = sum(known_tokens(message).count for message in head.system)
    total += _tokens(system_now[:same_system])
    if not same_system == len(system_now) == len(system_before):
        return total
    total += sum(known_tokens(message).count for message in head.examples)
    rest_now = [entry for entry in now if entry.message.role != "system"]
    rest_before = [entry for entry in before if entry is None or entry.message.role != "system"]
    return total + _tokens(rest_now[: _common(rest_now, rest_before)])


def _sent_before(previous: Previous, transcript: Transcript) -> Iterator[Entry | None]:
    """The entries of the previous request in path order; None where one is not loaded."""
    entries, away = transcript.entries, transcript.unloaded.last
    seqs = [entry.seq for entry in entries]
    for first, last in previous.sent:
        begin, end = bisect_left(seqs, first), bisect_right(seqs, last)
        if begin == end or seqs[begin] != first:
            yield None
            continue
        if first < away:
            # Among what was not loaded only whole marked turns are: the next one is no neighbour.
            end = _turn_end(entries, begin, end)
        yield from entries[begin:end]
        if seqs[end - 1] != last:
            yield None


def _turn_end(entries: Sequence[Entry], begin: int, end: int) -> int:
    for position in range(begin + 1, end):
        if entries[position].message.role == "user":
            return position
    return end


def _common(now: Sequence[Entry], before: Sequence[Entry | None]) -> int:
    """How many entries both begin with."""
    for count, (one, other) in enumerate(zip(now, before, strict=False)):
        if one is not other:
            return count
    return min(len(now), len(before))


def _tokens(entries: Sequence[Entry]) -> int:
    return sum(known_tokens(entry.message).count for entry in entries)
