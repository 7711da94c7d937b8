"""Which cleanup strategy applies: the environment's, else the agent's, else the built-in one.

A setting of its own: it doesn't lock the history settings, and no link sets it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from chatsite.errors import BadSetting
from chatsite.kv_cache.cleanup import DEFAULT, STRATEGIES
from chatsite.wording import say

Source = Literal["environment", "template", "built in"]

VARIABLE = "CACHE_CLEANUP"
KEY = "cacheCleanup"
_SHOWN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleanup:
    """The strategy that applies, its source, and a sentence for every value that was passed
    over."""

    value: str
    source: Source
    passed_over: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return say(STRATEGIES[self.value].words)

    def to_dict(self) -> dict[str, object]:
        return {
            "value": self.value,
            "source": self.source,
            "words": self.words,
            "passed_over": list(self.passed_over),
        }


def resolve_cleanup(*, environment: str, template: Mapping[str, object]) -> Cleanup:
    """`environment` is the variable's raw value, "" where it isn't set; `template` an agent's
    `chatSettings`. Raises BadSetting for a value of the environment that is not allowed."""
    name = environment.strip()
    if name and name not in STRATEGIES:
        raise BadSetting(f"{VARIABLE}={_printable(name)} is not allowed. {_allowed_names(name)}")
    own = template.get(KEY)
    passed_over: tuple[str, ...] = ()
    usable = isinstance(own, str) and own in STRATEGIES
    if own is not None and not usable:
        meant = own if isinstance(own, str) else ""
        reason = say(
            "chatSettings.{key} {value} is passed over. {allowed}",
            key=KEY,
            value=_printable(own),
            allowed=_allowed_names(meant),
        )
        passed_over = (reason,)
    elif name and isinstance(own, str) and own != name:
        reason = say(
            "chatSettings.{key} {value} doesn't count: the environment sets {variable}.",
            key=KEY,
            value=own,
            variable=VARIABLE,
        )
        passed_over = (reason,)
    if name:
        return Cleanup(value=name, source="environment", passed_over=passed_over)
    if usable and isinstance(own, str):
        return Cleanup(value=own, source="template")
    return Cleanup(value=DEFAULT, source="built in", passed_over=passed_over)


def unknown_strategy(name: str) -> str:
    """The error for a strategy that doesn't exist; "" for one that does."""
    if name in STRATEGIES:
        return ""
    return say(
        "There is no strategy {name}. {allowed}",
        name=_printable(name),
        allowed=_allowed_names(name),
    )


def _allowed_names(name: str) -> str:
    meant = _near_miss(name)
    names = ", ".join(STRATEGIES)
    if meant:
        return say("It is one of: {names}. {meant} was probably meant.", names=names, meant=meant)
    return say("It is one of: {names}.", names=names)


def _near_miss(text: str) -> str:
    """The strategy that `text` looks like, whatever its case, blanks, dashes and underscores."""
    folded = {name.lower(): name for name in STRATEGIES}
    asked = "".join(c for c in text[:_SHOWN].lower() if c.isalnum())
    found = get_close_matches(asked, folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else ""


def _printable(value: object) -> str:
    """A value for a message: short, and without line breaks that could forge a log line."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
