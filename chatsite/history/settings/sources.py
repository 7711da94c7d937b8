"""What each source says of a setting: the environment, a link, the choice that is kept with a
conversation, a Talk room's file, an agent's template, and what is built in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from chatsite.errors import BadSetting
from chatsite.history.settings import claim_words
from chatsite.history.settings.claim_words import Origin
from chatsite.history.settings.grammar import (
    Grammar,
    Unreadable,
    fold,
    is_blank,
    printable,
    printable_json,
)
from chatsite.history.settings.row import Setting, SettingRow, SourceValue
from chatsite.wording import later, say

T = TypeVar("T")

# The object of a template or of a room's file that holds the settings of this group.
PLACE = "conversation"
NO_OBJECT = later("allowed is an object with settings")


def read_environment(row: SettingRow[Any], environment: Mapping[str, str]) -> Sequence[SourceValue]:
    """Raises BadSetting for a value that is not allowed and for two names that disagree."""
    names = [name for name in row.environment if not is_blank(environment.get(name))]
    if not names:
        return [_absent("environment", row.environment[0])]
    found = {name: read_variable(name, environment[name], row.grammar) for name in names}
    first, *others = names
    for name in others:
        if found[name] != found[first]:
            raise BadSetting(
                f"{first} is {printable(environment[first])!r} and {name} is "
                f"{printable(environment[name])!r}: "
                "they are two names for one setting; keep one of them"
            )
    same = claim_words.overruled("environment", by="environment", name=first) if others else ""
    return [
        _won("environment", first, printable(environment[first]), found[first]),
        *(
            SourceValue(
                source="environment",
                name=name,
                raw=printable(environment[name]),
                outcome="overruled",
                why=same,
            )
            for name in others
        ),
    ]


def read_variable(name: str, raw: str, grammar: Grammar[T]) -> T:
    """Raises BadSetting with the variable's name, its value and what is allowed."""
    try:
        return grammar.read(raw)
    except Unreadable as problem:
        raise BadSetting(f"{name} is {printable(raw)!r}: {problem}") from None


def read_choice(
    row: SettingRow[Any], source: Origin, given: Mapping[str, object]
) -> Sequence[SourceValue]:
    """What a link says, or the choice that is kept with a conversation; nothing where no person
    may choose it. A number of a kept choice may be text or JSON's own."""
    if row.url is None:
        return []
    raw = given.get(row.url)
    near = _near_names(source, row.url, given) if source == "URL" else []
    if isinstance(raw, str):
        return [_read_text(row, source, row.url, raw), *near]
    return [_read_json(row, source, row.url, raw), *near]


def read_object(
    row: SettingRow[Any], source: Origin, given: Mapping[str, object]
) -> Sequence[SourceValue]:
    """What an agent's template says, or a room's file: both write settings in the same way."""
    if row.group != PLACE:
        return _read_name(row, source, given)
    section = given.get(PLACE)
    said = _read_name(row, source, section if isinstance(section, Mapping) else {})
    return [replace(one, name=f"{PLACE}.{one.name}") for one in said]


def section_faults(source: Origin, given: Mapping[str, object]) -> Iterable[SourceValue]:
    """What is wrong with the object `conversation` as a whole: its name, or that it is none."""
    section = given.get(PLACE)
    if section is not None and not isinstance(section, Mapping):
        yield _bad(source, PLACE, printable_json(section), say(NO_OBJECT))
    yield from _near_names(source, PLACE, given)


def _read_name(
    row: SettingRow[Any], source: Origin, given: Mapping[str, object]
) -> Sequence[SourceValue]:
    said = _read_json(row, source, row.template, given.get(row.template))
    return [said, *_near_names(source, row.template, given)]


def _read_text(row: SettingRow[Any], source: Origin, name: str, raw: str) -> SourceValue:
    if is_blank(raw):
        return _absent(source, name)
    try:
        return _won(source, name, printable(raw), row.grammar.read(raw))
    except Unreadable as problem:
        return _bad(source, name, printable(raw), str(problem))


def _read_json(row: SettingRow[Any], source: Origin, name: str, raw: object) -> SourceValue:
    if raw is None:
        return _absent(source, name)
    try:
        return _won(source, name, printable_json(raw), row.grammar.read_json(raw))
    except Unreadable as problem:
        return _bad(source, name, printable_json(raw), str(problem))


@cache
def built_in(row: SettingRow[Any]) -> SourceValue:
    raw = None if row.built_in is None else printable_json(row.built_in)
    return _won("built in", "", raw, row.built_in)


def settled(said: Sequence[SourceValue]) -> Setting[Any]:
    """The first usable value wins; one of them must be usable."""
    winner = next(one for one in said if one.is_usable)
    return Setting(
        value=winner.value,
        source=winner.source,
        said=tuple(_beside(one, winner) for one in said),
    )


def _beside(one: SourceValue, winner: SourceValue) -> SourceValue:
    if not one.is_usable or one is winner:
        return one
    why = claim_words.overruled(one.source, by=winner.source, name=winner.name)
    return replace(one, outcome="overruled", why=why)


def _won(source: Origin, name: str, raw: str | None, value: object) -> SourceValue:
    why = claim_words.WON[source]
    return SourceValue(source=source, name=name, raw=raw, outcome="won", why=why, value=value)


def _bad(source: Origin, name: str, raw: str, why: str) -> SourceValue:
    return SourceValue(source=source, name=name, raw=raw, outcome="bad", why=why)


def _absent(source: Origin, name: str) -> SourceValue:
    why = claim_words.ABSENT
    return SourceValue(source=source, name=name, raw=None, outcome="absent", why=why)


def _near_names(source: Origin, wanted: str, given: Mapping[str, object]) -> Sequence[SourceValue]:
    """Misspelled names of this setting; they don't count, and are shown."""
    return [
        _bad(
            source,
            printable(name),
            printable(value) if isinstance(value, str) else printable_json(value),
            say("names are matched exactly: {name} was probably meant", name=wanted),
        )
        for name, value in given.items()
        if name != wanted and fold(name) == fold(wanted)
    ]
