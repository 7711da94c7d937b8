"""The settings of one turn, each with the source that decided it."""

from __future__ import annotations

from dataclasses import dataclass, field

from chatsite.history.policies.base import Policy, Terms
from chatsite.history.policies.none import SWITCHED_OFF
from chatsite.history.policies.table import POLICIES
from chatsite.history.settings.sources import Setting
from chatsite.history.settings.triage_settings import ConversationSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What applies to one turn. `tokens` is a budget; None means the model's window.

    `low_water` is the percentage of the room for history to which an overflow is cut,
    `recall_share` the one that new quotes may take, None for the policy's own rule.
    `lock_reason` is a sentence to read beside the lock, "" when nothing is locked.
    """

    policy: Setting[str]
    length: Setting[int]
    tokens: Setting[int | None]
    low_water: Setting[int]
    step: Setting[int]
    selector: Setting[str]
    summary_model: Setting[str]
    recall_share: Setting[int | None]
    conversation: ConversationSettings
    locked: bool
    lock_reason: str

    # Worked out once: a decision and its receipt ask for them a dozen times. `terms` are what a
    # policy's choice, reach and words depend on; `listed_policy` is the policy that was chosen, as
    # it is in the table; `active_policy` acts: another one where the memory is switched off.
    terms: Terms = field(init=False, repr=False, compare=False)
    listed_policy: Policy = field(init=False, repr=False, compare=False)
    active_policy: Policy = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        terms = Terms(
            length=self.length.value, step=self.step.value, triage=self.conversation.triage_terms
        )
        policy = POLICIES.get(self.policy.value, self.selector.value)
        assert policy is not None  # the grammar of the setting reads no other name
        object.__setattr__(self, "terms", terms)
        object.__setattr__(self, "listed_policy", policy)
        active = policy if self.conversation.enabled.value else SWITCHED_OFF
        object.__setattr__(self, "active_policy", active)

    @property
    def words(self) -> str:
        """What applies, for the chip: "last 3 user messages, up to 2,000 tokens"."""
        words = self.active_policy.words(self.terms)
        budget = self.tokens.value
        return words if budget is None else f"{words}, up to {budget:,} tokens"

    @property
    def sources_in_words(self) -> str:
        """The policy's source, and the length's where that is another: "template, length: URL"."""
        policy, length = self.policy.source, self.length.source
        if self.active_policy.uses_length and length != policy:
            return f"{policy}, length: {length}"
        return policy

    def to_dict(self) -> dict[str, object]:
        return {
            "policy": self.policy.to_dict(),
            "length": self.length.to_dict(),
            "tokens": self.tokens.to_dict(),
            "low_water": self.low_water.to_dict(),
            "step": self.step.to_dict(),
            "selector": self.selector.to_dict(),
            "summary_model": self.summary_model.to_dict(),
            "recall_share": self.recall_share.to_dict(),
            "conversation": self._conversation(),
        }

    def _conversation(self) -> dict[str, object]:
        """Without what has an effect only under other policies: triage's settings are 4 kB."""
        own = self.listed_policy.own_settings
        others = POLICIES.own_settings - own
        found = self.conversation.all
        return {name: setting.to_dict() for name, setting in found.items() if name not in others}
