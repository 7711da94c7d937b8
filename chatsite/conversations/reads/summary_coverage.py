"""Which of a conversation's summaries hold for its path.

A summary covers the path from `first_seq`, where the path or what is remembered of it begins, to
the message `last`. It holds while `last` lies on the path, nothing covered was changed, and what
is remembered still begins there.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet, Subquery

from chatsite.conversations.models import ON_PATH, Conversation, Message, Summary
from chatsite.conversations.values.summary_records import SummaryState, UnsummarisedPath
from chatsite.history import Entry, RunningSummary
from chatsite.messages import TokenCount

NOT_ON_PATH = "It belongs to another version of this conversation."
CHANGED = "A message it covers was changed, left out or deleted since."
REMEMBERS_ELSE = "What is remembered of this conversation now begins elsewhere."
TEXT_DELETED = "A message it covers was deleted, and its text with it."


def summary_state_of(row: Conversation) -> SummaryState:
    found = holding(row).first()
    return SummaryState(on=row.summary_on, summary=summary_of(found) if found else None)


def holding(row: Conversation) -> QuerySet[Summary]:
    """The versions that hold for the path, the newest first."""
    valid = Summary.objects.filter(conversation=row, stale=False, last__on_path=True)
    return valid.filter(first_seq=Subquery(start_of(row)[:1])).order_by("-version")


def start_of(row: Conversation) -> QuerySet[Message, int]:
    """Where what is remembered of the path begins."""
    remembered = _path(row).filter(seq__gte=row.forget_above)
    return remembered.order_by("seq").values_list("seq", flat=True)


def _path(row: Conversation) -> QuerySet[Message]:
    return Message.objects.filter(ON_PATH, conversation=row)


def written(row: Conversation) -> QuerySet[Message]:
    """The path without an answer that is still being written, in order."""
    return _path(row).exclude(state="running").order_by("seq")


def unchanged(row: Conversation, start: UnsummarisedPath, entries: Sequence[Entry]) -> bool:
    """Whether a summary may be made of `start` and the entries that followed it, the oldest first:
    it is switched on, and nothing there was cleared, left out, forgotten or said otherwise since.
    """
    base, standing = start.state.summary, holding(row).first()
    if not row.summary_on or start_of(row).first() != start.first:
        return False
    if (str(standing.id) if standing else None) != (base.id if base else None):
        return False
    above = base.last if base else start.first - 1
    stored = written(row).filter(seq__gt=above, seq__lte=entries[-1].seq)
    found = [(str(id), *more) for id, *more in stored.values_list("id", "content", "excluded")]
    return found == [(e.message.id, e.message.content, e.excluded) for e in entries]


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
    )


def why_not(row: Summary, start: int | None) -> str:
    """Why a version can't be used, in a sentence; "" where it holds. Fetch `last` with it."""
    if not row.text:
        return TEXT_DELETED
    if row.stale:
        return CHANGED
    if not row.last.on_path:
        return NOT_ON_PATH
    return "" if row.first_seq == start else REMEMBERS_ELSE
