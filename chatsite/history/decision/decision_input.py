"""What a decision is made from."""

from __future__ import annotations

from dataclasses import dataclass

from chatsite.history.path.cleaner import Cleaner
from chatsite.history.settings.turn_settings import Settings
from chatsite.history.values.counts import known_tokens
from chatsite.history.values.evidence import Evidence
from chatsite.history.values.transcript import Transcript
from chatsite.history.values.window import Head, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionInput:
    """Everything that is given to `decide`, under the names that `decide` has for it."""

    transcript: Transcript
    settings: Settings
    head: Head
    window: Window
    evidence: Evidence
    agent: str
    cleanup: Cleaner | None

    def require_valid(self) -> None:
        """ValueError for a message without tokens, and for sequence numbers out of order."""
        for message in self.head.messages:
            known_tokens(message)
        last = 0
        for entry in self.transcript.entries:
            known_tokens(entry.message)
            if entry.seq <= last:
                raise ValueError(f"sequence number {entry.seq} does not come after {last}")
            last = entry.seq
