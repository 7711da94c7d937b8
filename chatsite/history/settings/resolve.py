"""Who decides: the environment over the URL over the choice kept with the conversation over the
room's file over the template over what is built in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar
from urllib.parse import parse_qsl

from chatsite.history.policies.base import Reach, Terms, Tokens
from chatsite.history.settings.choosers import KEPT, LINK, NO_CHOICE, PAGE, Chooser
from chatsite.history.settings.rules import EVERYONE, STAFF, ChoiceRules, Refusals
from chatsite.history.settings.sources import (
    HISTORY_NAMES,
    LENGTH,
    LOW_WATER,
    POLICY,
    RECALL_SHARE,
    SELECTOR,
    STEP,
    SUMMARY_MODEL,
    TOKENS,
    Claim,
    Setting,
    SettingRow,
    built_in,
    from_conversation,
    from_environment,
    from_room,
    from_template,
    from_url,
    settled,
)
from chatsite.history.settings.triage_settings import (
    CONVERSATION_NAMES,
    resolve_conversation,
)
from chatsite.history.settings.turn_settings import Settings

T = TypeVar("T")
# Why a value may not be chosen, or "": the chooser, the value, and what applies without it.
Refuse = Callable[[Chooser, T, T], str]

# Every variable that is read, whether it locks or not.
ENVIRONMENT_NAMES = (*HISTORY_NAMES, *CONVERSATION_NAMES)


def resolve(
    *,
    environment: Mapping[str, str],
    url: Mapping[str, str],
    template: Mapping[str, object],
    conversation: Mapping[str, object] = NO_CHOICE,
    room: Mapping[str, object] | None = None,
    url_allowed: bool = True,
) -> Settings:
    """Decide every setting of a turn.

    `environment` holds real variable names, `url` the first value of each parameter,
    `conversation` what a person chose in the page, by the names of a link's parameters, `template`
    the agent's `chatSettings`, and `room` those of the Talk room that the conversation is held in,
    None elsewhere. `url_allowed` is what `may_use_url` answers; it holds for `url` and
    `conversation`. Raises BadSetting for a bad environment; a bad value of another source is passed
    over and shown.
    """
    rules = ChoiceRules.read(environment)
    sources = _Sources(
        environment=environment,
        url=url,
        conversation=conversation,
        room=room,
        template=template,
        rules=rules,
        url_allowed=url_allowed,
    )
    tokens = sources.settle(TOKENS, rules.limits.refuse_tokens)
    length = sources.settle(LENGTH, partial(rules.limits.refuse_length, budget=tokens.value))
    triage = resolve_conversation(environment=environment, template=template, room=room)
    refusals = Refusals(
        template=template,
        limits=rules.limits,
        terms=Terms(length=length.value, triage=triage.triage_terms),
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
        recall_share=sources.settle(RECALL_SHARE),
        conversation=triage,
        locked=bool(rules.locked_by),
        lock_reason=rules.lock_reason,
        in_room=room is not None,
    )


def reach(settings: Settings, *, room: int) -> Reach:
    """What the store must load for these settings; `room` is what the model's window has for a
    prompt, in tokens."""
    wanted = settings.active_policy.reach(settings.terms)
    if wanted == Tokens():
        return Tokens(max(1, min(room, settings.tokens.value or room)))
    return wanted


def why_closed(environment: Mapping[str, str], *, url_allowed: bool) -> str:
    """Why nothing can be chosen in the page, "" where it can."""
    closed = ChoiceRules.read(environment).close(PAGE, allowed=url_allowed)
    return closed[1] if closed else ""


def may_use_url(environment: Mapping[str, str], *, staff: bool) -> bool:
    """Whether HISTORY_URL lets this user choose, in the address and in the page."""
    who = ChoiceRules.read(environment).who_may_link
    return who == EVERYONE or (who == STAFF and staff)


def first_values(query_string: str) -> dict[str, str]:
    """The first value of every parameter; a blank one counts as the first."""
    values: dict[str, str] = {}
    for name, value in parse_qsl(query_string.removeprefix("?"), keep_blank_values=True):
        values.setdefault(name, value)
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sources:
    environment: Mapping[str, str]
    url: Mapping[str, str]
    conversation: Mapping[str, object]
    room: Mapping[str, object] | None
    template: Mapping[str, object]
    rules: ChoiceRules
    url_allowed: bool

    def settle(self, row: SettingRow[T], refuse: Refuse[T] | None = None) -> Setting[T]:
        """The first usable claim wins. `refuse(chooser, wanted, otherwise)` may refuse the value of
        a link and of the choice kept with the conversation."""
        above = from_environment(row, self.environment)
        of_agent = [*from_template(row, self.template), built_in(row)]
        claims = [*from_room(row, self.room), *of_agent]
        for chooser, chosen in (
            (KEPT, from_conversation(row, self.conversation)),
            (LINK, from_url(row, self.url)),
        ):
            otherwise = next(claim.value for claim in claims if claim.usable)
            opened = [self._open(chooser, claim, refuse, otherwise) for claim in chosen]
            claims = [*opened, *claims]
        return settled([*above, *claims])

    def _open(
        self, chooser: Chooser, claim: Claim[T], refuse: Refuse[T] | None, otherwise: T
    ) -> Claim[T]:
        """A person's claim after the lock, HISTORY_URL and the limits, in this order."""
        if claim.said.raw is None:
            return claim
        if closed := self.rules.close(chooser, allowed=self.url_allowed):
            outcome, why = closed
            return replace(claim, said=replace(claim.said, outcome=outcome, why=why), usable=False)
        refusal = refuse(chooser, claim.value, otherwise) if refuse and claim.usable else ""
        if refusal:
            said = replace(claim.said, outcome="not allowed", why=refusal)
            return replace(claim, said=said, usable=False)
        return claim
