"""Who decides: the environment over the URL over the choice kept with the conversation over the
room's file over the template over what is built in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl

from chatsite.history.settings.choosers import CHOOSERS, NO_CHOICE
from chatsite.history.settings.grammar import AUTO
from chatsite.history.settings.low_water import low_water_by_price
from chatsite.history.settings.row import Setting, SettingRow, SourceValue
from chatsite.history.settings.rules import EVERYONE, STAFF, ChoiceRules
from chatsite.history.settings.sources import (
    built_in,
    decide_value,
    read_choice,
    read_environment,
    read_written,
)
from chatsite.history.settings.table import ROWS
from chatsite.history.settings.turn_settings import Settings

# What a person may choose of these depends on all settings before it.
_DECIDED_LAST = ("tokens", "length", "selector", "policy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Everything that says something of a turn's settings.

    `environment` holds real variable names, `url` the first value of each parameter,
    `conversation` what a person chose in the page, by the names of a link's parameters, `template`
    the agent's `chatSettings`, and `room` those of the Talk room that the conversation is held in,
    None elsewhere. `url_allowed` is what `may_use_url` answers; it holds for `url` and
    `conversation`. `cached_price` is what a token from the model's cache costs, of one that is read
    anew; None where that isn't known.
    """

    environment: Mapping[str, str]
    url: Mapping[str, str]
    template: Mapping[str, object]
    conversation: Mapping[str, object] = field(default_factory=dict)
    room: Mapping[str, object] | None = None
    url_allowed: bool = True
    cached_price: float | None = None

    def resolve(self) -> Settings:
        """Decide every setting. Raises BadSetting for a bad environment; a bad value of another
        source is passed over and shown."""
        rules = ChoiceRules.read(self.environment)
        first = (name for name in ROWS if name not in _DECIDED_LAST)
        decided: dict[str, Setting[Any]] = {}
        for name in (*first, *_DECIDED_LAST):
            decided[name] = self._settle(ROWS[name], rules, decided)
        mark = decided["low_water"]
        if mark.value == AUTO:
            decided["low_water"] = replace(mark, value=low_water_by_price(self.cached_price))
        return Settings(
            all={name: decided[name] for name in ROWS},
            locked_by=rules.locked_by,
            lock_reason=rules.lock_reason,
            in_room=self.room is not None,
        )

    def _settle(
        self, row: SettingRow[Any], rules: ChoiceRules, decided: Mapping[str, Setting[Any]]
    ) -> Setting[Any]:
        """Let the first usable value win. What a person chose must also be allowed by the lock,
        HISTORY_URL and the bounds, in this order."""

        def allow(one: SourceValue, otherwise: object) -> SourceValue:
            if one.raw is None:
                return one
            chooser = CHOOSERS[one.source]
            if closed := rules.close(chooser, allowed=self.url_allowed):
                outcome, why = closed
                return replace(one, outcome=outcome, why=why)
            if not one.is_usable:
                return one
            why = rules.refuse(
                row, chooser, one.value, otherwise, decided=decided, template=self.template
            )
            return replace(one, outcome="not allowed", why=why) if why else one

        claims = [*read_written(row, template=self.template, room=self.room), built_in(row)]
        for source in CHOOSERS:
            given = self.conversation if source == "conversation" else self.url
            otherwise = next(one.value for one in claims if one.is_usable)
            chosen = read_choice(row, source, given)
            claims = [*(allow(one, otherwise) for one in chosen), *claims]
        return decide_value([*read_environment(row, self.environment), *claims])


def resolve(
    *,
    environment: Mapping[str, str],
    url: Mapping[str, str],
    template: Mapping[str, object],
    conversation: Mapping[str, object] = NO_CHOICE,
    room: Mapping[str, object] | None = None,
    url_allowed: bool = True,
) -> Settings:
    """Decide every setting of a turn from these `Sources`."""
    return Sources(
        environment=environment,
        url=url,
        template=template,
        conversation=conversation,
        room=room,
        url_allowed=url_allowed,
    ).resolve()


def may_use_url(environment: Mapping[str, str], *, staff: bool) -> bool:
    """Whether HISTORY_URL lets this user choose, in the address and in the page."""
    who = ChoiceRules.read(environment).who_may_link
    return who == EVERYONE or (who == STAFF and staff)


def first_values(query_string: str) -> dict[str, str]:
    """Read the first value of every parameter; a blank value counts as the first."""
    values: dict[str, str] = {}
    for name, value in parse_qsl(query_string.removeprefix("?"), keep_blank_values=True):
        values.setdefault(name, value)
    return values
