"""What is said of a source's claim to decide a setting, where its outcome says all.

Receipts don't store these sentences: they are made again where a receipt is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Origin = Literal["environment", "URL", "conversation", "template", "built in"]
ClaimOutcome = Literal["won", "overruled", "locked", "bad", "not allowed", "absent"]

ABSENT = "says nothing"
WON: Mapping[str, str] = {
    "environment": "set for this server",
    "URL": "chosen in the page's address",
    "conversation": "chosen for this conversation",
    "template": "set by the agent",
    "built in": "applies where nothing else is said",
}


def overruled(source: str, *, by: str, name: str) -> str:
    """A claim lost to the source `by`, which uses this `name`. The environment has several names
    for one setting, and nothing else overrules it."""
    if source == "environment":
        return f"says the same as {name}"
    return f"the {by} ({name}) comes first" if name else f"the {by} comes first"
