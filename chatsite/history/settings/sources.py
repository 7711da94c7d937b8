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
from chatsite.history.settings.table import HistorySettings
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
    """Read what a link says, or the choice that is kept with a conversation; nothing where no
    person may choose the setting. A number of a kept choice may be text or JSON's own."""
    if row.url is None:
        return []
    raw = given.get(row.url)
    near = _near_names(source, row.url, given) if source == "URL" else []
    if isinstance(raw, str):
        return [_read_text(row, source, row.url, raw), *near]
    return [_read_json(row, source, row.url, raw), *near]


def read_written(
    row: SettingRow[Any], *, template: Mapping[str, object], room: Mapping[str, object] | None
) -> list[SourceValue]:
    """Read what a room's file and the agent's template say; both write settings in the same way."""
    written: dict[Origin, Mapping[str, object]] = {} if room is None else {"room": room}
    written["template"] = template
    found: list[SourceValue] = []
    for source, given in written.items():
        section = given.get(PLACE) if row.group == PLACE else given
        values = section if isinstance(section, Mapping) else {}
        claims = [
            _read_json(row, source, row.template, values.get(row.template)),
            *_near_names(source, row.template, values),
        ]
        if row.group == PLACE:
            claims = [replace(one, name=f"{PLACE}.{one.name}") for one in claims]
        found += claims
    if row is HistorySettings.enabled:
        # What is wrong with the object `conversation` as a whole is shown with its first setting.
        found += [fault for source, given in written.items() for fault in _faults(source, given)]
    return found


def _faults(source: Origin, given: Mapping[str, object]) -> Iterable[SourceValue]:
    """Find what is wrong with the object `conversation`: its name, or that it is no object."""
    section = given.get(PLACE)
    if section is not None and not isinstance(section, Mapping):
        yield _bad(source, PLACE, printable_json(section), say(NO_OBJECT))
    yield from _near_names(source, PLACE, given)


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


def decide_value(claims: Sequence[SourceValue]) -> Setting[Any]:
    """Let the first usable value win and overrule the others; one of them must be usable."""
    winner = next(one for one in claims if one.is_usable)

    def overrule(one: SourceValue) -> SourceValue:
        if not one.is_usable or one is winner:
            return one
        why = claim_words.overruled(one.source, by=winner.source, name=winner.name)
        return replace(one, outcome="overruled", why=why)

    return Setting(value=winner.value, source=winner.source, said=tuple(map(overrule, claims)))


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
