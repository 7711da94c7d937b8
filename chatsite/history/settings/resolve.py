"""Who decides: the environment over the URL over the choice kept with the conversation over the
room's file over the template over what is built in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from chatsite.history.settings.choosers import KEPT, LINK, NO_CHOICE, PAGE, Chooser
from chatsite.history.settings.claim_words import Origin
from chatsite.history.settings.row import Setting, SettingRow, SourceValue
from chatsite.history.settings.rules import EVERYONE, STAFF, ChoiceRules, Refusals
from chatsite.history.settings.sources import (
    built_in,
    read_choice,
    read_environment,
    read_object,
    section_faults,
    settled,
)
from chatsite.history.settings.table import ROWS, HistorySettings
from chatsite.history.settings.turn_settings import Settings, terms_of

# Why a value may not be chosen, or "": the chooser, the value, and what applies without it.
Refuse = Callable[[Chooser, Any, Any], str]


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
    # What a person may choose of each of the last four depends on all before it.
    last = ("tokens", "length", "selector", "policy")
    found = {name: sources.settle(row) for name, row in ROWS.items() if name not in last}
    limits = rules.limits
    found["tokens"] = sources.settle(HistorySettings.tokens, limits.refuse_tokens)
    budget = found["tokens"].value
    refuse_length = partial(limits.refuse_length, budget=budget)
    found["length"] = sources.settle(HistorySettings.length, refuse_length)
    refusals = Refusals(
        template=template, limits=limits, terms=terms_of(found, in_room=False), budget=budget
    )
    found["selector"] = sources.settle(HistorySettings.selector, refusals.refuse_selector)
    refuse_policy = partial(refusals.refuse_policy, selector=found["selector"].value)
    found["policy"] = sources.settle(HistorySettings.policy, refuse_policy)
    return Settings(
        all={name: found[name] for name in ROWS},
        locked=bool(rules.locked_by),
        lock_reason=rules.lock_reason,
        in_room=room is not None,
    )


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

    def settle(self, row: SettingRow[Any], refuse: Refuse | None = None) -> Setting[Any]:
        """The first usable value wins. `refuse(chooser, wanted, otherwise)` may refuse the value
        of a link and of the choice kept with the conversation."""
        above = read_environment(row, self.environment)
        said = [*self._written(row), built_in(row)]
        for chooser, chosen in (
            (KEPT, read_choice(row, "conversation", self.conversation)),
            (LINK, read_choice(row, "URL", self.url)),
        ):
            otherwise = next(one.value for one in said if one.is_usable)
            said = [*(self._allow(chooser, one, refuse, otherwise) for one in chosen), *said]
        return settled([*above, *said])

    def _written(self, row: SettingRow[Any]) -> list[SourceValue]:
        """What the room's file and the template say. What is wrong with the object `conversation`
        of one of them is shown with `enabled`."""
        objects: list[tuple[Origin, Mapping[str, object]]] = [("template", self.template)]
        if self.room is not None:
            objects.insert(0, ("room", self.room))
        said = [one for source, given in objects for one in read_object(row, source, given)]
        if row is HistorySettings.enabled:
            said += [one for source, given in objects for one in section_faults(source, given)]
        return said

    def _allow(
        self, chooser: Chooser, one: SourceValue, refuse: Refuse | None, otherwise: object
    ) -> SourceValue:
        """A person's value after the lock, HISTORY_URL and the limits, in this order."""
        if one.raw is None:
            return one
        if closed := self.rules.close(chooser, allowed=self.url_allowed):
            outcome, why = closed
            return replace(one, outcome=outcome, why=why)
        if refuse and one.is_usable and (why := refuse(chooser, one.value, otherwise)):
            return replace(one, outcome="not allowed", why=why)
        return one
