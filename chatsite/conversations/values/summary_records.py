"""What the store says of a conversation's running summary: plain values, no rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from chatsite.history import Entry, RunningSummary
from chatsite.views import SummaryView


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryState:
    """The summary that holds for the path, if there is one, and whether it is switched on."""

    on: bool
    summary: RunningSummary | None

    @property
    def view(self) -> SummaryView:
        """For a page; version 0 where there is no summary."""
        found = self.summary
        if found is None:
            return SummaryView(on=self.on)
        return SummaryView(
            on=self.on,
            version=found.version,
            messages=found.messages,
            by=found.by,
            last=found.last,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsummarisedPath:
    """What a fold starts from: the summary that holds, and the path below its coverage.

    `first` is the seq from which the path is remembered: coverage begins there.
    """

    state: SummaryState
    first: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryVersion:
    """One version for a person to read. `made_from` is a version's number, 0 for none.

    `why_not` says why it can't be used any more, "" where it can. `seconds` and `tokens` are what
    making it took, None where nobody measured.
    """

    version: int
    text: str
    first: int
    last: int
    messages: int
    by: str
    made_from: int
    created: str
    why_not: str
    shortened: bool = False
    seconds: float | None = None
    tokens: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryVersions:
    """The newest versions, the newest first; `earlier`: there are more. `current` is the number of
    the one that holds, or 0."""

    on: bool
    current: int
    versions: tuple[SummaryVersion, ...]
    earlier: bool

    def to_dict(self) -> dict[str, Any]:
        listed = [version.to_dict() for version in self.versions]
        return {
            "on": self.on,
            "current": self.current,
            "versions": listed,
            "earlier": self.earlier,
        }
