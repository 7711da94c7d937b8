"""The end of a conversation's active path: messages take their places, and the totals grow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.rows import columns_of
from chatsite.events import State
from chatsite.history import BACKGROUND, estimate_message
from chatsite.messages import Message as Said
from chatsite.messages import TokenCount

ESTIMATE = "estimate"


def append(row: Conversation, messages: Iterable[Said], *, now: datetime) -> list[Message]:
    """Put messages at the end of the path. The caller saves `row`, whose totals change."""
    return Message.objects.bulk_create(placed(row, messages, now=now), batch_size=500)


def placed(
    row: Conversation,
    messages: Iterable[Said],
    *,
    now: datetime,
    turn: Turn | None = None,
    after: Sequence[Message] = (),
    state: State = "complete",
) -> list[Message]:
    """Rows for the end of the path, not stored yet; `after` are those placed just before.

    A running answer takes its place but counts only once it has ended.
    """
    last = after[-1] if after else _last_on_path(row)
    turn_seq = last.turn_seq if last is not None else 0
    rows = []
    for message in messages:
        seq = row.next_seq
        turn_seq = seq if message.role == "user" else turn_seq
        last = Message(
            conversation=row,
            parent=last,
            turn=turn,
            seq=seq,
            turn_seq=turn_seq,
            state=state,
            created=now,
            **columns_of(message),
        )
        row.next_seq = seq + 1
        if state != "running":
            count(row, last)
        rows.append(last)
    return rows


def _last_on_path(row: Conversation) -> Message | None:
    if row.next_seq == 1:
        return None
    return Message.objects.filter(conversation=row, on_path=True).order_by("-seq").first()


def count(row: Conversation, message: Message) -> None:
    """Add a message to the path's totals."""
    row.path_messages += 1
    row.path_users += message.role == "user"
    if message.source in BACKGROUND:
        row.path_background += message.role == "user"
        row.last_background = message.seq
    row.path_tokens += message.tokens


def estimated(message: Said) -> TokenCount:
    """For what nobody could count yet: the path's total must not leave it out."""
    return TokenCount(count=estimate_message(message), tokenizer=ESTIMATE, basis="estimated")
