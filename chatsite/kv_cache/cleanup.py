"""Which turns a cleanup of the cache unloads: five strategies, all of them over whole turns.

A setting of its own: it doesn't lock the history settings, and no link sets it.

The head and the current turn always stay, so strategies don't get them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Literal

from chatsite.encoding import encode_fields
from chatsite.errors import BadSetting
from chatsite.history.path.guard import TurnSize
from chatsite.wording import later, say

# Takes the turns, oldest first, and how many tokens those may keep that no mark spares (one
# strategy uses it). Returns the turns that stay.
Keeps = Callable[[Sequence[TurnSize], int], Sequence[TurnSize]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupStrategy:
    """Describes a strategy. `words` is the label of its button; `keeps` chooses what stays."""

    words: str
    keeps: Keeps


def _newer_half(turns: Sequence[TurnSize], down_to: int) -> Sequence[TurnSize]:
    """Keep at most half of all tokens: a turn across the middle is unloaded. The newest turn stays
    whatever its size, or nothing might."""
    half = sum(turn.tokens for turn in turns) // 2
    return _newest(turns, half) or turns[-1:]


def _newer_share(turns: Sequence[TurnSize], down_to: int) -> Sequence[TurnSize]:
    """Keep the newest, and two of them whatever their size: a message often refers to these. Spared
    turns stay wherever they are."""
    loose = [turn for turn in turns if not turn.spared]
    return loose[-max(2, len(_newest(loose, down_to))) :]


def _newest(turns: Sequence[TurnSize], most: int) -> Sequence[TurnSize]:
    """Return as many of the newest turns, without a gap, as fit into `most` tokens."""
    start, free = len(turns), most
    while start and turns[start - 1].tokens <= free:
        start -= 1
        free -= turns[start].tokens
    return turns[start:]


STRATEGIES: Mapping[str, CleanupStrategy] = MappingProxyType(
    {
        "keepSystemPromptOnly": CleanupStrategy(
            words=later("Keep only the instructions"), keeps=lambda turns, down_to: ()
        ),
        "keepSystemPromptAndHalf": CleanupStrategy(
            words=later("Keep the newer half"), keeps=_newer_half
        ),
        "keepSystemPromptAndFirstUserMessage": CleanupStrategy(
            words=later("Keep the first turn"), keeps=lambda turns, down_to: turns[:1]
        ),
        "keepSystemPromptAndLastUserMessage": CleanupStrategy(
            words=later("Keep the last turn"), keeps=lambda turns, down_to: turns[-1:]
        ),
        "removeOldestMessages": CleanupStrategy(
            words=later("Unload the oldest turns"), keeps=_newer_share
        ),
    }
)
DEFAULT = "removeOldestMessages"


def unload(
    strategy: str, turns: Sequence[TurnSize], *, room: int, low_water: int
) -> frozenset[int]:
    """Return the `first` of every turn to unload, of the older `turns`, oldest first.

    Spared turns are never unloaded. Under `removeOldestMessages` the others may keep `low_water`
    percent of what the spared ones leave of `room` tokens, as under the guard; the other strategies
    ignore both. Raises KeyError for an unknown strategy.
    """
    unspared_room = max(0, room - sum(turn.tokens for turn in turns if turn.spared))
    kept = STRATEGIES[strategy].keeps(turns, unspared_room * low_water // 100)
    staying = {turn.first for turn in kept}
    return frozenset(t.first for t in turns if not t.spared and t.first not in staying)


def make_room(
    strategy: str, turns: Sequence[TurnSize], *, room: int, low_water: int
) -> frozenset[int]:
    """Return what `unload` does, and more until the rest fits into `room` tokens.

    Where the strategy keeps too much, the oldest turns that it kept are unloaded too, and spared
    turns, oldest first, only when no others are left.
    """
    unloaded = set(unload(strategy, turns, room=room, low_water=low_water))
    tokens = sum(turn.tokens for turn in turns if turn.first not in unloaded)
    for turn in sorted(turns, key=lambda turn: (turn.spared, turn.first)):
        if tokens <= room:
            break
        if turn.first not in unloaded:
            unloaded.add(turn.first)
            tokens -= turn.tokens
    return frozenset(unloaded)


Source = Literal["environment", "template", "built in"]

VARIABLE = "CACHE_CLEANUP"
KEY = "cacheCleanup"
_SHOWN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleanup:
    """Holds the strategy that applies, its source, and a sentence for every value that was passed
    over."""

    value: str
    source: Source
    passed_over: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return say(STRATEGIES[self.value].words)

    def to_dict(self) -> dict[str, object]:
        return encode_fields(self) | {"words": self.words}


def resolve_cleanup(*, environment: str, template: Mapping[str, object]) -> Cleanup:
    """Choose the strategy that applies. `environment` is the variable's raw value, "" where it
    isn't set; `template` an agent's `chatSettings`. Raises BadSetting for a value of the
    environment that is not allowed."""
    name = environment.strip()
    if name and name not in STRATEGIES:
        raise BadSetting(f"{VARIABLE}={_printable(name)} is not allowed. {_allowed_names(name)}")
    wanted = template.get(KEY)
    usable = wanted if isinstance(wanted, str) and wanted in STRATEGIES else ""
    passed_over: tuple[str, ...] = ()
    if wanted is not None and not usable:
        reason = say(
            "chatSettings.{key} {value} is passed over. {allowed}",
            key=KEY,
            value=_printable(wanted),
            allowed=_allowed_names(wanted if isinstance(wanted, str) else ""),
        )
        passed_over = (reason,)
    elif name and usable and usable != name:
        reason = say(
            "chatSettings.{key} {value} doesn't count: the environment sets {variable}.",
            key=KEY,
            value=usable,
            variable=VARIABLE,
        )
        passed_over = (reason,)
    if name:
        return Cleanup(value=name, source="environment", passed_over=passed_over)
    if usable:
        return Cleanup(value=usable, source="template")
    return Cleanup(value=DEFAULT, source="built in", passed_over=passed_over)


def unknown_strategy(name: str) -> str:
    """Return the error for a strategy that doesn't exist, "" for one that does."""
    if name in STRATEGIES:
        return ""
    return say(
        "There is no strategy {name}. {allowed}",
        name=_printable(name),
        allowed=_allowed_names(name),
    )


def _allowed_names(text: str) -> str:
    """List the strategies, and name the one that `text` looks like, whatever its case, blanks,
    dashes and underscores."""
    names = ", ".join(STRATEGIES)
    by_lower_case = {name.lower(): name for name in STRATEGIES}
    letters = "".join(c for c in text[:_SHOWN].lower() if c.isalnum())
    near = get_close_matches(letters, by_lower_case, n=1, cutoff=0.6)
    if near:
        meant = by_lower_case[near[0]]
        return say("It is one of: {names}. {meant} was probably meant.", names=names, meant=meant)
    return say("It is one of: {names}.", names=names)


def _printable(value: object) -> str:
    """Make a value short, and free of line breaks, which could forge a log line."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
