"""Deletes single messages: hidden at once, restored on demand, removed for good an hour later.

A deleted message is off the path and keeps its place in the tree, so that restoring it gives back
exactly what was there. Until it is removed, its words stay in what was made from it: in receipts,
where they say why it was sent, and in summaries, which aren't used meanwhile.

After each of the three, the caller must call `Recaller.forget` and the engine's `Cache.drop`: an
index in memory and a slot follow the path as it was.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils import timezone

from chatsite.conversations.database.columns import in_batches
from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.rows import message_of
from chatsite.conversations.files.uploads import characters_of
from chatsite.conversations.models import Conversation, Message, Summary, Turn, Upload
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import messages_on_path, owned_conversation, owned_message
from chatsite.conversations.path import loading
from chatsite.conversations.path.active_path import (
    add_to_totals,
    reroute,
    subtract_from_totals,
)
from chatsite.conversations.path.queries import path_views
from chatsite.conversations.path.tree import below, branch_below, stand_ins
from chatsite.conversations.summaries import versions as summaries
from chatsite.conversations.titles import path_title
from chatsite.conversations.versions.edits import (
    CHUNK,
    TextChange,
    changeable,
    drop_quotes,
    forget_path,
)
from chatsite.conversations.versions.versions import newest_answered, put_on_path, require_idle
from chatsite.errors import NotFound, Refused
from chatsite.events import MessagesChanged
from chatsite.history import BACKGROUND
from chatsite.history.lexical.sharing import NEAR, SHARES
from chatsite.storage import Pieces, in_pieces, writing
from chatsite.wording import later, say

# The page offers to restore it for some seconds, but a person may read that late.
DELETED_AFTER = timedelta(hours=1)
GONE = later("This message can't be restored any more.")
WORDS_DELETED = later(
    "it matters for this message; the words that show it were deleted with a message"
)


# ---- deleting --------------------------------------------------------------------------------
@writing
def delete_message(*, owner: Owner, message: str) -> TextChange:
    """Hide one message of the path; `restore_message` undoes this until it is removed.

    An answer goes with its tool calls and their results. The answers to a deleted user message stay
    and join the turn before. Where the path then ends above another version, that one is shown.
    Summaries that cover the message aren't used, and a title that was its beginning changes. Raises
    NotFound unless it is on the path of a conversation of this owner, Refused for a call's result
    alone, TurnRunning while an answer is written.
    """
    hold(message=message)
    row, chosen = changeable(owner, message)
    if not chosen.on_path:
        raise NotFound(say("There is no such message."))
    if chosen.role == "tool":
        raise Refused(say("A call's result goes with the message that called. Delete that one."))
    deleted, title = _whole(row, chosen), path_title(row)
    first = deleted[0]
    for one in deleted:
        subtract_from_totals(row, one)
        row.marked -= one.is_marked
    hidden = Message.objects.filter(id__in=[one.id for one in deleted])
    hidden.update(on_path=False, deleted=timezone.now())
    row.hidden += len(deleted)
    above = _shown_above(row, first)
    if first.role == "user":
        _join_turn_above(row, first, above)
    if row.forget_above == first.seq:
        hidden.filter(id=first.id).update(forgot_above=True)
        row.forget_above = _next_turn(row, first)
    below_seq = _show_another(row, above)
    if row.title == title:
        row.title = path_title(row)
    forget_path(row)
    row.last_turn = None
    row.save()
    changed = MessagesChanged(
        messages=path_views(_next(row, deleted[-1])) if below_seq is None else (),
        gone=tuple(str(one.id) for one in deleted),
        forget_above=row.forget_above,
    )
    return TextChange(conversation=str(row.id), changed=changed, below=below_seq)


def _whole(row: Conversation, chosen: Message) -> list[Message]:
    """Return the message; of an answer with tool calls all that a page shows as one."""
    if chosen.role != "assistant":
        return [chosen]
    turn = list(messages_on_path(row).filter(turn_seq=chosen.turn_seq).order_by("seq"))
    start = end = next(place for place, one in enumerate(turn) if one.id == chosen.id)
    while start and _leads_on(turn[start - 1]):
        start -= 1
    while end + 1 < len(turn) and _leads_on(turn[end]) and turn[end + 1].source not in BACKGROUND:
        end += 1
    return turn[start : end + 1]


def _leads_on(message: Message) -> bool:
    """Return whether what follows belongs to the same answer."""
    return message.role == "tool" or bool(message.calls)


def _shown_above(row: Conversation, message: Message) -> Message | None:
    """Return the nearest message above that isn't deleted."""
    above = message.parent_id
    if above is None:
        return None
    above = stand_ins(row.id).get(above, above)
    return Message.objects.filter(id=str(above)).first() if above else None


def _join_turn_above(row: Conversation, first: Message, above: Message | None) -> None:
    """Give what answered the user message `first` to the turn before."""
    answers = Message.objects.filter(conversation=row, turn_seq=first.seq).exclude(id=first.id)
    answers.update(turn_seq=above.turn_seq if above else 0)
    if above is not None:  # the turn that they end with includes these answers now
        Summary.objects.filter(conversation=row, last=above, stale=False).update(stale=True)


def _next(row: Conversation, message: Message) -> QuerySet[Message]:
    """Select the next message of the path."""
    after = messages_on_path(row).filter(seq__gt=message.seq).order_by("seq")
    return after.select_related("turn")[:1]


def _next_turn(row: Conversation, message: Message) -> int:
    """Return the seq of the next user message of the path, or of the next one to come."""
    after = messages_on_path(row).filter(seq__gt=message.seq, role="user").order_by("seq")
    return after.values_list("seq", flat=True).first() or row.next_seq


def _show_another(row: Conversation, above: Message | None) -> int | None:
    """Show the newest version where the path ends at `above` now and other versions are below it.
    Returns the seq below which the path changed."""
    seq = above.seq if above else 0
    if messages_on_path(row).filter(seq__gt=seq).exists():
        return None
    others = below(row, above.id if above else None)
    if not others:
        return None
    reroute(row, below=seq, through=branch_below(row, others[-1]))
    return seq


# ---- restoring -------------------------------------------------------------------------------
@writing
def restore_message(*, owner: Owner, message: str) -> TextChange:
    """Give back a deleted message, and show it: where the path goes another way since, it leads
    through the message again. Raises NotFound where it isn't there any more, or was cleared away
    since, TurnRunning while an answer is written."""
    hold(message=message)
    hidden = owned_message(owner, message, gone=GONE, deleted__isnull=False)
    row = owned_conversation(owner, str(hidden.conversation_id))
    # What was deleted together has the same time.
    deleted_together = Message.objects.filter(conversation=row, deleted=hidden.deleted)
    back = list(deleted_together.select_related("turn").order_by("seq"))
    if back[0].seq < row.cleared:
        raise NotFound(say(GONE))
    require_idle(row)
    first, title = back[0], path_title(row)
    marker = first.forgot_above and row.forget_above == _next_turn(row, first)
    returned = Message.objects.filter(id__in=[one.id for one in back])
    returned.update(deleted=None, forgot_above=None)
    row.hidden -= len(back)
    # What was summarised meanwhile lacks it.
    made = Summary.objects.filter(conversation=row, created__gte=hidden.deleted)
    made.filter(first_seq__lte=back[-1].seq, last_seq__gte=first.seq).update(stale=True)
    if first.role == "user":
        _take_turn_back(first)
    above = _shown_above(row, first)
    below_seq = None
    if _leads_through(row, above, back[-1]):
        returned.update(on_path=True)
        for one in back:
            add_to_totals(row, one)
            row.marked += one.is_marked
    else:
        below_seq = put_on_path(row, first)
    if marker:
        row.forget_above = first.seq
    if row.title == title:
        row.title = path_title(row)
    forget_path(row)
    row.last_turn_id = newest_answered(row)
    row.save()
    changed = MessagesChanged(
        messages=path_views(
            [*returned.select_related("turn").order_by("seq"), *_next(row, back[-1])]
        ),
        gone=(),
        forget_above=row.forget_above,
    )
    return TextChange(conversation=str(row.id), changed=changed, below=below_seq)


def _take_turn_back(first: Message) -> None:
    """Give what answers the user message `first`, in all versions, to its turn again."""
    places = [first.id]
    while places:
        below = Message.objects.filter(parent__in=places).values_list("id", "role", "deleted")
        rows = list(below)
        answers = [id for id, role, _ in rows if role != "user"]
        Message.objects.filter(id__in=answers).update(turn_seq=first.seq)
        places = [id for id, role, deleted in rows if role != "user" or deleted is not None]


def _leads_through(row: Conversation, above: Message | None, last: Message) -> bool:
    """Return whether the path, as it is, goes on below the message `last`, which came back, or ends
    above it."""
    if above is not None and not above.on_path:
        return False
    after = messages_on_path(row).filter(seq__gt=above.seq if above else 0).order_by("seq")
    place = after.values_list("parent_id", flat=True).first()
    if place is None:
        return not after.exists()
    hidden = Message.objects.filter(conversation=row, deleted__isnull=False)
    parents = dict(hidden.values_list("id", "parent_id"))
    while place != last.id and place in parents:
        place = parents[place]
    return place == last.id


# ---- removing for good -----------------------------------------------------------------------
@in_pieces
def purge_messages(*, now: datetime | None = None) -> Pieces[int]:
    """Remove what was deleted long enough ago, one message a piece, and return how many."""
    before = (now or timezone.now()) - DELETED_AFTER
    waiting = Message.objects.filter(deleted__isnull=False, deleted__lt=before)
    ids = list(waiting.order_by("-seq").values_list("id", flat=True))
    yield
    for id in ids:
        hold(message=id)
        message = waiting.select_related("conversation", "parent", "turn").filter(id=id).first()
        if message is not None:  # it may have been restored meanwhile
            _remove(message.conversation, message)
        yield
    return len(ids)


def _remove(row: Conversation, message: Message) -> None:
    """Remove a message with everything that was made from its text. What is below it is below the
    one above it."""
    assert message.deleted is not None
    summaries.erase_texts(row, message.seq, before=message.deleted)
    _unquote(row, message)
    drop_quotes(row, message)
    Message.objects.filter(parent=message).update(parent=message.parent)
    # The receipts of its retries stay, as that of its own turn does.
    Turn.objects.filter(asked=message).update(asked=None)
    _remove_files(row, message)
    row.hidden -= 1
    row.characters = max(row.characters - characters_of(message_of(message)), 0)
    row.save(update_fields=["hidden", "characters"])
    message.delete()
    transaction.on_commit(partial(loading.forget_entries, row.id))


def _remove_files(row: Conversation, message: Message) -> None:
    """Remove its files, but for those that another message has, too: a version keeps them."""
    files = {item["id"] for item in message.attachments}
    if not files:
        return
    others = Message.objects.filter(conversation=row).exclude(attachments=[]).exclude(id=message.id)
    for attached in others.values_list("attachments", flat=True):
        files -= {item["id"] for item in attached}
    Upload.objects.filter(conversation=row, id__in=files).delete()


def _unquote(row: Conversation, message: Message) -> None:
    """Remove the message's words from later receipts' sentences about recalled messages."""
    user = message.role == "user"
    asked_here = {message.turn_id} if user and message.turn_id else set()
    since = message.turn.number if message.turn else 0
    receipts = Turn.objects.filter(conversation=row, number__gte=since, receipt__isnull=False)
    receipts = receipts.annotate(text=Cast("receipt", TextField()))
    ids = list(
        receipts.filter(
            Q(text__contains=SHARES) | Q(text__contains=NEAR) | Q(text__contains="looked_back")
        ).values_list("id", flat=True)
    )
    for some in in_batches(ids, CHUNK):
        changed = [
            turn
            for turn in Turn.objects.filter(id__in=some)
            if _blank(
                turn.receipt,
                message.seq,
                all_of_it=turn.id in asked_here or user and turn.asked_id == message.id,
            )
        ]
        Turn.objects.bulk_update(changed, ["receipt"])


def _blank(receipt: Any, seq: int, *, all_of_it: bool) -> bool:
    """Replace the sentences of a receipt that quote the message `seq`, and return whether there
    were any.

    With `all_of_it` the receipt answers that message, so that all of its sentences quote it. A
    sentence about a nearby message quotes too, without saying which message."""
    quoting = [
        verdict
        for verdict in receipt.get("verdicts", ())
        if _why(verdict).startswith(NEAR)
        or _why(verdict).startswith(SHARES)
        and (all_of_it or verdict["first"] <= seq <= verdict.get("last", verdict["first"]))
    ]
    for verdict in quoting:
        verdict["sentence" if "sentence" in verdict else "why"] = WORDS_DELETED
    # The model searched for words of what it was asked, or of what it had found before.
    searched = [look for look in receipt.get("looked_back", ()) if look.get("query")]
    for look in searched:
        look["query"] = "…"
    return bool(quoting or searched)


def _why(verdict: dict[str, Any]) -> str:
    """Return a verdict's sentence, which older receipts have under another name."""
    return str(verdict.get("why") or verdict.get("sentence", ""))
