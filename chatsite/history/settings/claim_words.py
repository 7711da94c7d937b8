"""What is said of a source's claim to decide a setting, where its outcome says all.

Receipts don't store these sentences: they are made again where a receipt is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from chatsite.wording import later, say

Origin = Literal["environment", "URL", "conversation", "room", "template", "built in"]
ClaimOutcome = Literal["won", "overruled", "locked", "bad", "not allowed", "absent"]

ABSENT = later("says nothing")
WON: Mapping[str, str] = {
    "environment": later("set for this server"),
    "URL": later("chosen in the page's address"),
    "conversation": later("chosen for this conversation"),
    "room": later("set for this room"),
    "template": later("set by the agent"),
    "built in": later("applies where nothing else is said"),
}
_FIRST: Mapping[str, str] = {
    "environment": later("the environment ({name}) comes first"),
    "URL": later("the URL ({name}) comes first"),
    "conversation": later("the conversation ({name}) comes first"),
    "room": later("the room's file ({name}) comes first"),
    "template": later("the template ({name}) comes first"),
}


def overruled(source: str, *, by: str, name: str) -> str:
    """A claim lost to the source `by`, which uses this `name`. The environment has several names
    for one setting, and nothing else overrules it."""
    if source == "environment":
        return say("says the same as {name}", name=name)
    return say(_FIRST[by], name=name)
