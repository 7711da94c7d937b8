"""The selector `triage`: which older turns a fast model is asked about, and what is kept then.

A model that can't be asked leaves nothing out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from chatsite.history.settings.triage_settings import ConversationSettings
from chatsite.history.values.marks import (
    BACKGROUND,
    below_marker,
    is_background,
    is_excluded,
    is_unloaded,
)
from chatsite.history.values.reasons import Reason
from chatsite.history.values.tokens import estimate_message
from chatsite.history.values.transcript import Entry, Turn
from chatsite.messages import TokenCount

SHORTENED = " […shortened]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What becomes of the older turns: `certain` are sent, the `candidates` are asked about.

    Both are oldest first. Without candidates no model is asked. `left_out` says why the others
    aren't sent, by the sequence number of their first message; "" where a mark will say it.
    `scope` is what is looked at, in words: "the last 25 turns".
    """

    certain: tuple[Turn, ...]
    candidates: tuple[Turn, ...]
    left_out: Mapping[int, str]
    scope: str


def plan_of(turns: Sequence[Turn], settings: ConversationSettings, *, marker: int = 0) -> Plan:
    """Divide the older turns, oldest first, the current one not among them.

    Turns of background tasks are passed over; what a person left out, or asked to forget
    (`marker`: what begins before it), and what a cleanup unloaded takes its place in the lookback
    but is never shown to a model.
    """
    lookback, hours = settings.lookback_count.value, settings.context_recency_hours.value
    people = [turn for turn in turns if not is_background(turn)]
    looked_at = people[max(0, len(people) - lookback) :]
    marker = max(marker, below_marker([entry for turn in looked_at for entry in turn.entries]))
    usable = [
        turn
        for turn in looked_at
        if _first(turn) >= marker and not is_excluded(turn) and not is_unloaded(turn)
    ]
    recent = _recent(usable, hours=hours, least=settings.context_min_messages.value)
    newest = settings.always_include_recent.value
    asks = settings.use_selection.value and len(recent) > max(
        settings.skip_selection_threshold.value, newest
    )
    split = len(recent) - newest if asks else 0
    scope = f"the last {_turns(lookback)}" if lookback else "this message"
    left_out = dict.fromkeys(map(_first, turns), "")
    for turn in people[: len(people) - len(looked_at)]:
        left_out[_first(turn)] = f"older than {scope}"
    for turn in usable:
        left_out[_first(turn)] = f"more than {hours:g} hours older than the newest turn"
    kept = set(map(_first, recent))
    return Plan(
        certain=tuple(recent[split:]),
        candidates=tuple(recent[:split]),
        left_out={first: why for first, why in left_out.items() if first not in kept},
        scope=scope,
    )


def _recent(turns: list[Turn], *, hours: float, least: int) -> list[Turn]:
    """Those within `hours` of the newest turn, and the newest `least`. A time that isn't known
    leaves nothing out."""
    newest = time_of(turns[-1]) if turns else None
    if hours <= 0 or len(turns) <= least or newest is None:
        return turns
    spared = len(turns) - least
    return [
        turn
        for position, turn in enumerate(turns)
        if position >= spared or _within(time_of(turn), newest, hours)
    ]


def _within(time: datetime | None, newest: datetime, hours: float) -> bool:
    # Compared as a span: hours may reach back to before the calendar begins.
    return time is None or newest - time <= timedelta(hours=hours)


def selected(plan: Plan, chosen: AbstractSet[int] | None) -> dict[int, tuple[Reason, str]]:
    """Every turn of the plan by its first message: the reason and a sentence of its own.

    `chosen` are candidates by the same number; None, where no model has chosen, keeps them all.
    """
    found: dict[int, tuple[Reason, str]] = {
        first: ("over_length", why) for first, why in plan.left_out.items()
    }
    for turn in plan.candidates:
        first = _first(turn)
        if chosen is None:
            why = f"within {plan.scope}; no model has chosen among them"
            found[first] = "within_length", why
        elif first in chosen:
            found[first] = "relevant", "chosen by a fast model"
        else:
            found[first] = "not_relevant", "a fast model left it out"
    newest = f"within the newest {_turns(len(plan.certain))}"
    for turn in plan.certain:
        why = newest if plan.candidates else f"within {plan.scope}"
        found[_first(turn)] = "within_length", why
    return found


def shorten(text: str, characters: int) -> str:
    """The beginning of a text, marked as such; 0 is no limit."""
    if not 0 < characters < len(text):
        return text
    return text[:characters] + SHORTENED


def shortened(entry: Entry, characters: int) -> Entry:
    """An answer with its text cut; every other message, and a short answer, as it is.

    Its tokens are estimated then. What the provider kept of it belongs to the whole text.
    """
    message = entry.message
    text = message.content or ""
    if message.role != "assistant" or (cut := shorten(text, characters)) == text:
        return entry
    new = replace(message, content=cut, metadata="")
    known = message.tokens.count if message.tokens else estimate_message(message)
    count = min(known, estimate_message(new))
    tokens = TokenCount(count=count, tokenizer="estimate", basis="estimated")
    return replace(entry, message=replace(new, tokens=tokens))


def _turns(count: int) -> str:
    return "turn" if count == 1 else f"{count:,} turns"


def _first(turn: Turn) -> int:
    return turn.entries[0].seq


def time_of(turn: Turn) -> datetime | None:
    """That of its newest message; what a background task wrote into it doesn't make it newer."""
    return [entry for entry in turn.entries if not is_of_background(entry)][-1].at


def is_of_background(entry: Entry) -> bool:
    return entry.message.source in BACKGROUND
