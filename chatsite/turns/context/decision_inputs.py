"""What is known of a turn before it is decided; gatherers are given it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from chatsite.history import Evidence, Head, Transcript
from chatsite.history.path.added_messages import block_tokens
from chatsite.history.path.marks import unanswered_notes
from chatsite.messages import Message
from chatsite.providers.base.provider import Tokenizer
from chatsite.turns.context.turn_context import TurnContext


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionInputs:
    """A turn, or a `preview` of one, with every message counted; the transcript's last turn is the
    current one. For a preview no model is asked and nothing is waited for."""

    context: TurnContext
    transcript: Transcript
    head: Head
    preview: bool

    @property
    def tokenizer(self) -> Tokenizer:
        agent = self.context.agent
        return agent.provider.tokenizer(agent.model)

    @property
    def current(self) -> Message:
        """The user message that is to be answered."""
        entries = self.transcript.entries
        return next(e.message for e in reversed(entries) if e.message.role == "user")

    @property
    def fits(self) -> bool:
        """Whether head and whole conversation are within the limit, with the tokens for quoting
        the notes of background tasks."""
        entries = self.transcript.entries
        if self.transcript.not_loaded.messages:
            return False
        messages = [*self.head.messages, *(entry.message for entry in entries)]
        asked = max(place for place, e in enumerate(entries) if e.message.role == "user")
        total = sum(message.tokens.count for message in messages if message.tokens)
        return total + block_tokens(unanswered_notes(entries[:asked])) <= self.context.limit


class Gatherer(Protocol):
    """Gets the evidence that a policy needs and storage alone doesn't have.

    It never raises for what fails on the way: the evidence's notes say so.
    """

    async def gather(self, inputs: DecisionInputs) -> Evidence: ...
