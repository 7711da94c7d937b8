"""The policies that one turn is compared under."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chatsite.history.policies.base import Policy
from chatsite.history.settings.offers import LENGTH, Changes, SettingSources
from chatsite.history.settings.table import ROWS
from chatsite.history.settings.turn_settings import Settings

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
    """Every policy there is here, whether it may be chosen or not; one that counts a length in
    two lengths."""
    return tuple(
        _alternative(sources, settings, policy, length)
        for policy in sources.shown(settings)
        for length in _lengths(policy, settings)
    )


def _lengths(policy: Policy, settings: Settings) -> Sequence[int | None]:
    return sorted({SHORT, settings.length.value}) if policy.uses_length else [None]


def _alternative(
    sources: SettingSources, settings: Settings, policy: Policy, length: int | None
) -> Alternative:
    closed = sources.why_closed
    changes: dict[str, str | None] = {} if closed else sources.changes_for(policy)
    if length is not None and not closed:
        changes[LENGTH] = str(length)
    there = settings.with_values(
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
        settings=there,
        in_force=in_force and length in (None, settings.length.value),
        why=closed or sources.why_not(changes),
        changes=changes,
        asks_model=there.active_policy.asks_model,
    )


def as_then(settings: Settings, receipt: Mapping[str, Any]) -> Settings:
    """The settings with the values that an answered turn had; a value that its receipt doesn't
    have stays as it is now."""
    stored = receipt.get("settings", {})
    stored = {**stored, **stored.get("conversation", {})}
    return settings.with_values({name: stored[name]["value"] for name in ROWS if name in stored})
