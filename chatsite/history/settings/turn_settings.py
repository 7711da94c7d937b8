"""The settings of one turn, each with the source that decided it."""

from __future__ import annotations

from dataclasses import dataclass

from chatsite.history.policies.base import Policy, Terms
from chatsite.history.policies.table import POLICIES
from chatsite.history.settings.sources import Setting
from chatsite.history.settings.triage_settings import ConversationSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What applies to one turn. `tokens` is a budget; None means the model's window.

    `low_water` is the percentage of the limit to which an overflow is cut. `lock_reason` is a
    sentence to read beside the lock, "" when nothing is locked.
    """

    policy: Setting[str]
    length: Setting[int]
    tokens: Setting[int | None]
    low_water: Setting[int]
    step: Setting[int]
    selector: Setting[str]
    summary_model: Setting[str]
    conversation: ConversationSettings
    locked: bool
    lock_reason: str

    @property
    def terms(self) -> Terms:
        """What a policy's choice, reach and words depend on."""
        return Terms(
            length=self.length.value, step=self.step.value, triage=self.conversation.triage_terms
        )

    @property
    def listed_policy(self) -> Policy:
        """The policy that was chosen, as it is in the table."""
        policy = POLICIES.get(self.policy.value, self.selector.value)
        assert policy is not None  # the grammar of the setting reads no other name
        return policy

    @property
    def active_policy(self) -> Policy:
        """The policy that acts: another one where the chosen one is switched off."""
        return self.listed_policy.acting(self.terms)

    @property
    def words(self) -> str:
        """What applies, for the chip: "last 3 user messages, up to 2,000 tokens"."""
        words = self.listed_policy.words(self.terms)
        budget = self.tokens.value
        return words if budget is None else f"{words}, up to {budget:,} tokens"

    def to_dict(self) -> dict[str, object]:
        return {
            "policy": self.policy.to_dict(),
            "length": self.length.to_dict(),
            "tokens": self.tokens.to_dict(),
            "low_water": self.low_water.to_dict(),
            "step": self.step.to_dict(),
            "selector": self.selector.to_dict(),
            "summary_model": self.summary_model.to_dict(),
            "conversation": self._conversation(),
        }

    def _conversation(self) -> dict[str, object]:
        """Without what has an effect only under other policies: triage's settings are 4 kB."""
        own = self.listed_policy.own_settings
        others = POLICIES.own_settings - own
        found = self.conversation.all
        return {name: setting.to_dict() for name, setting in found.items() if name not in others}
