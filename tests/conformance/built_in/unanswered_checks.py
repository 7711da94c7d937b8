"""Checks of messages whose answer failed (P31): left out of later requests, until somebody includes
them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chatsite.history import BACKGROUND
from conformance_kit.cases import CaseEntry
from conformance_kit.strategies.adapter import PolicyTrial
from tests.conformance.built_in.variants import STRATEGY, TRIAGE

# Reasons that are stronger, or that hold of a turn in which something else is wrong as well.
STRONGER = {"above_marker", "excluded", "background", "unloaded"}


def p31_an_unanswered_message_stays_out(trial: PolicyTrial) -> None:
    """Neither in place nor quoted, and for this reason; only a pin or a reply brings it in."""
    for turn in trial.older:
        first = turn[0].seq
        said = trial.reasons[first] == "unanswered"
        if not _is_unanswered(turn) or trial.is_spared(turn):
            assert not said, f"turn {first} has an answer, or somebody asked for it"
        elif trial.reasons[first] not in STRONGER:
            assert said, f"turn {first} was never answered and is {trial.reasons[first]}"
            assert first not in trial.sent | trial.quoted


def p31_once_it_is_included_it_is_as_any_other(trial: PolicyTrial) -> None:
    """Nothing else gains or loses by it where there is room enough."""
    if trial.subject in (TRIAGE, STRATEGY):
        return  # Their own choice may be another then.
    case = trial.unguarded.case
    included = [replace(entry, unanswered=False) for entry in case.entries]
    more = trial.subject.run(case.with_entries(included)).sent
    unanswered = {e.seq for turn in trial.older if _is_unanswered(turn) for e in turn}
    assert more - trial.unguarded.sent <= unanswered
    assert trial.unguarded.sent <= more, f"sent instead: {sorted(trial.unguarded.sent - more)}"


def _is_unanswered(turn: Sequence[CaseEntry]) -> bool:
    return turn[0].unanswered and all(e.message.source in BACKGROUND for e in turn[1:])
