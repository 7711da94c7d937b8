"""Builds older turns for the tests of triage."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from chatsite.history.path.transcript import Entry, PathTurn
from chatsite.history.policies.base import TriageTerms
from chatsite.history.settings.resolve import resolve
from chatsite.messages import Message, Source

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def triage_terms(**values: object) -> TriageTerms:
    """The terms that result from these values in a template."""
    return resolve(environment={}, url={}, template={"conversation": values}).terms


def turn(
    first: int,
    *,
    question: str = "",
    reply: str = "",
    hours: float | None = 0.0,
    source: Source = "web",
    **marks: Any,
) -> PathTurn:
    """A question and its answer, at `first` and the next number, `hours` before noon."""
    at = None if hours is None else NOON - timedelta(hours=hours)
    user = Message.user(question or f"question {first}", id=f"u{first}", source=source)
    answer = Message.assistant(reply or f"answer {first}", id=f"a{first}")
    return PathTurn(
        (
            Entry(message=user, seq=first, at=at, **marks),
            Entry(message=answer, seq=first + 1, at=at),
        )
    )


def turns_of(count: int, **options: Any) -> list[PathTurn]:
    """Turns 1, 3, 5 and so on, oldest first."""
    return [turn(1 + 2 * number, **options) for number in range(count)]


def firsts(turns: tuple[PathTurn, ...] | list[PathTurn]) -> list[int]:
    return [turn.entries[0].seq for turn in turns]
