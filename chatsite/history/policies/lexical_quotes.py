"""Which older messages `relevant` quotes: those that were quoted for earlier messages, and new
ones for the current message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from chatsite.history.evidence import Hit
from chatsite.history.lexical.index import worth
from chatsite.history.path.added_messages import (
    BLOCK_TOKENS,
    Quotes,
    can_be_quoted,
    quote_tokens,
)
from chatsite.history.path.transcript import BACKGROUND, Entry
from chatsite.history.path.turn_verdicts import PathVerdict, TurnVerdict
from chatsite.history.policies.lexical_passages import passage_of
from chatsite.history.reasons import NEVER_QUOTED, Reason
from chatsite.wording import later

STAYS = later("it mattered for an earlier message and stays where it was quoted")
NOTE_STAYS = later("a background task wrote it before an earlier message, where it stays quoted")
ANSWERED = later("the message that was answered")
NO_ROOM = later("it is relevant, but the room for quotes was used up")
LESS = later("it is less relevant than what fills the share for quotes")


class QuotableMessages:
    """The messages of a path that may be quoted beside the turns that are `sent` in place, and the
    `hits` among them. `units` has what quoting each hit takes, by the hit's sequence number."""

    def __init__(
        self, verdict: PathVerdict, sent: Iterable[TurnVerdict], hits: Sequence[Hit]
    ) -> None:
        self.turns = {entry.seq: turn for turn in verdict.older for entry in turn.turn.entries}
        self.in_place = {e.seq for turn in sent for e in turn.entries if e.seq not in turn.lines}
        self.hits = hits
        self.units = {hit.seq: self._unit(hit.seq) for hit in hits}

    def _unit(self, seq: int) -> list[Entry]:
        """Give the message after the one it answers; nothing where it can't be quoted."""
        turn = self.turns.get(seq)
        if turn is None or turn.reason in NEVER_QUOTED or seq in self.in_place:
            return []
        wanted = (seq, turn.first)
        unit = [entry for entry in turn.turn.entries if entry.seq in wanted]
        unit = [entry for entry in unit if entry.seq not in self.in_place]
        unit = [entry for entry in unit if entry.seq not in turn.apart]
        return [entry for entry in unit if can_be_quoted(entry.message)]

    def earlier(self, turn: TurnVerdict, *, without: AbstractSet[int]) -> Quotes:
        """Quote again what was quoted before this turn, as far as it may still be sent and no newer
        turn quotes it."""
        entries = [
            entry
            for seq in dict.fromkeys(turn.turn.quoted)
            if seq not in without and (entry := self._stays(seq, turn)) is not None
        ]
        return Quotes(
            before=turn.first,
            entries=tuple(sorted(entries, key=lambda entry: entry.seq)),
            reasons={e.seq: "followed" if _is_note(e) else "relevant" for e in entries},
            whys={e.seq: NOTE_STAYS if _is_note(e) else STAYS for e in entries},
        )

    def _stays(self, seq: int, asked: TurnVerdict) -> Entry | None:
        """A message that was quoted: None where it is sent in place, or may not be sent now."""
        turn = self.turns.get(seq)
        if turn is None or seq in self.in_place:
            return None
        entry = next(entry for entry in turn.turn.entries if entry.seq == seq)
        note = _is_note(entry)
        if turn.reason in NEVER_QUOTED and not (note and turn.reason == "background"):
            return None
        if turn.apart.get(seq) in NEVER_QUOTED and not (note and not entry.excluded):
            return None
        if entry.message.role == "tool" and not entry.excluded:
            return passage_of(entry, asked.turn.entries[0].message.content or "")
        return entry if can_be_quoted(entry.message) else None


def _is_note(entry: Entry) -> bool:
    return entry.message.source in BACKGROUND


def quote_hits(
    quotable: QuotableMessages,
    *,
    before: int,
    quoted: AbstractSet[int],
    room: int,
    most: int,
    weight: float,
    reason: Reason,
) -> Quotes:
    """Quote the hits of the most worth for their price before a message, each with the message it
    answers, within `room` and `most` tokens. `weight` is that of the price.

    What is `quoted` already is not quoted again. A hit that doesn't fit is skipped, and the next
    is tried; `reason` is that of a hit which exceeds the room itself.
    """
    units = {
        seq: [entry for entry in unit if entry.seq not in quoted]
        for seq, unit in quotable.units.items()
        if seq not in quoted
    }
    entries: dict[int, Entry] = {}
    whys: dict[int, str] = {}
    left_out: dict[int, tuple[Reason, str]] = {}
    used = BLOCK_TOKENS
    order = _by_worth(quotable.hits, units, weight)
    # Twice: once the message that it answers is quoted for another hit, a hit takes less.
    for hit in (*order, *order):
        if hit.seq in entries:
            whys[hit.seq] = hit.why
            continue
        new = [entry for entry in units[hit.seq] if entry.seq not in entries]
        cost = sum(map(quote_tokens, new))
        if used + cost > min(room, most):
            full = used + cost > room
            # A marked turn is among the hits only where it has no room in its place either.
            spared = quotable.turns[hit.seq].kept_for is not None
            left = reason if full or spared else "not_relevant"
            left_out[hit.seq] = (left, NO_ROOM if full else LESS)
            continue
        used += cost
        for entry in new:
            entries[entry.seq] = entry
            whys[entry.seq] = hit.why if entry.seq == hit.seq else ANSWERED
    return Quotes(
        before=before,
        entries=tuple(sorted(entries.values(), key=lambda entry: entry.seq)),
        whys=whys,
        left_out={seq: left for seq, left in left_out.items() if seq not in entries},
    )


def _by_worth(
    hits: Iterable[Hit], units: Mapping[int, Sequence[Entry]], weight: float
) -> list[Hit]:
    """Sort the hits that add something by their worth for their price."""
    worths = [
        (worth(hit.score, sum(map(quote_tokens, units[hit.seq])), weight), hit)
        for hit in hits
        if any(entry.seq == hit.seq for entry in units.get(hit.seq, ()))
    ]
    return [hit for _, hit in sorted(worths, key=lambda pair: pair[0], reverse=True)]
