"""The settings of one turn, each with the source that decided it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any

from chatsite.history.policies.base import Everything, Policy, Reach, Terms, Tokens, TriageTerms
from chatsite.history.policies.cuts import SWITCHED_OFF
from chatsite.history.policies.table import POLICIES
from chatsite.history.settings.row import Setting
from chatsite.history.settings.table import CONVERSATION_ROWS, ROWS, HistorySettings
from chatsite.wording import later, say


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(HistorySettings):
    """What applies to one turn: `all` has every setting of the table by its name.

    `lock_reason` is a sentence to read beside the lock, "" when nothing is locked. `in_room`: the
    conversation is held in a Talk room.
    """

    all: Mapping[str, Setting[Any]]
    locked: bool
    lock_reason: str
    in_room: bool = False

    # Worked out once: a decision and its receipt ask for them a dozen times. `terms` are what a
    # policy's choice, reach and words depend on; `listed_policy` is the policy that was chosen, as
    # it is in the table; `active_policy` acts: another one where the memory is switched off.
    terms: Terms = field(init=False, repr=False, compare=False)
    listed_policy: Policy = field(init=False, repr=False, compare=False)
    active_policy: Policy = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        policy = POLICIES.get(self.policy.value, self.selector.value)
        assert policy is not None  # the grammar of the setting reads no other name
        object.__setattr__(self, "terms", terms_of(self.all, in_room=self.in_room))
        object.__setattr__(self, "listed_policy", policy)
        active = policy if self.enabled.value else SWITCHED_OFF
        object.__setattr__(self, "active_policy", active)

    @property
    def words(self) -> str:
        """What applies, for the chip: "your last 3 messages, up to 2,000 tokens"."""
        return in_words(self.active_policy.words(self.terms), self.tokens.value)

    @property
    def sources_in_words(self) -> str:
        """The policy's source, and the length's where that is another: "template, length: URL"."""
        return sources_in_words(self.policy.source, self.length.source, self.active_policy)

    @property
    def conversation_in_force(self) -> dict[str, Setting[Any]]:
        """Without what has an effect only under other policies: triage's settings are 4 kB."""
        shown = conversation_names(self.listed_policy, in_room=self.in_room)
        return {name: self.all[name] for name in shown}

    def with_values(self, values: Mapping[str, Any]) -> Settings:
        """The same settings with other values by name, whoever decided them: what a comparison may
        show and a person may not choose."""
        changed = {name: replace(self.all[name], value=value) for name, value in values.items()}
        return replace(self, all={**self.all, **changed})


def terms_of(settings: Mapping[str, Setting[Any]], *, in_room: bool) -> Terms:
    """The values that policies read: each field of the terms has the name of its setting."""
    limit = settings["talk_context_limit"].value if in_room else None
    triage = TriageTerms(**{name: settings[name].value for name in _TRIAGE_TERMS})
    own = {name: settings[name].value for name in _TERMS}
    return Terms(**own, triage=triage, talk_limit=limit)


_TRIAGE_TERMS = tuple(one.name for one in fields(TriageTerms))
_TERMS = tuple(one.name for one in fields(Terms) if one.name in ROWS)


@cache
def conversation_names(policy: Policy | None, *, in_room: bool = False) -> tuple[str, ...]:
    """The settings of `conversation` that have an effect under a policy, by name; None is one that
    isn't known any more. Some act in Talk rooms alone."""
    others = POLICIES.own_settings - (policy.own_settings if policy else frozenset())
    return tuple(
        name
        for name, row in CONVERSATION_ROWS.items()
        if name not in others and (in_room or not row.only_in_rooms)
    )


def in_words(policy: str, budget: int | None) -> str:
    """A policy's words, with the token budget where there is one."""
    if budget is None:
        return policy
    return say("{policy}, up to {budget:,} tokens", policy=policy, budget=budget)


# The log has it as it is; where a receipt is shown it is said.
SOURCES = later("{policy}, length: {length}")


def sources_in_words(
    policy: str, length: str, active: Policy | None, *, both: str = SOURCES
) -> str:
    """The source of the policy, and that of the length where it counts and is another."""
    told = active is not None and active.uses_length and length != policy
    return both.format(policy=policy, length=length) if told else policy


def reach(settings: Settings, *, room: int) -> Reach:
    """What the store must load for these settings; `room` is what the model's window has for a
    prompt, in tokens."""
    wanted = settings.active_policy.reach(settings.terms)
    if isinstance(wanted, Tokens) and settings.longest_answer.value is not None:
        # Storage would count the answers that aren't sent, and stop too early.
        return Everything()
    if wanted == Tokens():
        return Tokens(max(1, min(room, settings.tokens.value or room)))
    return wanted
