"""Every policy there is. To add one, write its module and give it a line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chatsite.history.policies.base import PolicyTable
from chatsite.history.policies.cuts import ALL, LAST_N, NONE, TOKENS
from chatsite.history.policies.lexical import LEXICAL
from chatsite.history.policies.strategy import STRATEGY
from chatsite.history.policies.summary import SUMMARY
from chatsite.history.policies.triage import TRIAGE

POLICIES = PolicyTable(
    NONE,
    LAST_N,
    ALL,
    TOKENS,
    LEXICAL,
    TRIAGE,
    SUMMARY,
    STRATEGY,
)


def needed_evidence(receipt: Mapping[str, Any]) -> str:
    """Find the key of the evidence that the policy of an answered turn needs, "" for none."""
    settings = receipt.get("settings", {})
    selector = settings.get("selector", {}).get("value", "")
    policy = POLICIES.get(receipt.get("facts", {}).get("policy", ""), selector)
    return policy.evidence if policy else ""
