"""What a link, and the choice kept with a conversation, may decide here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chatsite.history.policies.base import Policy, Terms
from chatsite.history.policies.table import POLICIES
from chatsite.history.settings.choosers import Chooser
from chatsite.history.settings.claim_words import ClaimOutcome
from chatsite.history.settings.grammar import Number, OneOf, is_blank
from chatsite.history.settings.limits import Limits, most_turns
from chatsite.history.settings.sources import (
    MAX_LENGTH,
    MAX_TOKENS,
    POLICY,
    REASON,
    SELECTOR,
    TABLE,
    WHO_MAY_LINK,
    SettingRow,
    read_variable,
)
from chatsite.wording import later, say

EVERYONE, STAFF, OFF = "everyone", "staff", "off"
# Kept in English, and looked up where it is shown: a receipt goes without it.
LOCK_REASON = later("Set for this server by its administrator.")


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
        locking = (name for row in TABLE for name in row.environment)
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
        unnamed = _refuse_unnamed(chooser, SELECTOR, row, self.template)
        return unnamed or self._refuse_turns(chooser, row, POLICIES.with_selector(otherwise))

    def refuse_policy(self, chooser: Chooser, wanted: str, otherwise: str, *, selector: str) -> str:
        row, other = POLICIES.get(wanted, selector), POLICIES.get(otherwise, selector)
        assert row is not None and other is not None  # the grammar reads no other name
        unnamed = "" if row.selector else _refuse_unnamed(chooser, POLICY, row, self.template)
        return unnamed or self._refuse_turns(chooser, row, other)

    def _refuse_turns(self, chooser: Chooser, wanted: Policy, otherwise: Policy) -> str:
        return self.limits.refuse_turns(
            chooser,
            most_turns(wanted, self.terms),
            most_turns(otherwise, self.terms),
            budget=self.budget,
        )


def _refuse_unnamed(
    chooser: Chooser, setting: SettingRow[str], policy: Policy, template: Mapping[str, object]
) -> str:
    """Nobody but the agent switches on what asks a model or runs an agent's own code."""
    said = policy.selector if setting is SELECTOR else policy.name
    if not policy.needs_naming or template.get(setting.template) == said:
        return ""
    return say(chooser.only_named, value=said, name=setting.template)
