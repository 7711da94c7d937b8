"""How an answer ended, by the reason that its server gives, in whatever words."""

from __future__ import annotations

import re

from chatsite.providers.base.provider import FinishReason

# In place of an error: OpenRouter, DeepSeek, GLM, DashScope, vLLM ("abort"), Google
# ("function_call_filter: MALFORMED_FUNCTION_CALL").
_FAILED = re.compile(r"error|abort|cancel|insufficient|malformed|unexpected")
# Anthropic's `pause_turn` waits for a request to continue, which a person may send.
_CUT = re.compile(r"length|max_.*tokens|window|pause")
_FILTERED = re.compile(
    r"filter|safety|recitation|blocklist|prohibited|spii|sensitive|refus|moderat"
)


def ending_of(reason: str) -> FinishReason | None:
    """None for a failure. Calls of tools end an answer with "stop", whatever the server says: the
    calls themselves show it."""
    low = reason.lower()
    if _FAILED.search(low):
        return None
    if _CUT.search(low):
        return "length"
    return "content_filter" if _FILTERED.search(low) else "stop"
