"""The log lines of a turn: ids, counts and settings, never a word of what was said."""

from __future__ import annotations

import logging

from chatsite.history import Decision

logger = logging.getLogger("chatsite.history")


def log_decision(decision: Decision) -> None:
    settings = decision.settings
    logger.info(
        '[History] Agent %s history settings: {policy: "%s", length: %d, messageCount: %d, '
        'source: "%s", tokens: %d}',
        decision.agent,
        settings.policy.value,
        settings.length.value,
        decision.stored,
        settings.policy.source,
        decision.tokens,
    )
    left_out = (v for v in decision.verdicts if not v.sent and v.reason != "greeting")
    if any(left_out):
        logger.info("[History] Trimmed messages from %d to %d", decision.stored, decision.sent)
