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
        quoted = {
            seq for quotes in (*fitted.earlier_quotes, fitted.quotes) for seq in quotes.reasons
        }
        line = horizon or 0
        not_loaded = given.transcript.not_loaded
        # The draft isn't stored; the current message is, and is sent.
        sent = int(not given.transcript.entries[-1].draft)
        stored = not_loaded.users - not_loaded.background + sent
        pinned = older = 0
        for turn in fitted.verdict.older:
            if turn.reason == "unanswered" or is_background(turn.turn):
                continue
            stored += 1
            if turn.is_in_request:
                if turn.first >= line:
                    sent += 1
                elif turn.kept_for == "pinned":
                    pinned += 1
                else:
                    older += 1
            elif quoted and any(entry.seq in quoted for entry in turn.turn.entries):
                older += 1
        return cls(stored=stored, sent=sent, pinned=pinned, older=older)

    def to_stored(self) -> list[int]:
        return [self.stored, self.sent, self.pinned, self.older]
