"""What holds of cleanups of the KV cache: what they may take, and what becomes of it."""

from __future__ import annotations

from dataclasses import replace

from chatsite.conformance.seen import OVER, Seen
from chatsite.history import Transcript


def p24_what_was_unloaded_stays_out(seen: Seen) -> None:
    """Neither in place nor quoted; only a pin or a reply brings it in."""
    there = seen.sent | seen.quoted
    for turn in seen.older:
        if any(e.message.kv_status <= 0 for e in turn) and not seen.is_spared(turn):
            assert not there & {e.seq for e in turn}, f"turn {turn[0].seq} was unloaded and is sent"


def p25_nothing_comes_in_its_place(seen: Seen) -> None:
    """It keeps its place in the length; where there is room enough nobody else gains by it."""
    if all(entry.message.kv_status > 0 for entry in seen.entries):
        return
    case = seen.unguarded.case
    loaded = _with_status(case.transcript, {e.seq for e in seen.entries}, 1)
    more = seen.subject.see(replace(case, transcript=loaded)).sent
    assert seen.unguarded.sent <= more, f"sent instead: {sorted(seen.unguarded.sent - more)}"


def p26_a_cleanup_takes_whole_turns(seen: Seen) -> None:
    """Older ones that no mark spares; what is spared has to go only when they all have."""
    turns = {turn[0].seq: turn for turn in seen.older}
    for first in seen.record.unloads:
        turn = turns[first]
        assert not seen.is_spared(turn), f"turn {first} is spared by a mark"
        assert not seen.sent & {entry.seq for entry in turn}
        assert {seen.reasons[entry.seq] for entry in turn} == {"unloaded"}
    spared_went = any(
        seen.reasons[first] in OVER for first, turn in turns.items() if seen.is_spared(turn)
    )
    loose = [turn for turn in seen.older if not seen.is_spared(turn)]
    if spared_went:
        assert not any(entry.seq in seen.sent for turn in loose for entry in turn)


def p26_what_it_left_stays(seen: Seen) -> None:
    """Once it is marked in storage, the same message is sent with the same again."""
    gone = {
        entry.seq for turn in seen.older if turn[0].seq in seen.record.unloads for entry in turn
    }
    if gone:
        marked = _with_status(seen.case.transcript, gone, 0)
        again = seen.subject.see(replace(seen.case, transcript=marked))
        assert again.sent == seen.sent, f"now it sends {sorted(again.sent)}"
        assert not again.record.unloads, f"now it unloads {again.record.unloads}"


def _with_status(transcript: Transcript, seqs: set[int], status: int) -> Transcript:
    entries = tuple(
        replace(entry, message=replace(entry.message, kv_status=status))
        if entry.seq in seqs
        else entry
        for entry in transcript.entries
    )
    return replace(transcript, entries=entries)
