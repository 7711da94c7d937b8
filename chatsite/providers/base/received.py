"""What a server sent, bounded, and made fit to be stored and sent on."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable
from typing import Any

from chatsite.messages import UNSOUND, repair_text

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


_NAMESPACE = re.compile(r"^(?:functions?|tools?|default_api)\s*\.\s*")


def string_of(value: object) -> str:
    """Text, "" for None. Raises TypeError for anything else."""
    if value is not None and not isinstance(value, str):
        raise TypeError("not text")
    return value or ""


def called_name(name: str) -> str:
    """A tool's name as a model wrote it, without blanks and the namespace in which some models were
    taught their tools: no name of ours has a dot."""
    return _NAMESPACE.sub("", name.strip()).strip()


class TextJoiner:
    """Joins characters that a server cut in two between pieces of text."""

    def __init__(self) -> None:
        self._half = ""

    def take(self, piece: str) -> str:
        """The piece as text that can be stored; half a character at its end is kept for the next
        piece. Raises TypeError for a piece that isn't text."""
        if not isinstance(piece, str):
            raise TypeError("not text")
        if piece.isascii() and "\0" not in piece and not self._half:
            return piece
        text = self._half + piece
        self._half = text[-1] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return repair_text(text[:-1] if self._half else text)


def repair_json(value: Any) -> Any:
    """A JSON value with every text in it repaired."""
    match value:
        case str():
            return repair_text(value)
        case list():
            return [repair_json(item) for item in value]
        case dict():
            return {repair_text(key): repair_json(item) for key, item in value.items()}
    return value
