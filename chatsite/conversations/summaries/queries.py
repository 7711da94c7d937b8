"""Reads the running summaries of conversations, and tells which of them hold.

A summary covers the path from `first_seq`, where the path or the remembered part of it begins, to
the message `last`. It holds while `last` is on the path, no covered message was changed, and the
remembered part still begins there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery

from chatsite.conversations.database.rows import entry_of
from chatsite.conversations.database.statements import ENTRY_FIELDS
from chatsite.conversations.models import Conversation, Message, Summary
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import free_or_owned, messages_on_path, owned_conversation
from chatsite.encoding import Record
from chatsite.errors import NotFound
from chatsite.history import Entry, RunningSummary
from chatsite.history.anchors import lost_line
from chatsite.history.path.transcript import BACKGROUND
from chatsite.messages import TokenCount
from chatsite.storage import reading
from chatsite.views import SummaryView
from chatsite.wording import later, say


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryState:
    """Holds the summary that holds for the path, if there is one, and whether it is switched on.
    `undone` is the newest compaction that can be applied again, 0 for none."""

    on: bool
    summary: RunningSummary | None
    undone: int = 0

    @property
    def view(self) -> SummaryView:
        """Show the state on a page; version 0 where there is no summary."""
        if (summary := self.summary) is None:
            return SummaryView(on=self.on, undone=self.undone)
        return SummaryView(
            on=self.on,
            version=summary.version,
            messages=summary.messages,
            by=summary.by,
            last=summary.last,
            compaction=summary.compaction if self.on else 0,
            undone=self.undone,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsummarisedPath:
    """Holds the valid summary, and the path below its coverage, which is summarised next.

    `first` is the seq from which the path is remembered; the coverage begins there.
    """

    state: SummaryState
    first: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LostValue(Record):
    """An exact value of the message `seq` that a summary of it lacks."""

    text: str
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryVersion(Record):
    """Shows one version to a person. `made_from` is a version's number, 0 for none. `exchanges`
    are those that it covers, 0 where it can't be used any more.

    `why_not` is a sentence why it can't be used any more, or "". `seconds` and `tokens` are the
    cost of making it, None where it wasn't measured. `compaction` is the version that a person
    applied, which this one is or was made from, 0 for none; `undone` until it is applied again.
    `kept` are the turns that it doesn't stand for; `lost` are exact values that its text lacks.
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
    compaction: int = 0
    undone: bool = False
    kept: tuple[int, ...] = ()
    lost: tuple[LostValue, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryVersions(Record):
    """Lists the newest versions, the newest first; `earlier`: there are older ones. `current` is
    the number of the version that holds, or 0."""

    on: bool
    current: int
    versions: tuple[SummaryVersion, ...]
    earlier: bool


LISTED = 50
# These reasons are compared, and translated where they are shown.
NOT_ON_PATH = later("It belongs to another version of this conversation.")
CHANGED = later("A message it covers was changed, left out or deleted since.")
REMEMBERS_ELSE = later("What is remembered of this conversation now begins elsewhere.")
TEXT_DELETED = later("A message it covers was deleted, and its text with it.")


@reading
def summary_state(*, owner: Owner, conversation: str) -> SummaryState:
    """Return the summary that holds now; a new chat has none."""
    row = free_or_owned(owner, conversation)
    return SummaryState(on=True, summary=None) if row is None else summary_state_of(row)


@reading
def unsummarised_path(*, owner: Owner, conversation: str) -> UnsummarisedPath:
    """Return the messages to summarise next, and the summary so far. Raises NotFound."""
    row = owned_conversation(owner, conversation)
    state = summary_state_of(row)
    first = remembered_from(row).first() or 0
    above = state.summary.last if state.summary else first - 1
    rows = finished_messages(row).filter(seq__gt=above).only(*ENTRY_FIELDS)
    return UnsummarisedPath(
        state=state,
        first=first,
        entries=tuple(entry_of(message, forget_above=row.forget_above) for message in rows),
    )


@reading
def still_holds(
    *, owner: Owner, conversation: str, start: UnsummarisedPath, entries: Sequence[Entry]
) -> bool:
    """Return whether the entries that followed `start` may still be summarised."""
    try:
        row = owned_conversation(owner, conversation)
    except NotFound:
        return False
    return is_unchanged(row, start, entries)


@reading
def summary_versions(*, owner: Owner, conversation: str) -> SummaryVersions:
    """List the newest `LISTED` versions. Raises NotFound."""
    row = owned_conversation(owner, conversation)
    current = holding_summaries(row).first()
    start = remembered_from(row).first()
    stored = Summary.objects.filter(conversation=row).select_related("last", "made_from")
    rows = list(stored.order_by("-version")[: LISTED + 1])
    asked = messages_on_path(row).filter(role="user", excluded=False)
    asked = asked.exclude(source__in=BACKGROUND).order_by("seq")
    users = list(asked.values_list("seq", flat=True))
    return SummaryVersions(
        on=row.summary_on,
        current=current.version if current else 0,
        versions=tuple(_version_of(one, start, users) for one in rows[:LISTED]),
        earlier=len(rows) > LISTED,
    )


@reading
def summary_text(*, owner: Owner, conversation: str, version: int) -> str:
    """Return the text of a version. Raises NotFound where there is none."""
    row = owned_conversation(owner, conversation)
    texts = Summary.objects.filter(conversation=row, version=version).values_list("text", flat=True)
    text = texts.first()
    if text is None:
        raise NotFound(say("There is no such summary."))
    return text


def _version_of(row: Summary, start: int | None, users: Sequence[int]) -> SummaryVersion:
    why_not = invalid_reason(row, start)
    kept = row.kept or ()
    covered = users[bisect_left(users, row.first_seq) : bisect_right(users, row.last_seq)]
    lost = [] if why_not == TEXT_DELETED else lost_in(row.report)
    return SummaryVersion(
        version=row.version,
        text="" if why_not == TEXT_DELETED else row.text,
        first=row.first_seq,
        last=row.last_seq,
        exchanges=0 if why_not else len(set(covered) - set(kept)),
        by=row.by,
        made_from=row.made_from.version if row.made_from else 0,
        created=row.created.isoformat(),
        why_not=say(why_not) if why_not else "",
        shortened=bool(row.report.get("shortened")),
        seconds=row.report.get("seconds"),
        tokens=row.report.get("tokens"),
        compaction=row.compaction or 0,
        undone=bool(row.undone),
        kept=tuple(kept),
        lost=tuple(LostValue(text=text, seq=seq) for text, seq in lost),
    )


# ---- which summaries hold ---------------------------------------------------------------------
def summary_state_of(row: Conversation) -> SummaryState:
    holding = holding_summaries(row).first()
    return SummaryState(
        on=row.summary_on,
        summary=summary_of(holding) if holding else None,
        undone=_undone(row, holding) if row.compacted else 0,
    )


def compaction_of(row: Conversation) -> RunningSummary | None:
    """Return the compaction that is sent in the place of older turns; ask only where the row says
    that there ever was one."""
    holding = holding_summaries(row).first() if row.summary_on else None
    return summary_of(holding) if holding and holding.compaction else None


def holding_summaries(row: Conversation) -> QuerySet[Summary]:
    """Select the versions that hold for the path, the newest first."""
    return valid_summaries(row).filter(Q(undone=None) | Q(undone=False))


def valid_summaries(row: Conversation) -> QuerySet[Summary]:
    """Select the same with those that were undone."""
    valid = Summary.objects.filter(conversation=row, stale=False, last__on_path=True)
    if row.hidden:
        valid = valid.exclude(Exists(_hidden_since(OuterRef)))
    return valid.filter(first_seq=Subquery(remembered_from(row)[:1])).order_by("-version")


def _undone(row: Conversation, holding: Summary | None) -> int:
    """Return the newest compaction that would hold if it were applied again, 0 for none: what held
    before it holds again."""
    undone = valid_summaries(row).filter(undone=True, compaction=F("version"))
    newest = undone.filter(made_from=holding, version__gt=holding.version if holding else 0).first()
    return newest.version if newest else 0


def _hidden_since(field: Callable[[str], Any]) -> QuerySet[Message]:
    """Select messages that a summary covers and that were deleted since; they can still be
    restored. `field` gives a field of the summary."""
    return Message.objects.filter(
        conversation=field("conversation"),
        deleted__gt=field("created"),
        seq__gte=field("first_seq"),
        seq__lte=field("last_seq"),
    )


def remembered_from(row: Conversation) -> QuerySet[Message, int]:
    """Select the seq from which the path is remembered: the marker, or the first message."""
    remembered = messages_on_path(row).filter(seq__gte=row.forget_above)
    return remembered.order_by("seq").values_list("seq", flat=True)


def finished_messages(row: Conversation) -> QuerySet[Message]:
    """Select the path without running messages, in order."""
    return messages_on_path(row).exclude(state="running").order_by("seq")


def is_unchanged(row: Conversation, start: UnsummarisedPath, entries: Sequence[Entry]) -> bool:
    """Return whether a summary of `start` and the entries that followed it (oldest first) is
    allowed: it is switched on, and none of them was edited, excluded, deleted or forgotten
    since."""
    base, standing = start.state.summary, holding_summaries(row).first()
    if not row.summary_on or remembered_from(row).first() != start.first:
        return False
    if (str(standing.id) if standing else None) != (base.id if base else None):
        return False
    above = base.last if base else start.first - 1
    stored = finished_messages(row).filter(seq__gt=above, seq__lte=entries[-1].seq)
    now = [(str(id), *more) for id, *more in stored.values_list("id", "content", "excluded")]
    return now == [(e.message.id, e.message.content, e.excluded) for e in entries]


def summary_of(row: Summary) -> RunningSummary:
    return RunningSummary(
        id=str(row.id),
        version=row.version,
        text=row.text,
        first=row.first_seq,
        last=row.last_seq,
        messages=row.messages,
        by=row.by,
        tokens=TokenCount(count=row.tokens, tokenizer=row.tokenizer, basis=row.basis),  # type: ignore[arg-type]
        values=lost_line(row.report.get("lost")),
        compaction=row.compaction or 0,
        kept=tuple(row.kept or ()),
    )


def lost_in(report: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the exact values that a version's text lacks, with the seqs of their messages."""
    return [(text, seq) for text, seq in report.get("lost", ())]


def invalid_reason(row: Summary, start: int | None) -> str:
    """Return a sentence why a version can't be used, "" where it holds. Fetch `last` with the
    row."""
    if not row.text or _hidden_since(partial(getattr, row)).exists():
        return TEXT_DELETED
    if row.stale:
        return CHANGED
    if not row.last.on_path:
        return NOT_ON_PATH
    return "" if row.first_seq == start else REMEMBERS_ELSE
