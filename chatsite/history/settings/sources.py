"""Where settings come from: the table of their names, and the value that each source gives.

To add a setting, add a row to the table, a field to `Settings` and its line in `resolve`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from chatsite.encoding import Record
from chatsite.errors import BadSetting
from chatsite.history.policies.last_n import LAST_N
from chatsite.history.policies.lexical import LEXICAL
from chatsite.history.policies.table import POLICIES
from chatsite.history.settings import claim_words
from chatsite.history.settings.claim_words import ClaimOutcome, Origin
from chatsite.history.settings.grammar import (
    Grammar,
    Name,
    Number,
    OneOf,
    Unreadable,
    fold,
    is_blank,
    printable,
    printable_json,
)
from chatsite.wording import say

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceValue(Record):
    """One source's value for one setting, what became of it, and why, in a sentence.

    `raw` is the value as it was written, None where the source has none.
    """

    source: Origin
    name: str
    raw: str | None
    outcome: ClaimOutcome
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Generic[T], Record):
    """A value, the source that decided it, and the values of all sources (`said`), the strongest
    first."""

    value: T
    source: Origin
    said: tuple[SourceValue, ...]


@dataclass(frozen=True, slots=True)
class SettingRow(Generic[T]):
    """One setting: its names in every source, its built-in value and how it is written.

    `environment` holds all names for it, our own first. `url` is the name in a link and in the
    choice that is kept with a conversation, None where neither may set it.
    """

    environment: tuple[str, ...]
    url: str | None
    template: str
    built_in: T
    grammar: Grammar[T]


POLICY: SettingRow[str] = SettingRow(
    ("HISTORY_POLICY", "DEFAULT_HISTORY_POLICY", "NEXT_PUBLIC_DEFAULT_HISTORY_POLICY"),
    "historyPolicy",
    "historyPolicy",
    LAST_N.name,
    OneOf(POLICIES.names),
)
LENGTH: SettingRow[int] = SettingRow(
    ("HISTORY_LENGTH", "DEFAULT_HISTORY_LENGTH", "NEXT_PUBLIC_DEFAULT_HISTORY_LENGTH"),
    "historyLength",
    "historyLength",
    20,
    Number(0),
)
TOKENS: SettingRow[int | None] = SettingRow(
    ("HISTORY_TOKENS",), "historyTokens", "historyTokens", None, Number(1)
)
LOW_WATER: SettingRow[int] = SettingRow(
    ("HISTORY_LOW_WATER",), None, "historyLowWater", 50, Number(1, 100)
)
STEP: SettingRow[int] = SettingRow(("HISTORY_STEP",), None, "historyStep", 1, Number(1))
SELECTOR: SettingRow[str] = SettingRow(
    ("HISTORY_SELECTOR",),
    "historySelector",
    "historySelector",
    LEXICAL.selector,
    OneOf(POLICIES.selectors),
)
SUMMARY_MODEL: SettingRow[str] = SettingRow(
    ("HISTORY_SUMMARY_MODEL",), None, "historySummaryModel", "fast", Name()
)
RECALL_SHARE: SettingRow[int | None] = SettingRow(
    ("HISTORY_RECALL_SHARE",), None, "historyRecallShare", None, Number(0, 100)
)

TABLE: tuple[SettingRow[str] | SettingRow[int] | SettingRow[int | None], ...] = (
    POLICY,
    LENGTH,
    TOKENS,
    LOW_WATER,
    STEP,
    SELECTOR,
    SUMMARY_MODEL,
    RECALL_SHARE,
)

# Read besides the table; none of these locks anything.
REASON = "HISTORY_REASON"
WHO_MAY_LINK = "HISTORY_URL"
MAX_LENGTH = "HISTORY_MAX_LENGTH"
MAX_TOKENS = "HISTORY_MAX_TOKENS"

HISTORY_NAMES: tuple[str, ...] = (
    *(name for row in TABLE for name in row.environment),
    REASON,
    WHO_MAY_LINK,
    MAX_LENGTH,
    MAX_TOKENS,
)
URL_NAMES: tuple[str, ...] = tuple(row.url for row in TABLE if row.url)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Generic[T]):
    """A source's claim to decide a setting. `value` counts only while `usable`."""

    said: SourceValue
    value: T
    usable: bool


def from_environment(row: SettingRow[T], environment: Mapping[str, str]) -> list[Claim[T]]:
    """The environment's claim, or an empty one.

    Raises BadSetting for a value that is not allowed and for two names that disagree.
    """
    found = [
        (name, environment[name], read_variable(name, environment[name], row.grammar))
        for name in row.environment
        if not is_blank(environment.get(name))
    ]
    if not found:
        return [_absent(row, "environment", row.environment[0])]
    first, raw, value = found[0]
    for name, other_raw, other in found[1:]:
        if other != value:
            raise BadSetting(
                f"{first} is {printable(raw)!r} and {name} is {printable(other_raw)!r}: "
                "they are two names for one setting; keep one of them"
            )
    return [
        Claim(
            said=SourceValue(
                source="environment",
                name=name,
                raw=printable(text),
                outcome="won" if name == first else "overruled",
                why=(
                    claim_words.WON["environment"]
                    if name == first
                    else claim_words.overruled("environment", by="environment", name=first)
                ),
            ),
            value=same,
            usable=name == first,
        )
        for name, text, same in found
    ]


def from_url(row: SettingRow[T], url: Mapping[str, str]) -> list[Claim[T]]:
    """The link's claim, an empty one, or none where no link may set this."""
    if row.url is None:
        return []
    near = _near_names(row, "URL", row.url, url)
    raw = url.get(row.url)
    if raw is None or is_blank(raw):
        return [_absent(row, "URL", row.url), *near]
    try:
        value = row.grammar.read(raw)
    except Unreadable as problem:
        return [_passed_over(row, "URL", row.url, printable(raw), "bad", str(problem)), *near]
    return [_usable("URL", row.url, printable(raw), value), *near]


def from_conversation(row: SettingRow[T], choice: Mapping[str, object]) -> list[Claim[T]]:
    """The claim of the choice that is kept with the conversation, under the names of a link: an
    empty one, or none where no link may set this. A number may be text or JSON's own."""
    if row.url is None:
        return []
    raw = choice.get(row.url)
    if raw is None or (isinstance(raw, str) and is_blank(raw)):
        return [_absent(row, "conversation", row.url)]
    written = printable(raw) if isinstance(raw, str) else printable_json(raw)
    try:
        value = row.grammar.read(raw) if isinstance(raw, str) else row.grammar.read_json(raw)
    except Unreadable as problem:
        return [_passed_over(row, "conversation", row.url, written, "bad", str(problem))]
    return [_usable("conversation", row.url, written, value)]


def from_template(
    row: SettingRow[T], template: Mapping[str, object], source: Origin = "template"
) -> list[Claim[T]]:
    """The agent's claim, or an empty one. A room's file writes settings as a template does."""
    near = _near_names(row, source, row.template, template)
    raw = template.get(row.template)
    if raw is None:
        return [_absent(row, source, row.template), *near]
    try:
        value = row.grammar.read_json(raw)
    except Unreadable as problem:
        text = printable_json(raw)
        return [_passed_over(row, source, row.template, text, "bad", str(problem)), *near]
    return [_usable(source, row.template, printable_json(raw), value), *near]


def from_room(row: SettingRow[T], room: Mapping[str, object] | None) -> list[Claim[T]]:
    """The claim of the room that the conversation is held in; none elsewhere."""
    return [] if room is None else from_template(row, room, "room")


def built_in(row: SettingRow[T]) -> Claim[T]:
    raw = None if row.built_in is None else printable_json(row.built_in)
    return _usable("built in", "", raw, row.built_in)


def settled(claims: Sequence[Claim[T]]) -> Setting[T]:
    """The first usable claim wins; one of them must be usable."""
    winner = next(claim for claim in claims if claim.usable)
    return Setting(
        value=winner.value,
        source=winner.said.source,
        said=tuple(_outcome(claim, winner) for claim in claims),
    )


def _outcome(claim: Claim[T], winner: Claim[T]) -> SourceValue:
    if not claim.usable or claim is winner:
        return claim.said
    by = winner.said
    why = claim_words.overruled(claim.said.source, by=by.source, name=by.name)
    return replace(claim.said, outcome="overruled", why=why)


def read_variable(name: str, raw: str, grammar: Grammar[T]) -> T:
    """Raises BadSetting with the variable's name, its value and what is allowed."""
    try:
        return grammar.read(raw)
    except Unreadable as problem:
        raise BadSetting(f"{name} is {printable(raw)!r}: {problem}") from None


def _usable(source: Origin, name: str, raw: str | None, value: T) -> Claim[T]:
    why = claim_words.WON[source]
    said = SourceValue(source=source, name=name, raw=raw, outcome="won", why=why)
    return Claim(said=said, value=value, usable=True)


def _passed_over(
    row: SettingRow[T], source: Origin, name: str, raw: str | None, outcome: ClaimOutcome, why: str
) -> Claim[T]:
    said = SourceValue(source=source, name=name, raw=raw, outcome=outcome, why=why)
    return Claim(said=said, value=row.built_in, usable=False)


def _absent(row: SettingRow[T], source: Origin, name: str) -> Claim[T]:
    return _passed_over(row, source, name, None, "absent", claim_words.ABSENT)


def _near_names(
    row: SettingRow[T], source: Origin, wanted: str, names: Mapping[str, object]
) -> Iterable[Claim[T]]:
    """Misspelled names of this setting; they don't count, and are shown."""
    for name, value in names.items():
        if name != wanted and fold(name) == fold(wanted):
            why = say("names are matched exactly: {name} was probably meant", name=wanted)
            text = printable(value) if isinstance(value, str) else printable_json(value)
            yield _passed_over(row, source, printable(name), text, "bad", why)
