"""Who decides: the environment over the URL over the template over what is built in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar
from urllib.parse import parse_qsl

from chatsite.history.policies.base import Policy, Reach, Terms, Tokens
from chatsite.history.policies.table import POLICIES
from chatsite.history.settings.grammar import Number, OneOf, is_blank
from chatsite.history.settings.limits import Limits, most_turns
from chatsite.history.settings.sources import (
    HISTORY_NAMES,
    LENGTH,
    LOW_WATER,
    MAX_LENGTH,
    MAX_TOKENS,
    POLICY,
    REASON,
    SELECTOR,
    STEP,
    SUMMARY_MODEL,
    TABLE,
    TOKENS,
    WHO_MAY_LINK,
    Claim,
    ClaimOutcome,
    Setting,
    SettingRow,
    built_in,
    from_environment,
    from_template,
    from_url,
    read_variable,
    settled,
)
from chatsite.history.settings.triage_settings import (
    CONVERSATION_NAMES,
    resolve_conversation,
)
from chatsite.history.settings.turn_settings import Settings

T = TypeVar("T")

EVERYONE, STAFF, OFF = "everyone", "staff", "off"

# Every variable that is read, whether it locks or not.
ENVIRONMENT_NAMES = (*HISTORY_NAMES, *CONVERSATION_NAMES)


def resolve(
    *,
    environment: Mapping[str, str],
    url: Mapping[str, str],
    template: Mapping[str, object],
    url_allowed: bool = True,
) -> Settings:
    """Decide every setting of a turn.

    `environment` holds real variable names, `url` the first value of each parameter, `template`
    the agent's `chatSettings`. `url_allowed` is what `may_use_url` answers. Raises BadSetting for
    a bad environment; a bad value of a link or template is passed over and shown.
    """
    rules = _LinkRules.read(environment)
    sources = _Sources(
        environment=environment, url=url, template=template, closed=rules.close_url(url_allowed)
    )
    tokens = sources.settle(TOKENS, rules.limits.refuse_tokens)
    length = sources.settle(LENGTH, partial(rules.limits.refuse_length, budget=tokens.value))
    conversation = resolve_conversation(environment=environment, template=template)
    refusals = _Refusals(
        template=template,
        limits=rules.limits,
        terms=Terms(length=length.value, triage=conversation.triage_terms),
        budget=tokens.value,
    )
    selector = sources.settle(SELECTOR, refusals.refuse_selector)
    return Settings(
        policy=sources.settle(POLICY, partial(refusals.refuse_policy, selector=selector.value)),
        length=length,
        tokens=tokens,
        low_water=sources.settle(LOW_WATER),
        step=sources.settle(STEP),
        selector=selector,
        summary_model=sources.settle(SUMMARY_MODEL),
        conversation=conversation,
        locked=bool(rules.locked_by),
        lock_reason=rules.lock_reason,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refusals:
    """Why a link may not choose a policy or a selector; each answer is "" where it may.

    `wanted` is the link's value, `otherwise` the one that applies without the link.
    """

    template: Mapping[str, object]
    limits: Limits
    terms: Terms
    budget: int | None

    def refuse_selector(self, wanted: str, otherwise: str) -> str:
        row = POLICIES.with_selector(wanted)
        unnamed = _refuse_unnamed(SELECTOR, row, wanted, self.template)
        return unnamed or self._refuse_turns(row, POLICIES.with_selector(otherwise))

    def refuse_policy(self, wanted: str, otherwise: str, *, selector: str) -> str:
        row, other = POLICIES.get(wanted, selector), POLICIES.get(otherwise, selector)
        assert row is not None and other is not None  # the grammar reads no other name
        unnamed = "" if row.selector else _refuse_unnamed(POLICY, row, wanted, self.template)
        return unnamed or self._refuse_turns(row, other)

    def _refuse_turns(self, wanted: Policy, otherwise: Policy) -> str:
        return self.limits.refuse_turns(
            most_turns(wanted, self.terms),
            most_turns(otherwise, self.terms),
            budget=self.budget,
        )


def _refuse_unnamed(
    setting: SettingRow[str], policy: Policy, said: str, template: Mapping[str, object]
) -> str:
    """A link can't switch on what asks a model or runs an agent's own code."""
    if not policy.needs_naming or template.get(setting.template) == said:
        return ""
    named = f"the agent's template names it ({setting.template})"
    return f"a link may choose {said} only where {named}"


def reach(settings: Settings, *, room: int) -> Reach:
    """What the store must load for these settings; `room` is what the model's window has for a
    prompt, in tokens."""
    wanted = settings.active_policy.reach(settings.terms)
    if wanted == Tokens():
        return Tokens(max(1, min(room, settings.tokens.value or room)))
    return wanted


def why_closed(environment: Mapping[str, str], *, url_allowed: bool) -> str:
    """Why no history parameter of the address counts, "" where they do."""
    closed = _LinkRules.read(environment).close_url(url_allowed)
    return closed[1] if closed else ""


def may_use_url(environment: Mapping[str, str], *, staff: bool) -> bool:
    """Whether HISTORY_URL lets this user choose in the address."""
    who = _LinkRules.read(environment).who_may_link
    return who == EVERYONE or (who == STAFF and staff)


def first_values(query_string: str) -> dict[str, str]:
    """The first value of every parameter; a blank one counts as the first."""
    values: dict[str, str] = {}
    for name, value in parse_qsl(query_string.removeprefix("?"), keep_blank_values=True):
        values.setdefault(name, value)
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class _LinkRules:
    """What a link may do here. `locked_by` names the variable that locks, or is ""."""

    locked_by: str
    lock_reason: str
    who_may_link: str
    limits: Limits

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> _LinkRules:
        def number(name: str, least: int) -> int | None:
            raw = environment.get(name, "")
            return None if is_blank(raw) else read_variable(name, raw, Number(least))

        who = environment.get(WHO_MAY_LINK, "")
        locking = (name for row in TABLE for name in row.environment)
        locked_by = next((name for name in locking if not is_blank(environment.get(name))), "")
        reason = environment.get(REASON, "").strip() or "Set for this server by its administrator."
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

    def close_url(self, allowed: bool) -> tuple[ClaimOutcome, str] | None:
        """Why no history parameter of the address counts, or None when they do."""
        if self.locked_by:
            return "locked", f"the environment sets {self.locked_by}, so no link can choose"
        if self.who_may_link == OFF:
            return "not allowed", "links can't choose on this server (HISTORY_URL is off)"
        if not allowed:
            return "not allowed", "only staff may choose in the address (HISTORY_URL is staff)"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sources:
    environment: Mapping[str, str]
    url: Mapping[str, str]
    template: Mapping[str, object]
    closed: tuple[ClaimOutcome, str] | None

    def settle(self, row: SettingRow[T], refuse: Callable[[T, T], str] | None = None) -> Setting[T]:
        """The first usable claim wins. `refuse(wanted, otherwise)` may refuse the URL's value."""
        above = from_environment(row, self.environment)
        below = [*from_template(row, self.template), built_in(row)]
        otherwise = next(claim.value for claim in below if claim.usable)
        links = [self._open(claim, refuse, otherwise) for claim in from_url(row, self.url)]
        return settled([*above, *links, *below])

    def _open(
        self, claim: Claim[T], refuse: Callable[[T, T], str] | None, otherwise: T
    ) -> Claim[T]:
        """The link's claim after the lock, HISTORY_URL and the limits, in this order."""
        if claim.said.raw is None:
            return claim
        if self.closed:
            outcome, why = self.closed
            return replace(claim, said=replace(claim.said, outcome=outcome, why=why), usable=False)
        refusal = refuse(claim.value, otherwise) if refuse and claim.usable else ""
        if refusal:
            said = replace(claim.said, outcome="not allowed", why=refusal)
            return replace(claim, said=said, usable=False)
        return claim
