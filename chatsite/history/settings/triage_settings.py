"""The settings of triage, and of the notes that background tasks leave in a conversation.

From `CONVERSATION_<NAME>` and `chatSettings.conversation.<name>`; no link sets them, and none of
them locks the address. To add one, add a field and its row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, TypeVar

from chatsite.encoding import Record
from chatsite.history.policies.base import TriageTerms
from chatsite.history.settings.grammar import Decimal, Flag, Grammar, Name, Number, Object
from chatsite.history.settings.sources import (
    Claim,
    Setting,
    SettingRow,
    built_in,
    from_environment,
    from_room,
    from_template,
    settled,
)

T = TypeVar("T")

PLACE = "conversation"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSettings(Record):
    """What applies to the selector `triage`; counts are turns. Three act under every policy.

    With `enabled` false the current turn is sent alone, whatever the policy. Triage looks at the
    last `lookback_count` turns, and of them at those within `context_recency_hours` of the newest
    (0: all) and at the newest `context_min_messages` (0: no such minimum). Up to
    `skip_selection_threshold` turns are all kept; of more, the newest `always_include_recent` are
    kept, and with `use_selection` the model `selection_model` is asked about the others, for
    `selection_timeout` seconds in all. `context_truncation` cuts older answers to so many
    characters, 0 for no cut.
    `previous_tasks_count` messages of background tasks are quoted before the message that follows
    them, under every policy that looks back. Of a Talk room the newest `talk_context_limit`
    messages are read, in whole turns.
    """

    enabled: Setting[bool]
    lookback_count: Setting[int]
    context_recency_hours: Setting[float]
    context_min_messages: Setting[int]
    skip_selection_threshold: Setting[int]
    always_include_recent: Setting[int]
    use_selection: Setting[bool]
    selection_model: Setting[str]
    selection_timeout: Setting[float]
    context_truncation: Setting[int]
    previous_tasks_count: Setting[int]
    talk_context_limit: Setting[int]

    @property
    def all(self) -> dict[str, Setting[bool] | Setting[int] | Setting[float] | Setting[str]]:
        """Every setting by its name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def triage_terms(self) -> TriageTerms:
        """What triage plans by, as plain values."""
        return TriageTerms(
            lookback_count=self.lookback_count.value,
            context_recency_hours=self.context_recency_hours.value,
            context_min_messages=self.context_min_messages.value,
            skip_selection_threshold=self.skip_selection_threshold.value,
            always_include_recent=self.always_include_recent.value,
            use_selection=self.use_selection.value,
            context_truncation=self.context_truncation.value,
        )


def _row(name: str, value: T, grammar: Grammar[T]) -> SettingRow[T]:
    return SettingRow((f"CONVERSATION_{name.upper()}",), None, name, value, grammar)


_ENABLED = _row("enabled", True, Flag())
_LOOKBACK_COUNT = _row("lookback_count", 25, Number(0))
_CONTEXT_RECENCY_HOURS = _row("context_recency_hours", 0.0, Decimal())
_CONTEXT_MIN_MESSAGES = _row("context_min_messages", 10, Number(0))
_SKIP_SELECTION_THRESHOLD = _row("skip_selection_threshold", 3, Number(0))
_ALWAYS_INCLUDE_RECENT = _row("always_include_recent", 5, Number(0))
_USE_SELECTION = _row("use_selection", True, Flag())
_SELECTION_MODEL = _row("selection_model", "fast", Name())
_SELECTION_TIMEOUT = _row("selection_timeout", 30.0, Decimal(above_zero=True))
_CONTEXT_TRUNCATION = _row("context_truncation", 0, Number(0))
_PREVIOUS_TASKS_COUNT = _row("previous_tasks_count", 3, Number(0))
_TALK_CONTEXT_LIMIT = _row("talk_context_limit", 100, Number(1))
# They have an effect in Talk rooms alone.
ROOM_SETTINGS = frozenset({_TALK_CONTEXT_LIMIT.template})

CONVERSATION_NAMES: tuple[str, ...] = tuple(
    f"CONVERSATION_{field.name.upper()}" for field in fields(ConversationSettings)
)
# By the names of their fields. Their names in a template stand below `PLACE`.
CONVERSATION_ROWS: Mapping[str, SettingRow[Any]] = {
    row.template: row
    for row in (
        *(_ENABLED, _LOOKBACK_COUNT, _CONTEXT_RECENCY_HOURS, _CONTEXT_MIN_MESSAGES),
        *(_SKIP_SELECTION_THRESHOLD, _ALWAYS_INCLUDE_RECENT, _USE_SELECTION, _SELECTION_MODEL),
        *(_SELECTION_TIMEOUT, _CONTEXT_TRUNCATION, _PREVIOUS_TASKS_COUNT, _TALK_CONTEXT_LIMIT),
    )
}
_OBJECT: SettingRow[Mapping[str, object]] = SettingRow(
    (), None, PLACE, MappingProxyType({}), Object()
)


def resolve_conversation(
    *,
    environment: Mapping[str, str],
    template: Mapping[str, object],
    room: Mapping[str, object] | None = None,
) -> ConversationSettings:
    """Decide every one of these settings; `template` is the agent's whole `chatSettings`, and
    `room` that of a Talk room.

    Raises BadSetting for a bad environment. A bad value of template or room is passed over and
    shown with its setting; a `conversation` that is no object, with `enabled`.
    """
    of_room, of_template = from_room(_OBJECT, room), from_template(_OBJECT, template)
    amiss = [claim.said for claim in (*of_room, *of_template) if claim.said.outcome == "bad"]
    in_room = _object(of_room) if room is not None else None
    in_template = _object(of_template)

    def settle(row: SettingRow[T]) -> Setting[T]:
        claims = [*from_environment(row, environment)]
        written = [*from_room(row, in_room), *from_template(row, in_template)]
        return settled([*claims, *map(_with_place, written), built_in(row)])

    enabled = settle(_ENABLED)
    return ConversationSettings(
        enabled=replace(enabled, said=(*enabled.said[:-1], *amiss, enabled.said[-1])),
        lookback_count=settle(_LOOKBACK_COUNT),
        context_recency_hours=settle(_CONTEXT_RECENCY_HOURS),
        context_min_messages=settle(_CONTEXT_MIN_MESSAGES),
        skip_selection_threshold=settle(_SKIP_SELECTION_THRESHOLD),
        always_include_recent=settle(_ALWAYS_INCLUDE_RECENT),
        use_selection=settle(_USE_SELECTION),
        selection_model=settle(_SELECTION_MODEL),
        selection_timeout=settle(_SELECTION_TIMEOUT),
        context_truncation=settle(_CONTEXT_TRUNCATION),
        previous_tasks_count=settle(_PREVIOUS_TASKS_COUNT),
        talk_context_limit=settle(_TALK_CONTEXT_LIMIT),
    )


def _object(claims: Sequence[Claim[Mapping[str, object]]]) -> Mapping[str, object]:
    return next((claim.value for claim in claims if claim.usable), _OBJECT.built_in)


def _with_place(claim: Claim[T]) -> Claim[T]:
    """With its place in `chatSettings` for a name."""
    return replace(claim, said=replace(claim.said, name=in_place(claim.said.name)))


def in_place(name: str) -> str:
    """A name with its place in `chatSettings`."""
    return f"{PLACE}.{name}"
