"""How long a provider asks to be left alone, as seconds and in words."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

# Google states it in the body only: {"@type": ".../RetryInfo", "retryDelay": "34s"}.
_IN_BODY = re.compile(r"retryDelay\W+(\d+(?:\.\d+)?)s")


def retry_after(headers: Mapping[str, str], said: str = "") -> float | None:
    """Seconds, from `retry-after-ms`, from `retry-after` as a number or a date, or from what the
    provider said. None where nothing is stated, or nothing that can be read."""
    found = _number(headers.get("retry-after-ms"), 0.001)
    if found is None:
        stated = headers.get("retry-after")
        found = _number(stated, 1.0)
        if found is None and stated:
            found = _until(stated)
    if found is None and (match := _IN_BODY.search(said)):
        found = float(match[1])
    return found


def _number(stated: str | None, unit: float) -> float | None:
    try:
        seconds = float(stated or "") * unit
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _until(date: str) -> float | None:
    try:
        return max(parsedate_to_datetime(date).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return None


def in_words(seconds: float) -> str:
    """ "in 3 minutes"; rounded up, since earlier would be refused again."""
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        # 100 seconds are said as such: "2 minutes" would make people wait for nothing.
        if seconds > 1.75 * size:
            return f"in {math.ceil(seconds / size)} {unit}s"
    count = max(math.ceil(seconds), 1)
    return f"in {count} second" + ("" if count == 1 else "s")
