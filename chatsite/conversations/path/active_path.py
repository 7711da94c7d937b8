"""Changes a conversation's active path, and the totals of its row with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from django.db.models import Count, Max, Q, QuerySet, Sum

from chatsite.conversations.database.columns import in_batches, key, new_row
from chatsite.conversations.database.rows import message_columns
from chatsite.conversations.database.statements import LAST_ON_PATH, MESSAGE_PLACES, TOTALS
from chatsite.conversations.models import MARKED, ON_PATH, Conversation, Message, Turn
from chatsite.history import BACKGROUND, estimate_message
from chatsite.kv_cache.books import LOADED
from chatsite.messages import Message as DomainMessage
from chatsite.messages import TokenCount
from chatsite.views import State

ESTIMATE = "estimate"
OFF_PATH = {"on_path": False, "kv_size": -1, "kv_start_position": -1, "kv_status": LOADED}


def append_to_path(
    row: Conversation, messages: Iterable[DomainMessage], *, now: datetime
) -> list[Message]:
    """Put messages at the end of the path. The caller saves `row`, whose totals change."""
    return Message.objects.bulk_create(place_at_end(row, messages, now=now), batch_size=500)


def place_at_end(
    row: Conversation,
    messages: Iterable[DomainMessage],
    *,
    now: datetime,
    turn: Turn | None = None,
    after: Sequence[Message] = (),
    state: State = "complete",
    begins: bool = False,
) -> list[Message]:
    """New rows at the end of the path, not stored yet; `after` are rows not stored yet above them.
    With `begins` they begin the tree, whatever was deleted there.

    A running answer has its place, but counts in the totals only once it has ended.
    """
    last = after[-1] if after else _last_on_path(row)
    turn_seq = last.turn_seq if last is not None else 0
    if row.hidden and not after and not begins:
        last = _hidden_below(row, last)
    rows = []
    for message in messages:
        seq = row.next_seq
        turn_seq = seq if message.role == "user" else turn_seq
        last = new_row(
            Message,
            conversation_id=row.id,
            parent_id=last.id if last is not None else None,
            turn=turn,
            seq=seq,
            turn_seq=turn_seq,
            state=state,
            created=now,
            **message_columns(message),
        )
        row.next_seq = seq + 1
        if state != "running":
            add_to_totals(row, last)
        rows.append(last)
    return rows


def _last_on_path(row: Conversation) -> Message | None:
    if row.next_seq == 1:
        return None
    return MESSAGE_PLACES.first(LAST_ON_PATH, key(row.id), True)


def _hidden_below(row: Conversation, last: Message | None) -> Message | None:
    """What was deleted at the path's end, if anything: new messages follow it, so that it comes
    back in its place."""
    hidden = Message.objects.filter(conversation=row, deleted__isnull=False, seq__gte=row.cleared)
    hidden = hidden.order_by("-deleted", "seq")
    while (found := hidden.filter(parent=last).first()) is not None:
        last = found
    return last


def add_to_totals(row: Conversation, message: Message) -> None:
    """Add a message to the path's totals."""
    row.path_messages += 1
    row.path_users += message.role == "user"
    if message.source in BACKGROUND:
        row.path_background += message.role == "user"
        row.last_background = message.seq
    row.path_tokens += message.tokens


def subtract_from_totals(row: Conversation, message: Message) -> None:
    """Take a message out of the path's totals, except `marked`."""
    row.path_messages -= 1
    row.path_users -= message.role == "user"
    row.path_background -= message.role == "user" and message.source in BACKGROUND
    row.path_tokens -= message.tokens


def reroute(row: Conversation, *, below: int, through: Sequence[int]) -> None:
    """Replace the path below the message `below` by the messages `through`, or by nothing; all are
    sequence numbers. To take 100,000 messages off it takes 0.5 s.

    The caller saves `row`, whose totals change; a branch that is being put on the path in pieces
    doesn't come any further. A marker "forget what is above" in the replaced part moves to the
    first new message, so that what was forgotten stays forgotten, and its message notes that it was
    there (`return_marker`).
    """
    under = Message.objects.filter(ON_PATH, conversation=row, seq__gt=below)
    before = _totals(under)
    under.update(on_path=False)
    for name, total in before.items():
        if name in TOTALS:
            setattr(row, name, getattr(row, name) - (total or 0))
    if before["background"]:
        above = Message.objects.filter(ON_PATH, conversation=row, source__in=BACKGROUND)
        row.last_background = above.aggregate(newest=Max("seq"))["newest"] or 0
    extend_path(row, through)
    row.leads_to = 0
    if row.forget_above > below:
        Message.objects.filter(conversation=row, seq=row.forget_above).update(forgot_above=True)
        row.forget_above = through[0] if through else row.next_seq


def return_marker(row: Conversation, branch: Sequence[int]) -> None:
    """The marker that left the path with a branch comes back with it, or what was forgotten there
    would be sent again. Call it after `reroute`, with the whole branch, also where that comes in
    pieces: until the marker's message is there, everything is above it. The caller saves `row`."""
    if not branch:
        return
    marked = Message.objects.filter(
        conversation=row, forgot_above=True, deleted__isnull=True, seq__gte=branch[0]
    )
    seqs = set(branch)
    found = [seq for seq in marked.values_list("seq", flat=True) if seq in seqs]
    if found:
        row.forget_above = max(found)
        marked.filter(seq__in=found).update(forgot_above=None)


def extend_path(row: Conversation, through: Sequence[int]) -> None:
    """Put these messages, by their sequence numbers, below the path's end; their parents are above
    them. The caller saves `row`, whose totals change."""
    for some in in_batches(through):
        Message.objects.filter(conversation=row, seq__in=some).update(on_path=True)
    if not through:
        return
    added = _totals(Message.objects.filter(ON_PATH, conversation=row, seq__gte=through[0]))
    for name, total in added.items():
        if name in TOTALS:
            setattr(row, name, getattr(row, name) + (total or 0))
    row.last_background = added["background"] or row.last_background


def end_of(row: Conversation) -> int:
    """The seq of the path's last message, 0 for an empty path."""
    last = _last_on_path(row)
    return last.seq if last is not None else 0


def take_off_path(row: Conversation, seqs: range) -> None:
    """Take the messages in these places off the path, and store its totals. All versions there lose
    their places in the engine's cache and their unloaded status."""
    here = Message.objects.filter(conversation=row, seq__gte=seqs.start, seq__lt=seqs.stop)
    for name, total in _totals(here.filter(ON_PATH)).items():
        if name in TOTALS and name != "marked":
            setattr(row, name, getattr(row, name) - (total or 0))
    here.exclude(**OFF_PATH).update(**OFF_PATH)
    row.save(update_fields=["path_messages", "path_users", "path_background", "path_tokens"])


def _totals(messages: QuerySet[Message]) -> dict[str, int | None]:
    """The totals of a part of the path, and its newest background message."""
    ended = ~Q(state="running")
    return messages.aggregate(
        path_messages=Count("id", filter=ended),
        path_users=Count("id", filter=Q(role="user")),
        path_background=Count("id", filter=Q(role="user", source__in=BACKGROUND)),
        path_tokens=Sum("tokens", filter=ended),
        marked=Count("id", filter=MARKED),
        background=Max("seq", filter=Q(source__in=BACKGROUND)),
    )


def with_token_count(message: DomainMessage) -> DomainMessage:
    """The message with a token count: an estimate where it has none."""
    return message if message.tokens else replace(message, tokens=estimated_tokens(message))


def estimated_tokens(message: DomainMessage) -> TokenCount:
    """An estimate, so that the path's total includes messages that aren't counted yet."""
    return TokenCount(count=estimate_message(message), tokenizer=ESTIMATE, basis="estimated")
