"""What a link, and the choice kept with a conversation, may decide here.

Neither widens what is sent beyond HISTORY_MAX_LENGTH and HISTORY_MAX_TOKENS. So a chosen `all` is
passed over under a maximum length, and under a maximum of tokens a choice that asks for more turns
than would otherwise be sent needs a budget within it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chatsite.history.policies.base import Policy, Terms, Users
from chatsite.history.policies.cuts import acting_length
from chatsite.history.policies.table import POLICIES
from chatsite.history.settings.choosers import Chooser
from chatsite.history.settings.claim_words import ClaimOutcome
from chatsite.history.settings.grammar import Number, OneOf, is_blank
from chatsite.history.settings.row import Setting, SettingRow
from chatsite.history.settings.sources import read_variable
from chatsite.history.settings.table import (
    HISTORY_ROWS,
    MAX_LENGTH,
    MAX_TOKENS,
    REASON,
    WHO_MAY_LINK,
    HistorySettings,
)
from chatsite.history.settings.turn_settings import terms_of
from chatsite.wording import later, say

EVERYONE, STAFF, OFF = "everyone", "staff", "off"
# Kept in English, and looked up where it is shown: a receipt goes without it.
LOCK_REASON = later("Set for this server by its administrator.")
UNBOUNDED = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceRules:
    """What a person may choose here, in the address and in the page. `locked_by` names the
    variable that locks, or is "". Each of the two bounds is None where there is none."""

    locked_by: str
    lock_reason: str
    who_may_link: str
    most_length: int | None
    most_tokens: int | None

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> ChoiceRules:
        def number(name: str, least: int) -> int | None:
            raw = environment.get(name, "")
            return None if is_blank(raw) else read_variable(name, raw, Number(least))

        who = environment.get(WHO_MAY_LINK, "")
        # The settings of `conversation` lock nothing.
        locking = (name for row in HISTORY_ROWS.values() for name in row.environment)
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
            most_length=number(MAX_LENGTH, 0),
            most_tokens=number(MAX_TOKENS, 1),
        )

    def close(self, chooser: Chooser, *, allowed: bool) -> tuple[ClaimOutcome, str] | None:
        """Say why nothing of what a person chose counts; None where it does. `allowed`: this person
        is among those whom HISTORY_URL names."""
        if self.locked_by:
            return "locked", say(chooser.when_locked, name=self.locked_by)
        if self.who_may_link == OFF:
            return "not allowed", say(chooser.when_off, name=WHO_MAY_LINK)
        if not allowed:
            return "not allowed", say(chooser.when_staff, name=WHO_MAY_LINK)
        return None

    def refuse(
        self,
        row: SettingRow[Any],
        chooser: Chooser,
        wanted: Any,
        otherwise: Any,
        *,
        decided: Mapping[str, Setting[Any]],
        template: Mapping[str, object],
    ) -> str:
        """Say why a person may not choose the value `wanted`; "" where they may.

        `otherwise` is the value that applies without it; `decided` has the settings by name that
        the answer depends on.
        """
        if row is HistorySettings.tokens:
            if self.most_tokens is None or wanted is None or wanted <= self.most_tokens:
                return ""
            return say(chooser.too_many, most=self.most_tokens, name=MAX_TOKENS)
        if row is not HistorySettings.length:
            policy = _policy_with(row, wanted, decided)
            other = _policy_with(row, otherwise, decided)
            # Nobody but the agent switches on what asks a model or runs an agent's own code.
            # For a policy with selectors that is asked where the selector is chosen.
            by_selector = row is HistorySettings.policy and policy.selector
            if policy.needs_naming and not by_selector and template.get(row.template) != wanted:
                return say(chooser.only_named, value=wanted, name=row.template)
            terms = terms_of(decided)
            wanted, otherwise = _most_turns(policy, terms), _most_turns(other, terms)
        most, budget = self.most_length, decided["tokens"].value
        # A policy above the bound is allowed where it sends less than would be sent without it.
        lessens = row is not HistorySettings.length and wanted < otherwise
        if most is not None and wanted > acting_length(most) and not lessens:
            return say(chooser.too_long, most=acting_length(most), name=MAX_LENGTH)
        if self.most_tokens is None or wanted <= otherwise:
            return ""
        if budget is not None and budget <= self.most_tokens:
            return ""
        return say(chooser.needs_budget, most=self.most_tokens, name=MAX_TOKENS)


def _policy_with(row: SettingRow[str], value: str, decided: Mapping[str, Setting[Any]]) -> Policy:
    """Find the policy that applies with this value of the setting `policy` or `selector`."""
    if row is HistorySettings.selector:
        return next(policy for policy in POLICIES.rows if policy.selector == value)
    policy = POLICIES.get(value, decided["selector"].value)
    assert policy is not None  # the grammar reads no other name
    return policy


def _most_turns(policy: Policy, terms: Terms) -> float:
    """Count the turns that a policy can send at most."""
    reach = policy.reach(terms)
    return reach.users if isinstance(reach, Users) else UNBOUNDED
