"""Writes the running summaries of conversations: folding, editing, and marking as stale."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Max
from django.utils import timezone

from chatsite.conversations.database.locks import hold
from chatsite.conversations.models import Conversation, Message, Summary
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import owned_conversation
from chatsite.conversations.summaries.queries import (
    SummaryState,
    UnsummarisedPath,
    holding_summaries,
    invalid_reason,
    is_unchanged,
    lost_in,
    remembered_from,
    summary_state_of,
)
from chatsite.errors import NotFound, Refused
from chatsite.history import Entry
from chatsite.history.compaction import MOST_LOST, still_lost
from chatsite.messages import TokenCount
from chatsite.storage import writing
from chatsite.wording import later, say

YOU = "you"
CHANGED_SINCE = later(
    "The summary of this conversation, or a message that it stands for, was changed since. Nothing "
    "was changed now."
)


@writing
def fold_summary(
    *,
    owner: Owner,
    conversation: str,
    start: UnsummarisedPath,
    folded: Sequence[Entry],
    messages: int,
    text: str,
    by: str,
    tokens: TokenCount,
    report: Mapping[str, Any],
    kept: Sequence[int] | None = None,
) -> SummaryState | None:
    """Store a new version, which covers `start` and the entries `folded` that followed it.

    `messages` of the entries are in its text. With `kept` a person compacts: the turns that begin
    with these messages stay in their places. None, and nothing is stored, where the conversation
    was cleared or deleted, the summary switched off, or a covered message changed meanwhile.
    """
    hold(conversation=conversation)
    rows = Conversation.objects.filter(owner.filter(), id=uuid.UUID(conversation), deleted=None)
    row = rows.first()
    if row is None or not is_unchanged(row, start, folded):
        return None
    base = holding_summaries(row).first()
    lost = [*still_lost(lost_in(base.report) if base else (), text), *lost_in(report)]
    made = Summary(
        first_seq=start.first,
        last_id=uuid.UUID(folded[-1].message.id),
        last_seq=folded[-1].seq,
        messages=(base.messages if base else 0) + messages,
        text=text,
        by=by or YOU,
        made_from=base,
        report={**report, "lost": lost[-MOST_LOST:]},
        compaction=base.compaction if base else None,
        kept=base.kept if base else None,
    )
    if kept is not None:
        made.compaction, made.kept = _next_version(row), [*(made.kept or ()), *kept]
        row.compacted = True
        row.save(update_fields=["compacted"])
    _append(row, made, tokens)
    return summary_state_of(row)


@writing
def undo_compaction(
    *, owner: Owner, conversation: str, version: int, again: bool = False
) -> SummaryState:
    """Let what held before the compaction `version` hold again; with `again` apply it anew.

    Raises Refused where another summary holds, or the compaction can't be used any more.
    """
    hold(conversation=conversation)
    row = owned_conversation(owner, conversation)
    state = summary_state_of(row)
    held = state.undone if again else state.summary.compaction if state.summary else 0
    if version != held:
        raise Refused(say(CHANGED_SINCE), code="changed")
    made = Summary.objects.filter(conversation=row, compaction=version)
    made.update(undone=None if again else True)
    return summary_state_of(row)


@writing
def rewrite_summary(
    *, owner: Owner, conversation: str, version: int, text: str | None, tokens: TokenCount
) -> SummaryState:
    """Store a new version with the coverage of `version` and a person's text; None keeps its own.

    Raises NotFound for an unknown version, Refused for one that doesn't hold any more.
    """
    hold(conversation=conversation)
    row = owned_conversation(owner, conversation)
    versions = Summary.objects.filter(conversation=row).select_related("last", "made_from")
    old = versions.filter(version=version).first()
    if old is None:
        raise NotFound(say("There is no such summary."))
    if reason := invalid_reason(old, remembered_from(row).first()):
        raise Refused(
            say(
                "This version can't be used any more. {reason} Nothing was changed.",
                reason=say(reason),
            )
        )
    _append(
        row,
        Summary(
            first_seq=old.first_seq,
            last_id=old.last_id,
            last_seq=old.last_seq,
            messages=old.messages,
            text=old.text if text is None else text,
            by=old.by if text is None else YOU,
            made_from=old,
            compaction=old.compaction,
            kept=old.kept,
            report={"lost": still_lost(lost_in(old.report), old.text if text is None else text)},
        ),
        tokens,
    )
    return summary_state_of(row)


@writing
def switch_summary(*, owner: Owner, conversation: str, on: bool) -> SummaryState:
    """Set whether the summary is made and sent in this conversation."""
    hold(conversation=conversation)
    row = owned_conversation(owner, conversation)
    row.summary_on = on
    row.save(update_fields=["summary_on"])
    return summary_state_of(row)


def _append(row: Conversation, summary: Summary, tokens: TokenCount) -> None:
    """Store the next version; the caller holds the conversation."""
    summary.conversation = row
    summary.version = _next_version(row)
    summary.tokens, summary.tokenizer, summary.basis = tokens.count, tokens.tokenizer, tokens.basis
    summary.created = timezone.now()
    summary.save(force_insert=True)


def _next_version(row: Conversation) -> int:
    newest = Summary.objects.filter(conversation=row).aggregate(newest=Max("version"))["newest"]
    return (newest or 0) + 1


# ---- when covered messages change ------------------------------------------------------------
def mark_stale(row: Conversation, seq: int) -> int:
    """Mark every version that covers the message `seq` as stale, and return how many there were.

    Call this in the transaction that edits a message, excludes or includes it, or moves the marker
    "forget what is above".
    """
    return Summary.objects.filter(id__in=_covering(row, seq), stale=False).update(stale=True)


def erase_texts(row: Conversation, seq: int, *, before: datetime) -> int:
    """Mark as stale, and empty, every text made from the message `seq`, hidden at `before`, and
    what it lost of the messages. Returns how many there were.

    Call this before the message's row is deleted.
    """
    made = Summary.objects.filter(id__in=_covering(row, seq), created__lt=before)
    for summary in made.only("report"):
        if summary.report.pop("lost", None):
            summary.save(update_fields=["report"])
    return made.update(stale=True, text="")


def _covering(row: Conversation, seq: int) -> list[uuid.UUID]:
    """Return the versions that cover the message: it is in the tree between their first and last
    one."""
    near = Summary.objects.filter(conversation=row, first_seq__lte=seq, last_seq__gte=seq)
    versions = list(near.values_list("id", "last_seq"))
    if not versions:
        return []
    newest = max(last for _, last in versions)
    below = Message.objects.filter(conversation=row, seq__gt=seq, seq__lte=newest)
    # A message's seq is larger than that of the message above it.
    seq_above = dict(below.values_list("seq", "parent__seq"))

    def lies_above(last: int) -> bool:
        while last > seq:
            last = seq_above.get(last) or 0
        return last == seq

    return [id for id, last in versions if lies_above(last)]
