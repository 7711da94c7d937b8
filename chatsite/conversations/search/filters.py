"""Filters beside the words of a search: `agent:demo`, `after:2026-11-01`, `is:pinned`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, tzinfo
from zoneinfo import ZoneInfo

from chatsite.conversations.database.columns import moment
from chatsite.wording import say

MARKS = ("bookmarked", "pinned", "archived")
NAMES = ("agent:", "after:2026-11-20", "before:", "folder:", *(f"is:{mark}" for mark in MARKS))
_PIECE = re.compile(r'(?:([A-Za-z]{2,20}):("[^"]+"?|[^\s"]+))|"[^"]*"?|[^\s"]+')


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Holds the `values` of the filters by their names, which are those of the conditions in
    `statements.py`; a mark has no value. `typed` are the filters as they were written."""

    values: Mapping[str, tuple[object, ...]]
    typed: tuple[str, ...]

    def conditions(self, table: Mapping[str, str]) -> tuple[str, tuple[object, ...]]:
        """Return what follows a WHERE, each with its AND, and the values for it."""
        sql = "".join(f" AND {table[name]}" for name in self.values)
        return sql, tuple(value for values in self.values.values() for value in values)


def split_filters(text: str, zone: tzinfo = UTC) -> tuple[str, Filters, str]:
    """Return the words of what was typed, its filters, and a note on one that can't be used, which
    is searched as text. A day begins at midnight in `zone`; of two of a name the last counts."""
    words: list[str] = []
    values: dict[str, tuple[object, ...]] = {}
    typed: dict[str, str] = {}
    unknown = ""
    for piece in _PIECE.finditer(text):
        name, value = (piece[1] or "").lower(), (piece[2] or "").strip('"')
        if found := _filter(name, value, zone):
            values[found[0]], typed[found[0]] = found[1:], piece[0]
            continue
        words.append(piece[0])
        # Neither an address nor a path.
        if name and not value.startswith(("/", "\\")):
            unknown = unknown or piece[0]
    note = unknown and say(
        "“{typed}” is no filter and is searched as text. Filters are {names}.",
        typed=unknown,
        names=", ".join(NAMES),
    )
    return " ".join(words), Filters(values=values, typed=tuple(typed.values())), note


def zone_named(name: str) -> tzinfo:
    """Return the time zone of a page; UTC where it isn't known here."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ValueError, OSError, KeyError):
        return UTC


def _filter(name: str, value: str, zone: tzinfo) -> tuple[str, *tuple[object, ...]] | None:
    """Return the filter's name in the conditions and its values; None for words."""
    if name in ("agent", "folder"):
        return name, value
    if name == "is" and value.lower() in MARKS:
        return (value.lower(),)
    try:
        midnight = datetime.combine(date.fromisoformat(value), time(), tzinfo=zone)
        return (name, moment(midnight.astimezone(UTC))) if name in ("after", "before") else None
    except (ValueError, OverflowError):
        return None
