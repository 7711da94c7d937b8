"""What a link, and the choice kept with a conversation, may decide here.

Neither widens what is sent beyond HISTORY_MAX_LENGTH and HISTORY_MAX_TOKENS. So a chosen `all` is
passed over under a maximum length, and under a maximum of tokens a choice that asks for more turns
than would otherwise be sent needs a budget within it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chatsite.history.policies.base import Policy, Terms, Users
from chatsite.history.policies.cuts import acting_length
from chatsite.history.policies.table import POLICIES
from chatsite.history.settings.choosers import Chooser
from chatsite.history.settings.claim_words import ClaimOutcome
from chatsite.history.settings.grammar import Number, OneOf, is_blank
from chatsite.history.settings.row import SettingRow
from chatsite.history.settings.sources import read_variable
from chatsite.history.settings.table import (
    MAX_LENGTH,
    MAX_TOKENS,
    REASON,
    ROWS,
    WHO_MAY_LINK,
    HistorySettings,
)
from chatsite.wording import later, say

EVERYONE, STAFF, OFF = "everyone", "staff", "off"
# Kept in English, and looked up where it is shown: a receipt goes without it.
LOCK_REASON = later("Set for this server by its administrator.")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceRules:
    """What a person may choose here, in the address and in the page. `locked_by` names the
    variable that locks, or is ""."""

    locked_by: str
    lock_reason: str
    who_may_link: str
    limits: Limits

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> ChoiceRules:
        def number(name: str, least: int) -> int | None:
            raw = environment.get(name, "")
            return None if is_blank(raw) else read_variable(name, raw, Number(least))

        who = environment.get(WHO_MAY_LINK, "")
        locking = (name for row in ROWS.values() if row.locks for name in row.environment)
        locked_by = next((name for name in locking if not is_blank(environment.get(name))), "")
        reason = environment.get(REASON, "").strip() or LOCK_REASON
        return cls(
            locked_by=locked_by,
            lock_reason=reason if locked_by else "",
            who_may_link=(
                EVERYONE
                if is_blank(who)
                else read_variable(WHO_MAY_LINK, who, OneOf((EVERYONE, STAFF, OFF)))
            ),
            limits=Limits(length=number(MAX_LENGTH, 0), tokens=number(MAX_TOKENS, 1)),
        )

    def close(self, chooser: Chooser, *, allowed: bool) -> tuple[ClaimOutcome, str] | None:
        """Why nothing of what a person chose counts, or None where it does. `allowed`: this person
        is among those whom HISTORY_URL names."""
        if self.locked_by:
            return "locked", chooser.locked_by(self.locked_by)
        if self.who_may_link == OFF:
            return "not allowed", say(chooser.when_off, name=WHO_MAY_LINK)
        if not allowed:
            return "not allowed", say(chooser.when_staff, name=WHO_MAY_LINK)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusals:
    """Why a person may not choose a policy or a selector; each answer is "" where that is allowed.

    `wanted` is the value that the `chooser` gives, `otherwise` the one that applies without it.
    """

    template: Mapping[str, object]
    limits: Limits
    terms: Terms
    budget: int | None

    def refuse_selector(self, chooser: Chooser, wanted: str, otherwise: str) -> str:
        row = POLICIES.with_selector(wanted)
        unnamed = _refuse_unnamed(chooser, HistorySettings.selector, row, self.template)
        return unnamed or self._refuse_turns(chooser, row, POLICIES.with_selector(otherwise))

    def refuse_policy(self, chooser: Chooser, wanted: str, otherwise: str, *, selector: str) -> str:
        row, other = POLICIES.get(wanted, selector), POLICIES.get(otherwise, selector)
        assert row is not None and other is not None  # the grammar reads no other name
        setting = HistorySettings.policy
        unnamed = "" if row.selector else _refuse_unnamed(chooser, setting, row, self.template)
        return unnamed or self._refuse_turns(chooser, row, other)

    def _refuse_turns(self, chooser: Chooser, wanted: Policy, otherwise: Policy) -> str:
        return self.limits.refuse_turns(
            chooser,
            _most_turns(wanted, self.terms),
            _most_turns(otherwise, self.terms),
            budget=self.budget,
        )


def _refuse_unnamed(
    chooser: Chooser, setting: SettingRow[str], policy: Policy, template: Mapping[str, object]
) -> str:
    """Nobody but the agent switches on what asks a model or runs an agent's own code."""
    said = policy.selector if setting is HistorySettings.selector else policy.name
    if not policy.needs_naming or template.get(setting.template) == said:
        return ""
    return say(chooser.only_named, value=said, name=setting.template)


def _most_turns(policy: Policy, terms: Terms) -> float:
    """How many turns a policy can send."""
    reach = policy.reach(terms)
    return reach.users if isinstance(reach, Users) else UNBOUNDED
