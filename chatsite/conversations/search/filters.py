"""What a person types beside words to narrow a search: `agent:demo`, `after:2026-11-01`,
`is:pinned`.

A filter that isn't one is looked for as text, and a note says which there are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, tzinfo
from zoneinfo import ZoneInfo

from chatsite.conversations.database.columns import moment
from chatsite.wording import say

MARKS = ("bookmarked", "pinned", "archived")
NAMES = ("agent:", "after:", "before:", "folder:", *(f"is:{mark}" for mark in MARKS))
_PIECE = re.compile(r'(?:([A-Za-z]{2,20}):("[^"]+"?|[^\s"]+))|"[^"]*"?|[^\s"]+')


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Holds the `values` of the filters by their names, which are those of the conditions in
    `statements.py`; a mark has no value. `typed` are the filters as they were written."""

    values: Mapping[str, tuple[object, ...]]
    typed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.values)

    def conditions(self, table: Mapping[str, str]) -> tuple[str, tuple[object, ...]]:
        """Return what follows a WHERE, each with its AND, and the values for it."""
        sql = "".join(f" AND {table[name]}" for name in self.values)
        return sql, tuple(value for values in self.values.values() for value in values)


def split_filters(text: str, zone: tzinfo = UTC) -> tuple[str, Filters, str]:
    """Return the words of what was typed, its filters, and a note for the person on those that
    can't be used. A day begins at midnight in `zone`. Of two filters of a name the last counts."""
    words: list[str] = []
    values: dict[str, tuple[object, ...]] = {}
    typed: dict[str, str] = {}
    note = ""
    for piece in _PIECE.finditer(text):
        name, value = (piece[1] or "").lower(), (piece[2] or "").strip('"')
        try:
            found, given = _filter(name, value, zone)
        except ValueError as error:
            words.append(piece[0])
            note = note or str(error)
            continue
        if found:
            values[found], typed[found] = given, piece[0]
        else:
            words.append(piece[0])
    return " ".join(words), Filters(values=values, typed=tuple(typed.values())), note


def zone_named(name: str) -> tzinfo:
    """The time zone of a page; UTC where it isn't known here."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ValueError, OSError):
        return UTC


def _filter(name: str, value: str, zone: tzinfo) -> tuple[str, tuple[object, ...]]:
    """The filter's name in the conditions and its values; "" for words. Raises ValueError with a
    sentence where it looks like a filter."""
    if name in ("agent", "folder"):
        return name, (value,)
    if name in ("after", "before"):
        return name, (_day(name, value, zone),)
    if name == "is" and value.lower() in MARKS:
        return value.lower(), ()
    # Neither an address nor a time of day.
    if name and not value.startswith(("/", "\\")):
        raise ValueError(
            say(
                "“{typed}” is no filter and is searched as text. Filters are {names}.",
                typed=f"{name}:{value}",
                names=", ".join(NAMES),
            )
        )
    return "", ()


def _day(name: str, value: str, zone: tzinfo) -> object:
    """The beginning of the day as the database has it."""
    try:
        midnight = datetime.combine(date.fromisoformat(value), time(), tzinfo=zone)
        return moment(midnight.astimezone(UTC))
    except (ValueError, OverflowError):
        raise ValueError(
            say(
                "“{typed}” is searched as text: a day is written as in {name}:2026-11-20.",
                typed=f"{name}:{value}",
                name=name,
            )
        ) from None
