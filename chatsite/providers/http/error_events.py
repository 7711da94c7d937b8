"""What a server says in its stream in place of an answer or at its end, in whatever words.

The status of such an answer is 200: what it would have been is read from the words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from chatsite.providers.base.provider import FinishReason
from chatsite.providers.http.refusals import is_of_a_time

_CODES = ("code", "status", "status_code", "statusCode", "error_code", "error_type", "type", "name")
# Names that stand where others write a status; the first that fits.
_NAMED = (
    (429, r"rate.?limit|too.?many|throttl|exhausted"),
    (402, r"quota|balance|billing|credit|payment"),
    (401, r"api.?key|auth"),
    (403, r"permission|forbidden"),
    (404, r"not.?found"),
    (408, r"timeout"),
    (413, r"too.?large"),
    (529, r"overload"),
    (503, r"unavailable|capacity"),
    (400, r"invalid|bad.?request|validation|unsupported"),
)
_STATUS = tuple((status, re.compile(pattern, re.IGNORECASE)) for status, pattern in _NAMED)
# With a text, or a list of texts or errors.
_WORDS = re.compile(r'"\w*(?:message|msg|detail|error|fault)\w*": (?="[^"]|\[[^\]])', re.IGNORECASE)


def stated_error(event: Mapping[str, Any]) -> Any:
    """Return the error that an event states, None where it doesn't say that it is one."""
    error = event.get("error")
    if isinstance(error, dict) and any(error.values()):
        return error
    if error and not isinstance(error, dict):
        return event if error is True else error
    named = event.get("object"), event.get("type")
    return event if "error" in [name.lower() for name in named if isinstance(name, str)] else None


def may_explain(event: Mapping[str, Any]) -> bool:
    """Return whether this may be the reason why there is no answer: gateways have forms of their
    own, such as `{"code": "1261", "message": "Prompt too long"}`."""
    return bool(_WORDS.search(json.dumps(event)))


def find_status(error: Any) -> int:
    """Return the HTTP status that an error stands for; 500 where it names none. Some write it in
    quotes, or as a word."""
    if isinstance(error, list):
        error = error[0] if error else None
    if not isinstance(error, dict):
        return 429 if is_of_a_time(str(error)) else 500
    inner = error.get("error")
    for value in (error.get(key) for key in _CODES):
        if isinstance(value, str):
            value = int(value) if value.strip().isdecimal() else _named(value)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return find_status(inner or error.get("message") or "")


def _named(name: str) -> int:
    return next((status for status, pattern in _STATUS if pattern.search(name)), 0)


# ---- endings ---------------------------------------------------------------------------------
# In place of an error: OpenRouter, DeepSeek, GLM, DashScope, vLLM ("abort"), Google
# ("function_call_filter: MALFORMED_FUNCTION_CALL").
_FAILED = re.compile(r"error|abort|cancel|insufficient|malformed|unexpected")
# Anthropic's `pause_turn` waits for a request to continue, which a person may send.
_CUT = re.compile(r"length|max_.*tokens|window|pause")
_FILTERED = re.compile(
    r"filter|safety|recitation|blocklist|prohibited|spii|sensitive|refus|moderat"
)


def read_ending(reason: str) -> FinishReason | None:
    """Return how an answer ended, None for a failure. Calls of tools end an answer with "stop",
    whatever the server says: the calls themselves show it."""
    low = reason.lower()
    if _FAILED.search(low):
        return None
    if _CUT.search(low):
        return "length"
    return "content_filter" if _FILTERED.search(low) else "stop"
