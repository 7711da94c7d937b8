"""How far a person's choice may go: HISTORY_MAX_LENGTH and HISTORY_MAX_TOKENS.

Neither a link nor the choice kept with a conversation widens what is sent beyond them. So a chosen
`all` is passed over under a maximum length, and under a maximum of tokens a choice that asks for
more turns than would otherwise be sent needs a budget within it.
"""

from __future__ import annotations

from dataclasses import dataclass

from chatsite.history.policies.base import Policy, Terms, Users
from chatsite.history.policies.cuts import acting_length
from chatsite.history.settings.choosers import Chooser
from chatsite.history.settings.sources import MAX_LENGTH, MAX_TOKENS
from chatsite.wording import say

UNBOUNDED = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of what a person chooses; None where there is none.

    Each method returns the sentence that refuses a value of this `chooser`, or "" when it is
    allowed. `otherwise` is the value that applies without it.
    """

    length: int | None = None
    tokens: int | None = None

    def refuse_tokens(self, chooser: Chooser, wanted: int | None, otherwise: int | None) -> str:
        if self.tokens is None or wanted is None or wanted <= self.tokens:
            return ""
        return self._too_many(chooser)

    def refuse_length(
        self, chooser: Chooser, wanted: int, otherwise: int, *, budget: int | None
    ) -> str:
        if self.length is not None and wanted > acting_length(self.length):
            return self._too_long(chooser)
        return self._needs_budget(chooser, budget) if wanted > otherwise else ""

    def refuse_turns(
        self, chooser: Chooser, wanted: float, otherwise: float, *, budget: int | None
    ) -> str:
        """`wanted` and `otherwise` are how many turns a policy, or a selector, can send."""
        if self.length is not None and wanted > acting_length(self.length) and wanted >= otherwise:
            return self._too_long(chooser)
        return self._needs_budget(chooser, budget) if wanted > otherwise else ""

    def _too_long(self, chooser: Chooser) -> str:
        most = acting_length(self.length or 0)
        return say(chooser.too_long, most=most, name=MAX_LENGTH)

    def _too_many(self, chooser: Chooser) -> str:
        return say(chooser.too_many, most=self.tokens, name=MAX_TOKENS)

    def _needs_budget(self, chooser: Chooser, budget: int | None) -> str:
        if self.tokens is None or (budget is not None and budget <= self.tokens):
            return ""
        return say(chooser.needs_budget, most=self.tokens, name=MAX_TOKENS)


def most_turns(policy: Policy, terms: Terms) -> float:
    """How many turns a policy can send."""
    reach = policy.reach(terms)
    return reach.users if isinstance(reach, Users) else UNBOUNDED
