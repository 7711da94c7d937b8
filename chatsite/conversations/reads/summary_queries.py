"""Reading the running summaries of conversations."""

from __future__ import annotations

from collections.abc import Sequence

from chatsite.conversations.database.rows import entry_of
from chatsite.conversations.database.statements import ENTRY_FIELDS
from chatsite.conversations.models import Summary
from chatsite.conversations.reads.queries import free_or_owned, owned
from chatsite.conversations.reads.summary_coverage import (
    holding,
    start_of,
    summary_state_of,
    unchanged,
    why_not,
    written,
)
from chatsite.conversations.values.owners import Owner
from chatsite.conversations.values.summary_records import (
    SummaryState,
    SummaryVersion,
    SummaryVersions,
    UnsummarisedPath,
)
from chatsite.errors import NotFound
from chatsite.history import Entry

LISTED = 50


def summary_state(*, owner: Owner, conversation: str) -> SummaryState:
    """What holds for the path now; a chat not yet begun has no summary."""
    row = free_or_owned(owner, conversation)
    return SummaryState(on=True, summary=None) if row is None else summary_state_of(row)


def unsummarised_path(*, owner: Owner, conversation: str) -> UnsummarisedPath:
    """What a fold starts from. Raises NotFound for a conversation that is gone."""
    row = owned(owner, conversation)
    state = summary_state_of(row)
    first = start_of(row).first() or 0
    above = state.summary.last if state.summary else first - 1
    rows = written(row).filter(seq__gt=above).only(*ENTRY_FIELDS)
    return UnsummarisedPath(
        state=state,
        first=first,
        entries=tuple(entry_of(message, forget_above=row.forget_above) for message in rows),
    )


def still_holds(
    *, owner: Owner, conversation: str, start: UnsummarisedPath, entries: Sequence[Entry]
) -> bool:
    """Whether the entries that followed `start` may still be put into a summary."""
    try:
        row = owned(owner, conversation)
    except NotFound:
        return False
    return unchanged(row, start, entries)


def summary_versions(*, owner: Owner, conversation: str) -> SummaryVersions:
    row = owned(owner, conversation)
    current = holding(row).first()
    start = start_of(row).first()
    stored = Summary.objects.filter(conversation=row).select_related("last", "made_from")
    rows = list(stored.order_by("-version")[: LISTED + 1])
    return SummaryVersions(
        on=row.summary_on,
        current=current.version if current else 0,
        versions=tuple(_version_of(one, start) for one in rows[:LISTED]),
        earlier=len(rows) > LISTED,
    )


def summary_text(*, owner: Owner, conversation: str, version: int) -> str:
    """Raises NotFound where there is no such version."""
    found = Summary.objects.filter(conversation=owned(owner, conversation), version=version)
    text = found.values_list("text", flat=True).first()
    if text is None:
        raise NotFound("There is no such summary.")
    return text


def _version_of(row: Summary, start: int | None) -> SummaryVersion:
    return SummaryVersion(
        version=row.version,
        text=row.text,
        first=row.first_seq,
        last=row.last_seq,
        messages=row.messages,
        by=row.by,
        made_from=row.made_from.version if row.made_from else 0,
        created=row.created.isoformat(),
        why_not=why_not(row, start),
        shortened=bool(row.report.get("shortened")),
        seconds=row.report.get("seconds"),
        tokens=row.report.get("tokens"),
    )
