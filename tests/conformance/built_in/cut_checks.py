"""Checks of a cut: the newest turns have the strongest claim and the room is used (P27); what is
said of what is left out is true (P30)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from chatsite.history import BACKGROUND, AddedMessage
from chatsite.history.path.added_messages import BLOCK_TOKENS, LABEL_TOKENS, can_be_quoted
from chatsite.kv_cache.cleanup import DEFAULT
from conformance_kit.cases import CaseEntry, total_tokens
from conformance_kit.strategies.adapter import PolicyTrial
from conformance_kit.trials import PolicyRefused
from tests.conformance.built_in.variants import LAST_N, LEXICAL, NO_ROOM

FLOOR = 2


@dataclass(frozen=True)
class Claims:
    """What a cut had to choose from. `room` is what head, system messages, current turn and spared
    turns leave of the limit, in tokens; below 0 the spared ones alone exceed it. `turns` are the
    others that policy and marks allow, oldest first, by their first messages with their tokens;
    `kept` is how many of them are sent."""

    room: int
    turns: tuple[tuple[int, int], ...]
    kept: int

    @classmethod
    def of(cls, trial: PolicyTrial) -> Claims:
        evidence = replace(trial.case.evidence, previous=None)
        whole = trial.subject.run(replace(trial.case.unlimited, evidence=evidence))
        sizes = {message.id: total_tokens([message]) for message in whole.request}

        def tokens(entries: Iterable[CaseEntry]) -> int:
            return sum(sizes.get(entry.message.id, 0) for entry in entries)

        older = [entry for turn in trial.older for entry in turn]
        always = [entry for entry in trial.entries if entry not in older]
        spared = [entry for turn in trial.older if trial.is_spared(turn) for entry in turn]
        # What `relevant` quotes has to give way to the newest turns; a note or a summary hasn't.
        written = whole.written if trial.subject == LEXICAL else trial.written
        fixed = total_tokens([*trial.case.head, *written]) + tokens([*always, *spared])
        turns = [
            turn
            for turn in _not_summarised(trial)
            if not trial.is_spared(turn) and any(entry.seq in whole.sent for entry in turn)
        ]
        return cls(
            room=trial.decision.limit - fixed,
            turns=tuple((turn[0].seq, tokens(turn)) for turn in turns),
            kept=sum(any(entry.seq in trial.sent for entry in turn) for turn in turns),
        )

    @property
    def left(self) -> int:
        """Tokens of those that are kept, if these are the newest."""
        return sum(tokens for _, tokens in self.turns[len(self.turns) - self.kept :])


def p27_the_newest_have_the_strongest_claim(trial: PolicyTrial) -> None:
    """What is kept of what may be sent is its newest part, and two turns of it where they fit."""
    if trial.decision.cleanup and trial.decision.cleanup.strategy != DEFAULT:
        return  # The agent's own strategy says what is kept.
    claims = Claims.of(trial)
    turns = claims.turns
    rest = turns[len(turns) - claims.kept :]
    assert all(first in trial.sent for first, _ in rest), "an older turn is sent in its place"
    for count in range(1, min(FLOOR, len(turns)) + 1):
        tokens = sum(size for _, size in turns[-count:])
        if tokens <= claims.room:
            assert claims.kept >= count, f"turn {turns[-count][0]} fits and isn't sent"


def p27_a_cut_leaves_its_share_of_the_room(trial: PolicyTrial) -> None:
    """One more turn would exceed the low-water mark, a share of the room for history."""
    claims = Claims.of(trial)
    cleaned = trial.decision.cleanup and trial.decision.cleanup.strategy != DEFAULT
    if cleaned or trial.subject == LEXICAL or claims.kept == len(claims.turns) or claims.room < 0:
        return
    low = claims.room * trial.decision.settings.low_water.value // 100
    more = claims.left + claims.turns[-claims.kept - 1][1]
    assert more > low, f"{claims.left} tokens are kept where {low} would stay"


def p27_a_longer_length_keeps_the_tail(trial: PolicyTrial) -> None:
    """All that a shorter length sends, or the share of the room less one turn."""
    longer = replace(trial.case, length=max(1, trial.case.length) + 3)
    if longer.length > 1_000_000 or trial.subject != LAST_N:
        return
    try:
        more = trial.subject.run(longer)
    except PolicyRefused:
        return
    if not trial.sent <= more.sent:
        p27_a_cut_leaves_its_share_of_the_room(more)
        p27_the_newest_have_the_strongest_claim(more)


def p30_no_room_is_said_only_where_there_was_none(trial: PolicyTrial) -> None:
    """Whatever is left out for want of room exceeds what is left of the limit."""
    free = trial.decision.limit - trial.decision.tokens
    whole = trial.subject.run(trial.case.unlimited)
    sizes = {message.id: total_tokens([message]) for message in whole.request}
    for turn in trial.older:
        for entry in turn:
            if trial.reasons[entry.seq] not in NO_ROOM:
                continue
            tokens = sum(sizes.get(each.message.id, 0) for each in turn)
            if trial.subject == LEXICAL:  # A quote takes more than its message.
                tokens += BLOCK_TOKENS + 2 * LABEL_TOKENS
            assert tokens > free, f"turn {turn[0].seq} takes {tokens}, and {free} are free"


def p30_not_relevant_is_said_only_where_somebody_looked(trial: PolicyTrial) -> None:
    """A search looks at texts, a fast model at whole turns; without either nobody knows."""
    evidence = trial.case.evidence
    for entry in trial.entries:
        if trial.reasons[entry.seq] == "not_relevant":
            if trial.subject == LEXICAL:
                assert evidence.recall is not None, "nothing was searched"
                assert can_be_quoted(entry.message), f"{entry.seq} has no text to search"
            else:
                assert evidence.triaged is not None, "no model was asked"


def _not_summarised(trial: PolicyTrial) -> list[tuple[CaseEntry, ...]]:
    """The older turns from the first one on that the summary in the request doesn't hold whole."""
    source = trial.case.evidence.summary
    sent = any(i.kind == "summary" for i in trial.decision.layout if isinstance(i, AddedMessage))
    if source is None or not sent:
        return trial.older
    for place, turn in enumerate(trial.older):
        said = [entry.seq for entry in turn if entry.message.source not in BACKGROUND]
        if said and said[-1] > source.last:
            return trial.older[place:]
    return []
