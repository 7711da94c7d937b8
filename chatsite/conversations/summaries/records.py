"""A conversation's running summary: plain values, no rows."""

from __future__ import annotations

from dataclasses import dataclass

from chatsite.encoding import Record
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
    """The summary that holds, and the path below its coverage, which is summarised next.

    `first` is the seq from which the path is remembered; the coverage begins there.
    """

    state: SummaryState
    first: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryVersion(Record):
    """One version for a person to read. `made_from` is a version's number, 0 for none. `exchanges`
    are those that it covers, 0 where it can't be used any more.

    `why_not` is a sentence why it can't be used any more, or "". `seconds` and `tokens` are the
    cost of making it, None where it wasn't measured.
    """

    version: int
    text: str
    first: int
    last: int
    exchanges: int
    by: str
    made_from: int
    created: str
    why_not: str
    shortened: bool = False
    seconds: float | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryVersions(Record):
    """The newest versions, the newest first; `earlier`: there are older ones. `current` is the
    number of the version that holds, or 0."""

    on: bool
    current: int
    versions: tuple[SummaryVersion, ...]
    earlier: bool
