"""How much of an answer is kept besides its text. No model writes as much as this; a server that
goes on without end would fill the disk, and every page that opens the conversation."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable

from chatsite.messages import UNSOUND

# Characters of calls, and of what its server wants back.
LONGEST_KEPT = 1_000_000
# What an empty part of it counts for: a block, a call, a detail.
PART = 100
# Models call a handful of tools at once; OpenAI allows 128 tools in a request.
MOST_CALLS = 128
# A tool's name has at most 64 characters: a longer one that is cut is still no tool's.
LONGEST_NAME = 200
# Another id of a call is replaced by one of our own. Shorter ones ("call_0") are repeated in every
# round, and a result would have two calls.
SHORTEST_ID, LONGEST_ID = 8, 200
# More than any model reads or writes: a larger count couldn't be stored, or multiplied by a price.
MOST_TOKENS = 1_000_000_000


class TooLong(Exception):
    """The answer is longer than any model's."""


class Allowance:
    """The characters that a reader may still keep of one answer. What doesn't fit isn't cut, since
    half a signature is worth nothing: the answer ends, and nothing of it is kept but its text."""

    __slots__ = ("_calls", "left")

    def __init__(self) -> None:
        self.left = LONGEST_KEPT
        self._calls = MOST_CALLS

    def take(self, characters: int) -> None:
        """Raises TooLong where so many don't fit."""
        self.left -= characters
        if self.left < 0:
            raise TooLong

    def take_call(self) -> None:
        """One more call, whose name and arguments are taken as they come."""
        self._calls -= 1
        if self._calls < 0:
            raise TooLong
        self.take(PART)


def size_of(value: object) -> int:
    """The characters of a value of JSON. An estimate for what is no text."""
    if isinstance(value, str):
        return len(value)
    return 0 if value is None else len(json.dumps(value))


def own_ids(ids: Iterable[str]) -> list[str]:
    """The ids of an answer's calls, with one of our own where one is missing, doesn't fit, or is
    another call's."""
    found: list[str] = []
    for id in ids:
        fits = SHORTEST_ID <= len(id) <= LONGEST_ID and id not in found and not UNSOUND.search(id)
        found.append(id if fits else f"call_{secrets.token_hex(12)}")
    return found


def token_count(value: object) -> int | None:
    """A count as a server reported it, None for what can't be one."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS:
        return value
    return None
