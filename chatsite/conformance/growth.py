"""What holds while a conversation grows: P15, the horizon, and what stays of the prompt."""

from __future__ import annotations

import json
from dataclasses import replace

from chatsite.conformance.properties import PLENTY, Seen, is_spared, see, tokens
from chatsite.errors import PromptTooLarge
from chatsite.history import Evidence, Previous, Transcript

STEPS = 3


def p15_a_cut_stays_while_it_fits(seen: Seen) -> None:
    """The tail begins elsewhere only when keeping the last beginning would exceed the limit."""
    before: Seen | None = None
    for now in _grown(seen):
        if before is not None and now.overflowed and before.decision.cut is not None:
            cut = before.decision.cut
            if _tokens_from(now, cut) <= now.decision.limit:
                assert now.decision.cut == cut
        if before is not None:
            assert now.decision.leading == _common_beginning(before, now)
        before = now


def _grown(seen: Seen) -> list[Seen]:
    """The last few requests of the conversation, each with the receipt of the one before it."""
    asked = [place for place, entry in enumerate(seen.entries) if entry.message.role == "user"][
        -STEPS:
    ]
    found: list[Seen] = []
    for place in asked:
        evidence = Evidence(previous=_receipt_of(found[-1]) if found else None)
        path = Transcript(entries=seen.entries[: place + 1])
        try:
            found.append(see(replace(seen.case, transcript=path, evidence=evidence), seen.policy))
        except PromptTooLarge:
            found = []
    return found


def _receipt_of(seen: Seen) -> Previous | None:
    """As it comes back from storage."""
    return Previous.from_dict(json.loads(json.dumps(seen.decision.to_dict())))


def _tokens_from(seen: Seen, cut: int) -> int:
    """What the request would take if its tail began at `cut`."""
    whole = see(replace(seen.case, evidence=Evidence(), window=PLENTY, budget=None), seen.policy)
    spared = {entry.seq for turn in seen.older if is_spared(seen, turn) for entry in turn}
    kept = [
        entry.message
        for entry in seen.entries
        if entry.seq in whole.sent
        and (entry.seq >= cut or entry.seq in spared or entry.message.role == "system")
    ]
    return tokens(seen.case.head.messages) + tokens(kept)


def _common_beginning(before: Seen, now: Seen) -> int:
    total = 0
    for old, new in zip(before.decision.request, now.decision.request, strict=False):
        if old is not new:
            break
        total += tokens([new])
    return total
