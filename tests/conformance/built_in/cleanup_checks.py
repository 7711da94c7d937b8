"""Checks of cleanups of the KV cache: what they may unload, and what follows."""

from __future__ import annotations

from dataclasses import replace

from conformance_kit.strategies.adapter import PolicyCase, PolicyTrial
from tests.conformance.built_in.variants import LEFT_BY_CUT


def p24_what_was_unloaded_stays_out(trial: PolicyTrial) -> None:
    """Neither in place nor quoted; only a pin or a reply brings it in."""
    there = trial.sent | trial.quoted
    for turn in trial.older:
        if any(e.message.kv_status <= 0 for e in turn) and not trial.is_spared(turn):
            assert not there & {e.seq for e in turn}, f"turn {turn[0].seq} was unloaded and is sent"


def p25_nothing_comes_in_its_place(trial: PolicyTrial) -> None:
    """It keeps its place in the length; where there is room enough nobody else gains by it."""
    if all(entry.message.kv_status > 0 for entry in trial.entries):
        return
    case = trial.unguarded.case
    loaded = _with_status(case, {e.seq for e in trial.entries}, 1)
    more = trial.subject.run(loaded).sent
    assert trial.unguarded.sent <= more, f"sent instead: {sorted(trial.unguarded.sent - more)}"


def p26_a_cleanup_takes_whole_turns(trial: PolicyTrial) -> None:
    """Older ones that no mark spares; what is spared has to go only when they all have."""
    turns = {turn[0].seq: turn for turn in trial.older}
    for first in trial.decision.unloads:
        turn = turns[first]
        assert not trial.is_spared(turn), f"turn {first} is spared by a mark"
        assert not trial.sent & {entry.seq for entry in turn}
        assert {trial.reasons[entry.seq] for entry in turn} == {"unloaded"}
    spared = [first for first, turn in turns.items() if trial.is_spared(turn)]
    spared_went = any(trial.reasons[first] in LEFT_BY_CUT for first in spared)
    loose = [turn for turn in trial.older if not trial.is_spared(turn)]
    if spared_went:
        assert not any(entry.seq in trial.sent for turn in loose for entry in turn)


def p26_what_it_left_stays(trial: PolicyTrial) -> None:
    """Once it is marked in storage, the same message is sent with the same again."""
    gone = {
        entry.seq for turn in trial.older if turn[0].seq in trial.decision.unloads for entry in turn
    }
    if gone:
        marked = _with_status(trial.case, gone, 0)
        again = trial.subject.run(marked)
        assert again.sent == trial.sent, f"now it sends {sorted(again.sent)}"
        assert not again.decision.unloads, f"now it unloads {again.decision.unloads}"


def _with_status(case: PolicyCase, seqs: set[int], status: int) -> PolicyCase:
    return case.with_entries(
        [
            replace(entry, message=replace(entry.message, kv_status=status))
            if entry.seq in seqs
            else entry
            for entry in case.entries
        ]
    )
