"""What holds while a conversation grows: P15, the horizon, and what stays of the prompt."""

from __future__ import annotations

import json
from dataclasses import replace

from chatsite.conformance.seen import PLENTY, Refused, Seen, tokens
from chatsite.conformance.variants import LEXICAL, STEPWISE
from chatsite.history import Evidence, Previous, Transcript
from chatsite.history.policies.lexical import RECALL_SHARE

STEPS = 3


def p15_the_beginning_stays(seen: Seen) -> None:
    if seen.subject == STEPWISE:
        p15_a_step_moves_the_cut_at_once(seen)
    else:
        p15_a_cut_stays_while_it_fits(seen)


def p15_a_cut_stays_while_it_fits(seen: Seen) -> None:
    """The tail begins elsewhere only when keeping the last beginning would exceed the limit."""
    before: Seen | None = None
    for now in _grown(seen):
        if before is not None and before.record.cut is not None and now.record.cut is not None:
            cut = before.record.cut
            if _tokens_from(now, cut) <= _room_of_tail(now):
                assert now.record.cut == cut, f"the beginning moved from {cut} though it fits"
        before = now


def p15_a_step_moves_the_cut_at_once(seen: Seen) -> None:
    """From one request to the next the cut stays, or moves by a whole step."""
    if any(e.pinned or e.excluded or e.forgets_above or e.message.reply_to for e in seen.entries):
        return
    if any(e.message.kv_status <= 0 for e in seen.entries):
        return
    step = min(seen.record.settings.step.value, max(1, seen.case.length))
    roomy = replace(seen, case=replace(seen.case, window=PLENTY, budget=None))
    places = [_place_of_cut(now) for now in _grown(roomy)]
    for before, after in zip(places, places[1:], strict=False):
        assert after - before in (0, step), f"it moved from turn {before} to turn {after}"


def _place_of_cut(seen: Seen) -> int:
    """How many of the turns that count lie above the length."""
    return sum(
        turn[0].message.source == "web" and seen.reasons[turn[0].seq] != "within_length"
        for turn in seen.older
    )


def p20_what_stayed_the_same_is_counted(seen: Seen) -> None:
    before: Seen | None = None
    for now in _grown(seen):
        if before is not None:
            same = _common_beginning(before, now)
            assert now.record.leading == same, f"{now.record.leading} counted, {same} are the same"
        before = now


def _grown(seen: Seen) -> list[Seen]:
    """The last few requests of the conversation, each with the receipt of the one before it."""
    asked = [place for place, entry in enumerate(seen.entries) if entry.message.role == "user"][
        -STEPS:
    ]
    found: list[Seen] = []
    for place in asked:
        previous = _receipt_of(found[-1]) if found else None
        evidence = replace(seen.case.evidence, previous=previous)
        path = Transcript(entries=seen.entries[: place + 1])
        try:
            found.append(seen.subject.see(replace(seen.case, transcript=path, evidence=evidence)))
        except Refused:
            found = []
    return found


def _receipt_of(seen: Seen) -> Previous | None:
    """As it comes back from storage."""
    return Previous.from_dict(json.loads(json.dumps(seen.record.to_dict())))


def _room_of_tail(seen: Seen) -> int:
    """`relevant` keeps a share of the limit for what it quotes, whether it needs it or not."""
    limit = seen.record.limit
    return limit - limit * RECALL_SHARE // 100 if seen.subject == LEXICAL else limit


def _tokens_from(seen: Seen, cut: int) -> int:
    """What the request would take if its tail began at `cut`, with the notes that it quotes."""
    whole = seen.subject.see(replace(seen.case, evidence=Evidence(), window=PLENTY, budget=None))
    spared = {entry.seq for turn in seen.older if seen.is_spared(turn) for entry in turn}
    kept = [
        entry.message
        for entry in seen.entries
        if entry.seq in whole.sent
        and (entry.seq >= cut or entry.seq in spared or entry.message.role == "system")
    ]
    return tokens(seen.case.head.messages) + tokens(kept) + tokens(whole.written)


def _common_beginning(before: Seen, now: Seen) -> int:
    total = 0
    for old, new in zip(before.request, now.request, strict=False):
        if old != new:
            break
        total += tokens([new])
    return total
