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
from typing import Literal, Protocol

from chatsite.errors import BadSetting
from chatsite.wording import later, say


class CleanableTurn(Protocol):
    """An older turn: its first message's sequence number, its tokens, and whether a mark of the
    user (pin, reply) spares it."""

    @property
    def first(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def spared(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class OlderTurn:
    """An older turn, as a value."""

    first: int
    tokens: int
    spared: bool


# From the turns, oldest first, and how many tokens those may keep that no mark spares (one strategy
# uses it): the turns that stay.
Keeps = Callable[[Sequence[CleanableTurn], int], Sequence[CleanableTurn]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupStrategy:
    """`words` is the label of its button."""

    words: str
    keeps: Keeps


def _nothing(turns: Sequence[CleanableTurn], down_to: int) -> Sequence[CleanableTurn]:
    return ()


def _newer_half(turns: Sequence[CleanableTurn], down_to: int) -> Sequence[CleanableTurn]:
    """At most half of all tokens: a turn across the middle is unloaded. The newest turn stays
    whatever its size, or nothing might."""
    half = sum(turn.tokens for turn in turns) // 2
    return _newest(turns, half) or turns[-1:]


def _first(turns: Sequence[CleanableTurn], down_to: int) -> Sequence[CleanableTurn]:
    return turns[:1]


def _last(turns: Sequence[CleanableTurn], down_to: int) -> Sequence[CleanableTurn]:
    return turns[-1:]


def _newer_share(turns: Sequence[CleanableTurn], down_to: int) -> Sequence[CleanableTurn]:
    """The newest, and two of them whatever their size: a message often refers to these. Spared
    turns stay wherever they are."""
    loose = [turn for turn in turns if not turn.spared]
    return loose[-max(2, len(_newest(loose, down_to))) :]


def _newest(turns: Sequence[CleanableTurn], most: int) -> Sequence[CleanableTurn]:
    """As many of the newest turns, without a gap, as fit into `most` tokens."""
    start, left = len(turns), most
    while start and turns[start - 1].tokens <= left:
        start -= 1
        left -= turns[start].tokens
    return turns[start:]


STRATEGIES: Mapping[str, CleanupStrategy] = MappingProxyType(
    {
        "keepSystemPromptOnly": CleanupStrategy(
            words=later("Keep only the instructions"), keeps=_nothing
        ),
        "keepSystemPromptAndHalf": CleanupStrategy(
            words=later("Keep the newer half"), keeps=_newer_half
        ),
        "keepSystemPromptAndFirstUserMessage": CleanupStrategy(
            words=later("Keep the first turn"), keeps=_first
        ),
        "keepSystemPromptAndLastUserMessage": CleanupStrategy(
            words=later("Keep the last turn"), keeps=_last
        ),
        "removeOldestMessages": CleanupStrategy(
            words=later("Unload the oldest turns"), keeps=_newer_share
        ),
    }
)
DEFAULT = "removeOldestMessages"


def unload(
    strategy: str, turns: Sequence[CleanableTurn], *, room: int, low_water: int
) -> frozenset[int]:
    """The `first` of every turn to unload, of the older `turns`, oldest first.

    Spared turns are never unloaded. Under `removeOldestMessages` the others may keep `low_water`
    percent of what the spared ones leave of `room` tokens, as under the guard; the other strategies
    ignore both. Raises KeyError for an unknown strategy.
    """
    left = max(0, room - sum(turn.tokens for turn in turns if turn.spared))
    stay = {turn.first for turn in STRATEGIES[strategy].keeps(turns, left * low_water // 100)}
    return frozenset(t.first for t in turns if not t.spared and t.first not in stay)


def make_room(
    strategy: str, turns: Sequence[CleanableTurn], *, room: int, low_water: int
) -> frozenset[int]:
    """Like `unload`, until the turns fit into `room` tokens.

    Where the strategy keeps too much, the oldest turns that it kept are unloaded too, and spared
    turns, oldest first, only when no others are left.
    """
    gone = set(unload(strategy, turns, room=room, low_water=low_water))
    left = sum(turn.tokens for turn in turns if turn.first not in gone)
    for turn in sorted(turns, key=lambda turn: (turn.spared, turn.first)):
        if left <= room:
            break
        if turn.first not in gone:
            gone.add(turn.first)
            left -= turn.tokens
    return frozenset(gone)


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
