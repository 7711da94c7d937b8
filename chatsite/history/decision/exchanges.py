"""The numbers of a request as people count them: exchanges, a message with what answers it."""

from __future__ import annotations

from dataclasses import dataclass

from chatsite.history.decision.decision_input import DecisionInput
from chatsite.history.path.overflow import FittedPath
from chatsite.history.values.marks import is_background


@dataclass(frozen=True, slots=True)
class Exchanges:
    """Of the `stored` exchanges `sent` are below the line and in the request. Above it `pinned`
    ones are sent in their place, and `older` ones for another reason or as quotes.

    Greetings belong to none, and a draft isn't stored yet. A message whose answer failed isn't
    one, and no more is a background task's turn.
    """

    stored: int
    sent: int
    pinned: int
    older: int

    @classmethod
    def of(cls, given: DecisionInput, fitted: FittedPath, horizon: int | None) -> Exchanges:
        turns = [
            turn
            for turn in fitted.verdict.older
            if turn.reason != "unanswered" and not is_background(turn.turn)
        ]
        quoted = {
            seq for quotes in (*fitted.earlier_quotes, fitted.quotes) for seq in quotes.reasons
        }
        line = horizon or 0
        sent = sum(turn.is_in_request and turn.first >= line for turn in turns)
        above = [turn for turn in turns if turn.is_in_request and turn.first < line]
        pinned = sum(turn.kept_for == "pinned" for turn in above)
        quotes = sum(
            not turn.is_in_request and any(entry.seq in quoted for entry in turn.turn.entries)
            for turn in turns
        )
        not_loaded = given.transcript.not_loaded
        stored = not given.transcript.entries[-1].draft
        return cls(
            stored=not_loaded.users - not_loaded.background + len(turns) + stored,
            sent=sent + stored,
            pinned=pinned,
            older=len(above) - pinned + quotes,
        )

    def to_stored(self) -> list[int]:
        return [self.stored, self.sent, self.pinned, self.older]
