"""What a history setting is: its row in the table, its value, and what each source says of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, overload

from chatsite.encoding import Record, encode_fields
from chatsite.history.settings.claim_words import ClaimOutcome, Origin
from chatsite.history.settings.grammar import Grammar

T = TypeVar("T")

Group = Literal["history", "conversation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceValue(Record):
    """What one source says of one setting, what became of it, and why, in a sentence.

    `raw` is the value as it was written, None where the source has none; `value` is what that
    means, and counts only with the outcome "won".
    """

    source: Origin
    name: str
    raw: str | None
    outcome: ClaimOutcome
    why: str
    value: Any = field(default=None, repr=False, compare=False)

    @property
    def is_usable(self) -> bool:
        return self.outcome == "won"

    def to_dict(self) -> dict[str, Any]:
        return {name: told for name, told in encode_fields(self).items() if name != "value"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Generic[T], Record):
    """A value, the source that decided it, and what all sources say of it (`said`), the strongest
    first."""

    value: T
    source: Origin
    said: tuple[SourceValue, ...]


class FoundSettings:
    """Settings that were decided, by name: what a row of the table reads its setting from."""

    __slots__ = ()
    all: Mapping[str, Setting[Any]]


@dataclass(slots=True, kw_only=True, eq=False)
class SettingRow(Generic[T]):
    """One row of the table of history settings.

    Its other names follow from the one it has in the table: `low_water` is HISTORY_LOW_WATER in
    the environment and `historyLowWater` in a template; in the group `conversation` it would be
    CONVERSATION_LOW_WATER and `low_water` in the template's object `conversation`.

    `choosable`: a person may choose it, in a link and in the page, by its name in a template.
    `more_names` are further variables that mean the same. `only_in_rooms`: it acts in Talk rooms
    alone. `always_shown`: the panel shows it also where nobody sets it. People read the `label`
    and the sentence `about` it in the panel, and the sentence `manual` in the documents.
    """

    built_in: T
    grammar: Grammar[T]
    label: str
    about: str
    manual: str
    group: Group = "history"
    choosable: bool = False
    more_names: tuple[str, ...] = ()
    only_in_rooms: bool = False
    always_shown: bool = False

    # `environment` has all variables for it, our own first; `template` is the name in a template,
    # within the object of its group, and in a room's file; `url` the one in a link and in the
    # choice that is kept with a conversation, None where no person may choose it.
    name: str = field(init=False)
    environment: tuple[str, ...] = field(init=False)
    template: str = field(init=False)
    url: str | None = field(init=False)

    def __set_name__(self, table: type, name: str) -> None:
        self.name = name
        self.environment = (f"{self.group}_{name}".upper(), *self.more_names)
        camel = re.sub(r"_(.)", lambda found: found[1].upper(), f"history_{name}")
        self.template = camel if self.group == "history" else name
        self.url = self.template if self.choosable else None

    @overload
    def __get__(self, settings: None, table: type) -> SettingRow[T]: ...
    @overload
    def __get__(self, settings: FoundSettings, table: type) -> Setting[T]: ...
    def __get__(self, settings: FoundSettings | None, table: type) -> SettingRow[T] | Setting[T]:
        """Give the row itself from the table, and the setting from settings that were decided."""
        return self if settings is None else settings.all[self.name]

    def name_in(self, source: Origin) -> str:
        """Give the usual name of the setting in this source, "" for what is built in."""
        if source == "built in":
            return ""
        if source == "environment":
            return self.environment[0]
        return f"{self.group}.{self.name}" if self.group == "conversation" else self.template
