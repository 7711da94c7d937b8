"""What requests cost with a provider that keeps the beginnings of prompts, and what they hold."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta

# In units of a token that no cache is asked for: Anthropic's prices, of which OpenAI's reads differ
# by model (0.1 to 0.5) and whose writes cost 1.
READ, WRITE = 0.1, 1.25
# After a request a provider keeps a prompt for about that long.
KEPT = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request: its tokens, the tokens at its beginning that are equal to the previous request's,
    and the sequence numbers of the stored messages that are in it whole."""

    tokens: int
    leading: int
    whole: frozenset[int]


@dataclass(slots=True)
class Bill:
    """Sums over requests and over the questions that were asked between them.

    `warm` are tokens from a cache that never forgets, `kept` those from one that forgets after
    five minutes. `refused` requests weren't sent, because the message alone exceeds the limit.
    """

    requests: int = 0
    tokens: int = 0
    warm: int = 0
    kept: int = 0
    refused: int = 0
    questions: int = 0
    complete: int = 0
    evidence: int = 0
    found: int = 0
    shares: float = 0.0

    def pay(self, sent: SentRequest, *, in_time: bool) -> None:
        self.requests += 1
        self.tokens += sent.tokens
        self.warm += sent.leading
        self.kept += sent.leading if in_time else 0

    def ask(self, evidence: frozenset[int], whole: frozenset[int]) -> None:
        found = len(evidence & whole)
        self.questions += 1
        self.complete += found == len(evidence)
        self.evidence += len(evidence)
        self.found += found
        self.shares += found / len(evidence)

    def add(self, other: Bill) -> None:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    @property
    def units(self) -> float:
        """A request's price with a cache that never forgets, in tokens that aren't cached."""
        return self._units(self.warm)

    @property
    def units_forgetting(self) -> float:
        """The same with a cache that forgets after five minutes."""
        return self._units(self.kept)

    def _units(self, cached: int) -> float:
        return (READ * cached + WRITE * (self.tokens - cached)) / max(1, self.requests)

    @property
    def mean_tokens(self) -> float:
        return self.tokens / max(1, self.requests)

    @property
    def by_message(self) -> float:
        """Percent of all messages that are evidence which were in the request."""
        return 100 * self.found / max(1, self.evidence)

    @property
    def by_question(self) -> float:
        """The same share of each question's evidence, the mean over questions."""
        return 100 * self.shares / max(1, self.questions)

    @property
    def all_of_it(self) -> float:
        """Percent of the questions with all their evidence in the request."""
        return 100 * self.complete / max(1, self.questions)


def in_time(last: datetime | None, now: datetime | None) -> bool:
    """Whether the cache still has the last request. Sessions overlap in one of the sets: a time
    before the last request's is one of another session."""
    return last is not None and now is not None and timedelta(0) <= now - last <= KEPT
