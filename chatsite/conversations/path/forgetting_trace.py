"""Reads for "Why did it forget?": a message, and the receipts of the questions since."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Left

from chatsite.conversations.database.rows import excerpt
from chatsite.conversations.models import ON_PATH, Conversation, Message, Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import messages_on_path, owned_message
from chatsite.conversations.path.tree import answering_turns
from chatsite.history import BACKGROUND, show_receipt
from chatsite.history.receipts.forgetting import MessageTrail, TrailMessage, was_sent
from chatsite.storage import reading

# Receipts have a few KB each, and the change is mostly near: read few first. More than the last
# size is never read.
CHUNKS = (16, 64, 256)
SHOWN = 60
# The id of the turn, the beginning of the question, and the receipt.
Answered = tuple[uuid.UUID | None, str | None, Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedMessage:
    """The message; how many questions the user asked since, and in all.

    `excluded` is the message whose exclusion leaves it out: itself, or another one of its turn.
    """

    conversation: str
    agent: str
    model: str
    seq: int
    pinned: bool
    excluded: str | None
    since: int
    asked: int


@reading
def trace_message(*, owner: Owner, message: str) -> TracedMessage:
    """Raises NotFound unless it is on the path of a conversation of this owner."""
    found = owned_message(owner, message, on_path=True)
    row = found.conversation
    left_out = found.id if found.excluded else _exclusion_in_turn(row, found)
    return TracedMessage(
        conversation=str(row.id),
        agent=row.agent,
        model=row.model,
        seq=found.seq,
        pinned=found.pinned,
        excluded=str(left_out) if left_out else None,
        since=_questions(row.id).filter(seq__gt=found.seq).count(),
        asked=row.path_users - row.path_background,
    )


def _exclusion_in_turn(row: Conversation, message: Message) -> uuid.UUID | None:
    """The message of the same turn whose exclusion takes the whole turn out."""
    if not (row.marked and message.turn_seq):
        return None
    turn = messages_on_path(row).filter(turn_seq=message.turn_seq, excluded=True)
    whole = [one for one in turn if one.role == "user" or one.calls]
    return whole[0].id if whole else None


def _questions(conversation: uuid.UUID) -> QuerySet[Message]:
    """The user messages of a person on the path, not of background tasks."""
    rows = Message.objects.filter(ON_PATH, conversation=conversation, role="user")
    return rows.exclude(source__in=BACKGROUND)


@reading
def questions_since(*, found: TracedMessage, coming: Mapping[str, Any] | None) -> MessageTrail:
    """The questions from the message on, back to where its verdict differs from the coming one."""
    rows = (
        _questions(uuid.UUID(found.conversation))
        .filter(seq__gte=found.seq)
        .order_by("-seq")
        .values_list("id", "seq", "turn_id", Left("content", 4 * SHOWN), "turn__receipt")
    )
    asked: list[TrailMessage] = []
    now = was_sent(coming, found.seq) if coming else None
    for size in CHUNKS:
        chunk = rows[len(asked) : len(asked) + size]
        more = [
            TrailMessage(
                number=found.asked - number,
                since=found.since - number,
                text=excerpt(text or "", SHOWN),
                turn=str(turn) if receipt else None,
                receipt=show_receipt(receipt) if receipt else None,
            )
            for number, (turn, text, receipt) in enumerate(
                _with_answering_turns(list(chunk)), len(asked)
            )
        ]
        asked += more
        fared = {was_sent(one.receipt, found.seq) for one in more if one.receipt} - {None}
        if len(more) < size:
            return MessageTrail(asked=tuple(reversed(asked)), whole=True)
        now = now if now is not None else next(iter(fared), None)
        if fared - {now}:
            break
    return MessageTrail(asked=tuple(reversed(asked)), whole=False)


def _with_answering_turns(
    rows: Sequence[tuple[uuid.UUID, int, uuid.UUID | None, str, Any]],
) -> Iterator[Answered]:
    """Each question with the turn whose answer is shown, and that turn's receipt."""
    turns = answering_turns((id, seq) for id, seq, *_ in rows)
    receipts = dict(Turn.objects.filter(id__in=turns.values()).values_list("id", "receipt"))
    for id, _, turn, text, receipt in rows:
        tried = turns.get(id)
        yield (tried, text, receipts[tried]) if tried else (turn, text, receipt)
