"""The settings of one turn, each with the source that decided it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from chatsite.history.policies.base import Everything, Policy, Reach, Terms, Tokens
from chatsite.history.policies.cuts import SWITCHED_OFF, unknown_policy
from chatsite.history.policies.table import POLICIES
from chatsite.history.settings.row import Setting
from chatsite.history.settings.table import CONVERSATION_ROWS, HistorySettings
from chatsite.wording import later, say

# What `name_sources` says in English; a receipt is shown with its translation.
SOURCES = later("{policy}, length: {length}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(HistorySettings):
    """What applies to one turn: `all` has every setting of the table by its name.

    `locked_by` names the variable by which the environment locks the choice, and `lock_reason` is
    the sentence about that; both are "" where nothing is locked. `in_room`: the conversation is
    held in a Talk room.
    """

    all: Mapping[str, Setting[Any]]
    locked_by: str = ""
    lock_reason: str = ""
    in_room: bool = False

    # Worked out once: a decision and its receipt ask for them a dozen times. `terms` are what a
    # policy's choice, reach and words depend on; `listed_policy` is the policy that was chosen;
    # `active_policy` acts: another one where the memory is switched off.
    terms: Terms = field(init=False, repr=False, compare=False)
    listed_policy: Policy = field(init=False, repr=False, compare=False)
    active_policy: Policy = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        name = self.policy.value
        # Only the receipt of an older version can name a policy that isn't known.
        policy = POLICIES.get(name, self.selector.value) or unknown_policy(name)
        object.__setattr__(self, "terms", terms_of(self.all))
        object.__setattr__(self, "listed_policy", policy)
        active = policy if self.enabled.value else SWITCHED_OFF
        object.__setattr__(self, "active_policy", active)

    @property
    def locked(self) -> bool:
        return bool(self.locked_by)

    @property
    def talk_limit(self) -> int | None:
        """How many of the Talk room's newest messages are read, None elsewhere."""
        return self.talk_context_limit.value if self.in_room else None

    @property
    def words(self) -> str:
        """What applies, for the chip: "your last 3 messages, up to 2,000 tokens"."""
        policy, budget = self.active_policy.words(self.terms), self.tokens.value
        if budget is None:
            return policy
        return say("{policy}, up to {budget:,} tokens", policy=policy, budget=budget)

    @property
    def sources_in_words(self) -> str:
        """The sources in English, as the log has them: "template, length: URL"."""
        return self.name_sources(SOURCES)

    def name_sources(self, both: str, name: Callable[[str], str] = str) -> str:
        """Name the policy's source, and the length's where that counts and is another; `both` is
        the pattern for the two, `name` gives the word for one."""
        policy, length = self.policy.source, self.length.source
        if length == policy or not self.active_policy.uses_length:
            return name(policy)
        return both.format(policy=name(policy), length=name(length))

    @property
    def conversation_in_force(self) -> dict[str, Setting[Any]]:
        """The settings of `conversation` without those that act only under other policies, of which
        triage's take 4 kB in a receipt, or only in Talk rooms."""
        others = POLICIES.own_settings - self.listed_policy.own_settings
        return {
            name: self.all[name]
            for name, row in CONVERSATION_ROWS.items()
            if name not in others and (self.in_room or not row.only_in_rooms)
        }

    def with_values(self, values: Mapping[str, Any]) -> Settings:
        """Put other values in place, by name, whoever decided them: a comparison may show what a
        person may not choose."""
        changed = {name: replace(self.all[name], value=value) for name, value in values.items()}
        return replace(self, all={**self.all, **changed})


def terms_of(settings: Mapping[str, Setting[Any]]) -> Terms:
    """Give the values that policies read: each field of the terms has the name of its setting."""
    return Terms(**{one.name: settings[one.name].value for one in fields(Terms)})


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
