"""How far a link may go: HISTORY_MAX_LENGTH and HISTORY_MAX_TOKENS.

A link never widens what is sent beyond them. So `all` from a URL is passed over under a
maximum length, and under a maximum of tokens a link that asks for more turns than would
otherwise be sent needs a budget within it.
"""

from __future__ import annotations

from dataclasses import dataclass

from chatsite.history.policies.base import Policy, Terms, Users
from chatsite.history.policies.cuts import acting_length

UNBOUNDED = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of a URL's values; None where there is none.

    Each method returns the sentence that refuses a value, or "" when it is allowed.
    `otherwise` is the value that applies without the link.
    """

    length: int | None = None
    tokens: int | None = None

    def refuse_tokens(self, wanted: int | None, otherwise: int | None) -> str:
        if self.tokens is None or wanted is None or wanted <= self.tokens:
            return ""
        return f"a link may ask for at most {self.tokens:,} tokens here (HISTORY_MAX_TOKENS)"

    def refuse_length(self, wanted: int, otherwise: int, *, budget: int | None) -> str:
        if self.length is not None and wanted > acting_length(self.length):
            return self._too_long()
        return self._needs_budget(budget) if wanted > otherwise else ""

    def refuse_turns(self, wanted: float, otherwise: float, *, budget: int | None) -> str:
        """`wanted` and `otherwise` are how many turns a policy, or a selector, can send."""
        if self.length is not None and wanted > acting_length(self.length) and wanted >= otherwise:
            return self._too_long()
        return self._needs_budget(budget) if wanted > otherwise else ""

    def _too_long(self) -> str:
        most = acting_length(self.length or 0)
        return f"a link may ask for at most {most:,} user messages here (HISTORY_MAX_LENGTH)"

    def _needs_budget(self, budget: int | None) -> str:
        if self.tokens is None or (budget is not None and budget <= self.tokens):
            return ""
        return (
            f"a link may ask for at most {self.tokens:,} tokens here (HISTORY_MAX_TOKENS): "
            f"add historyTokens={self.tokens} to it"
        )


def most_turns(policy: Policy, terms: Terms) -> float:
    """How many turns a policy can send."""
    reach = policy.reach(terms)
    return reach.users if isinstance(reach, Users) else UNBOUNDED
