"""Every policy there is. To add one, write its module and give it a line here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chatsite.history.policies.all import ALL
from chatsite.history.policies.base import PolicyTable
from chatsite.history.policies.last_n import LAST_N
from chatsite.history.policies.lexical import LEXICAL
from chatsite.history.policies.none import NONE
from chatsite.history.policies.strategy import STRATEGY
from chatsite.history.policies.summary import SUMMARY
from chatsite.history.policies.tokens import TOKENS
from chatsite.history.policies.triage import TRIAGE
from chatsite.messages import Message

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
    """The key of the evidence that the policy of an answered turn needs, "" for none."""
    settings = receipt.get("settings", {})
    selector = settings.get("selector", {}).get("value", "")
    policy = POLICIES.get(receipt.get("facts", {}).get("policy", ""), selector)
    return policy.evidence if policy else ""


def apply_history_policy(
    messages: Sequence[Message],
    *,
    policy: str = LAST_N.name,
    length: int = 20,
    preserve_system: bool = True,
) -> list[Message]:
    """Cut a list of messages as a policy says, without marks, budget or repair.

    `all` returns its input unchanged. The others put system messages first, or leave them out
    without `preserve_system`. Raises ValueError for a policy that needs a budget or evidence and
    for one that isn't known: neither means "all".
    """
    able = {row.name: row.cut_list for row in POLICIES.rows if row.cut_list is not None}
    if policy not in able:
        raise ValueError(f"policy {policy!r} is not one of {', '.join(able)}")
    return able[policy](messages, length, preserve_system)
