"""What a gatherer is given: everything known of the turn before its decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from chatsite.history import Evidence, Head, Settings, Transcript
from chatsite.history.values.added_messages import block_tokens
from chatsite.history.values.marks import unanswered_notes
from chatsite.messages import Message
from chatsite.providers.base.provider import Tokenizer
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.turns.ports import TurnOwner


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionInputs:
    """One turn, or a preview of it. The transcript's last turn is the current one.

    In a preview no model is asked and nothing is waited for.
    """

    owner: TurnOwner
    conversation: str
    agent: str
    answering: ResolvedAgent
    settings: Settings
    transcript: Transcript
    head: Head
    tokenizer: Tokenizer
    preview: bool

    @property
    def current(self) -> Message:
        """The user message being asked."""
        entries = self.transcript.entries
        return next(e.message for e in reversed(entries) if e.message.role == "user")

    @property
    def limit(self) -> int:
        """Tokens that the prompt may take."""
        room = self.answering.window.room
        return min(room, self.settings.tokens.value or room)

    @property
    def fits(self) -> bool:
        """Whether head and whole conversation are within the limit, with what quoting the notes
        of background tasks takes besides."""
        entries = self.transcript.entries
        if self.transcript.not_loaded.messages:
            return False
        messages = [*self.head.messages, *(entry.message for entry in entries)]
        asked = max(place for place, e in enumerate(entries) if e.message.role == "user")
        total = sum(message.tokens.count for message in messages if message.tokens)
        return total + block_tokens(unanswered_notes(entries[:asked])) <= self.limit


class Gatherer(Protocol):
    """Gets what a policy needs and storage alone doesn't say.

    It never raises for what fails on the way: the evidence's notes say it.
    """

    async def gather(self, gathering: DecisionInputs) -> Evidence: ...
