"""Checks of a growing conversation: the cut (P15) and the prompt's common beginning (P20)."""

from __future__ import annotations

import json
from dataclasses import replace

from chatsite.history import Evidence, Previous
from conformance_kit.cases import total_tokens
from conformance_kit.strategies.adapter import PolicyTrial
from conformance_kit.trials import PolicyRefused
from tests.conformance.built_in.cut_checks import FLOOR, Claims
from tests.conformance.built_in.variants import LEXICAL, STEPWISE

STEPS = 3


def p15_the_beginning_stays(trial: PolicyTrial) -> None:
    if trial.subject == STEPWISE:
        p15_a_step_moves_the_cut_at_once(trial)
    else:
        p15_a_cut_stays_while_it_fits(trial)


def p15_a_cut_stays_while_it_fits(trial: PolicyTrial) -> None:
    """The tail begins elsewhere only when keeping the last beginning would exceed the limit, or
    leave room unused that a new cut would fill: below the low-water mark, or one of two turns."""
    if trial.subject == LEXICAL and (trial.case.quoted or trial.case.evidence.recall):
        return  # Quotes take room too: P28 says when its beginning stays.
    before: PolicyTrial | None = None
    for now in grown(trial):
        if before is not None and before.decision.cut is not None and now.decision.cut is not None:
            cut = before.decision.cut
            if _tokens_from(now, cut) <= now.decision.limit and not _leaves_room(now, cut):
                assert now.decision.cut == cut, f"the beginning moved from {cut} though it fits"
        before = now


def p15_a_step_moves_the_cut_at_once(trial: PolicyTrial) -> None:
    """From one request to the next the cut stays, or moves by a whole step."""
    if any(e.pinned or e.excluded or e.forgets_above or e.message.reply_to for e in trial.entries):
        return
    if any(e.unanswered or e.message.kv_status <= 0 for e in trial.entries):
        return
    step = min(trial.decision.settings.step.value, max(1, trial.case.length))
    roomy = replace(trial, case=trial.case.unlimited)
    places = [_place_of_cut(now) for now in grown(roomy)]
    for before, after in zip(places, places[1:], strict=False):
        assert after - before in (0, step), f"it moved from turn {before} to turn {after}"


def _place_of_cut(trial: PolicyTrial) -> int:
    """How many of the turns that count lie above the length."""
    return sum(
        turn[0].message.source == "web" and trial.reasons[turn[0].seq] != "within_length"
        for turn in trial.older
    )


def p20_what_stayed_the_same_is_counted(trial: PolicyTrial) -> None:
    before: PolicyTrial | None = None
    for now in grown(trial):
        if before is not None:
            same = _common_beginning(before, now)
            assert now.decision.leading == same, (
                f"{now.decision.leading} counted, {same} are the same"
            )
        before = now


def grown(trial: PolicyTrial) -> list[PolicyTrial]:
    """The last few requests of the conversation, each with the receipt of the one before it."""
    asked = [place for place, entry in enumerate(trial.entries) if entry.message.role == "user"][
        -STEPS:
    ]
    found: list[PolicyTrial] = []
    for place in asked:
        previous = _receipt_of(found[-1]) if found else None
        evidence = replace(trial.case.evidence, previous=previous)
        path = trial.entries[: place + 1]
        quoted = dict(trial.case.quoted)
        for before in found:
            if before.decision.quoted:
                quoted |= {_answer_to(before, trial): before.decision.quoted}
        try:
            case = replace(trial.case.with_entries(path), evidence=evidence, quoted=quoted)
            found.append(trial.subject.run(case))
        except PolicyRefused:
            found = []
    return found


def _answer_to(before: PolicyTrial, trial: PolicyTrial) -> int:
    """The number of the message that follows the current one of a former request."""
    last = before.current[0].seq
    return next((entry.seq for entry in trial.entries if entry.seq > last), 0)


def _receipt_of(trial: PolicyTrial) -> Previous | None:
    """As it comes back from storage."""
    return Previous.from_dict(json.loads(json.dumps(trial.decision.to_stored())))


def _leaves_room(trial: PolicyTrial, cut: int) -> bool:
    """Whether a tail from `cut` on would be shorter than one that may be cut now."""
    claims = Claims.of(trial)
    tail = [tokens for first, tokens in claims.turns if first >= cut]
    above = [tokens for first, tokens in claims.turns if first < cut]
    if not above:
        return False
    more = sum(tail) + above[-1]
    low = max(0, claims.room) * trial.decision.settings.low_water.value // 100
    return more <= low or (len(tail) < FLOOR and more <= claims.room)


def _tokens_from(trial: PolicyTrial, cut: int) -> int:
    """What the request would take if its tail began at `cut`, with the notes that it quotes."""
    whole = trial.subject.run(replace(trial.case.unlimited, evidence=Evidence()))
    spared = {entry.seq for turn in trial.older if trial.is_spared(turn) for entry in turn}
    kept = [
        entry.message
        for entry in trial.entries
        if entry.seq in whole.sent
        and (entry.seq >= cut or entry.seq in spared or entry.message.role == "system")
    ]
    return total_tokens(trial.case.head) + total_tokens(kept) + total_tokens(whole.written)


def _common_beginning(before: PolicyTrial, now: PolicyTrial) -> int:
    total = 0
    for old, new in zip(before.request, now.request, strict=False):
        if old != new:
            break
        total += total_tokens([new])
    return total
