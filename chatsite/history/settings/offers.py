"""What a person could choose for a page.

The page draws this list and knows no policy by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from chatsite.encoding import Record
from chatsite.history.policies.base import Policy
from chatsite.history.policies.cuts import WHY_SWITCHED_OFF
from chatsite.history.policies.table import POLICIES
from chatsite.history.settings.choosers import PAGE, Choice
from chatsite.history.settings.resolve import Sources
from chatsite.history.settings.row import Setting, SettingRow, SourceValue
from chatsite.history.settings.rules import ChoiceRules
from chatsite.history.settings.table import ROWS, URL_NAMES, HistorySettings
from chatsite.history.settings.turn_settings import Settings
from chatsite.wording import later, say

# What a choice adds to the one that is kept, by name; None takes a value out of it.
Changes = Mapping[str, str | None]
# The names in a link, in the choice that is kept with a conversation, and in a template.
POLICY, LENGTH = HistorySettings.policy.template, HistorySettings.length.template
TOKENS, SELECTOR = HistorySettings.tokens.template, HistorySettings.selector.template
# What people read where a Talk room is shown in the page.
DECIDED_BY_ROOM = later("the administrator has set this room's memory")
# Why a policy can't be chosen that only an agent may allow.
ONLY_WHERE_NAMED = later("only for agents that are made for it")


class SettingSources(Sources):
    """The sources of a page's settings, and what a person could choose there."""

    __slots__ = ()

    @property
    def kept(self) -> Mapping[str, object]:
        """What the next choice starts from: the one that is kept, and what the address decides now,
        since choosing takes the history parameters out of the address."""
        if not any(name in self.url for name in URL_NAMES):
            return self.conversation
        link = {
            row.url: str(setting.value)
            for row, setting in choosable(self.resolve())
            if row.url and setting.source == "URL"
        }
        return {**self.conversation, **link}

    def after(self, changes: Changes) -> SettingSources:
        """Give the sources as they are once this was chosen in the page."""
        choice = {name: value for name, value in self.kept.items() if name not in changes}
        choice |= {name: value for name, value in changes.items() if value is not None}
        url = {name: value for name, value in self.url.items() if name not in URL_NAMES}
        return replace(self, url=url, conversation=choice)

    @property
    def why_closed(self) -> str:
        """Say why nothing can be chosen here; "" where something can."""
        if self.room is not None:
            return say(DECIDED_BY_ROOM)
        closed = ChoiceRules.read(self.environment).close(PAGE, allowed=self.url_allowed)
        return closed[1] if closed else ""

    def refused(self, names: Collection[str]) -> SourceValue | None:
        """The first of these values of the kept choice that doesn't count; one that a link
        overrules would count."""
        for row, setting in choosable(self.resolve()):
            claim = next(one for one in setting.said if one.source == "conversation")
            if row.url in names and claim.outcome in ("bad", "locked", "not allowed"):
                return claim
        return None

    def changes_for(self, policy: Policy) -> dict[str, str | None]:
        """Give what choosing this policy changes, and no more."""
        changes: dict[str, str | None] = {POLICY: policy.name, SELECTOR: None}
        if policy.selector and self.after(changes).resolve().selector.value != policy.selector:
            changes[SELECTOR] = policy.selector
        return changes

    def why_not(self, changes: Changes) -> str:
        """Say why this can't be chosen; "" where it can."""
        refused = self.after(changes).refused([name for name, value in changes.items() if value])
        return refused.why if refused else ""

    def lists(self, policy: Policy, settings: Settings) -> bool:
        """Whether a policy is offered. One that only an agent may allow is offered where its
        template names the policy, or where the policy is in force."""
        if not policy.needs_naming or policy is settings.listed_policy:
            return True
        if policy.selector:
            return self.template.get(SELECTOR) == policy.selector
        return self.template.get(POLICY) == policy.name


def choosable(settings: Settings) -> list[tuple[SettingRow[Any], Setting[Any]]]:
    """List the settings that a person may choose."""
    return [(row, settings.all[name]) for name, row in ROWS.items() if row.choosable]


def link_to(settings: Settings) -> Choice:
    """Give the parameters of a link under which these settings apply, without those that the
    policy ignores."""
    policy = settings.listed_policy
    wanted: dict[str, str] = {POLICY: policy.name}
    if policy.uses_length:
        wanted[LENGTH] = str(settings.length.value)
    if settings.tokens.value is not None:
        wanted[TOKENS] = str(settings.tokens.value)
    if policy.selector:
        wanted[SELECTOR] = policy.selector
    return wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOffer(Record):
    """One policy to choose.

    `first`: it is among the few to show first. `length`: it counts a length. `changes` is what
    choosing it changes of the kept choice; `why` says what speaks against it where it isn't
    `allowed`.
    """

    key: str
    policy: str
    title: str
    about: str
    first: bool
    length: bool
    in_force: bool
    allowed: bool
    why: str
    changes: Changes


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOffers:
    """All there is to choose. `closed` says why nothing can be chosen here, or is "". `kept` is the
    choice that the next one starts from, `link` the parameters of a link with these settings."""

    closed: str
    kept: Mapping[str, object]
    link: Choice
    all: tuple[PolicyOffer, ...]

    def to_dict(self) -> dict[str, object]:
        return {
            "closed": self.closed,
            "kept": dict(self.kept),
            "link": dict(self.link),
            "list": [offer.to_dict() for offer in self.all],
        }


def offers(sources: SettingSources, settings: Settings) -> PolicyOffers:
    """List what can be chosen on a page where `settings` apply now."""
    enabled = settings.enabled.value
    closed = sources.why_closed or ("" if enabled else say(WHY_SWITCHED_OFF))
    found = []
    for policy in POLICIES.rows:
        named = sources.lists(policy, settings)
        changes = sources.changes_for(policy) if named and not closed else {}
        why = closed or (sources.why_not(changes) if named else say(ONLY_WHERE_NAMED))
        found.append(
            PolicyOffer(
                key=policy.key,
                policy=policy.name,
                title=say(policy.title),
                about=say(policy.about),
                first=policy.offered_first,
                length=policy.uses_length,
                in_force=policy is settings.listed_policy,
                allowed=not why,
                why=why,
                changes=changes,
            )
        )
    return PolicyOffers(closed=closed, kept=sources.kept, link=link_to(settings), all=tuple(found))


# A short memory to compare with, besides the length in force.
SHORT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """One policy to compare a turn under, and what choosing it in the page changes.

    All other settings are those in force. `asks_model`: what it sends is known on sending only.
    """

    key: str
    label: str
    settings: Settings = field(repr=False)
    in_force: bool
    why: str
    changes: Changes
    asks_model: bool


def alternatives(sources: SettingSources, settings: Settings) -> tuple[Alternative, ...]:
    """List the policies to compare, whether they may be chosen or not; a policy that counts a
    length comes in two lengths."""
    found: list[Alternative] = []
    for policy in POLICIES.rows:
        if sources.lists(policy, settings):
            lengths = sorted({SHORT, settings.length.value}) if policy.uses_length else [None]
            found += [_alternative(sources, settings, policy, length) for length in lengths]
    return tuple(found)


def _alternative(
    sources: SettingSources, settings: Settings, policy: Policy, length: int | None
) -> Alternative:
    closed = sources.why_closed
    changes: dict[str, str | None] = {} if closed else sources.changes_for(policy)
    if length is not None and not closed:
        changes[LENGTH] = str(length)
    compared = settings.with_values(
        {
            "policy": policy.name,
            "selector": policy.selector or settings.selector.value,
            "length": settings.length.value if length is None else length,
        }
    )
    in_force = policy is settings.listed_policy
    return Alternative(
        key=policy.key if length is None else f"{policy.key} {length}",
        label=policy.label if length is None else f"{policy.label} {length:,}",
        settings=compared,
        in_force=in_force and length in (None, settings.length.value),
        why=closed or sources.why_not(changes),
        changes=changes,
        asks_model=compared.active_policy.asks_model,
    )


def as_then(settings: Settings, receipt: Mapping[str, Any]) -> Settings:
    """Give the settings the values that an answered turn had. A value that its receipt doesn't
    have stays as it is now."""
    stored = receipt.get("settings", {})
    stored = {**stored, **stored.get("conversation", {})}
    return settings.with_values({name: stored[name]["value"] for name in ROWS if name in stored})
