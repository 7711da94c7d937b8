"""Edits and deletes single messages, with everything that was made from their text.

The caller must call `Recaller.forget` and the engine's `Cache.forget` afterwards: an index in
memory and a slot still hold the old text.
"""

from __future__ import annotations

import uuid
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Q, TextField
from django.db.models.functions import Cast

from chatsite.conversations import search_indexes, summaries
from chatsite.conversations.active_path import estimated_tokens, subtract_from_totals
from chatsite.conversations.cache import saved_sessions
from chatsite.conversations.database.rows import message_of
from chatsite.conversations.database.work import writing
from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.reads import loading
from chatsite.conversations.turn.begin import title_from
from chatsite.conversations.values.owners import Owner
from chatsite.errors import NotFound, Refused, TurnRunning
from chatsite.history.lexical.sharing import NEAR, SHARES
from chatsite.kv import LOADED, UNLOADED
from chatsite.messages import TokenCount

# How many receipts, of a few KB each, are read and written at once.
CHUNK = 100
WORDS_DELETED = "it matters for this message; the words that show it were deleted with a message"


@writing
def edit_message(*, owner: Owner, message: str, text: str, tokens: TokenCount | None = None) -> str:
    """Replace a message's text; returns the conversation's id.

    Summaries that cover the message become stale. Raises NotFound unless the message is in a
    conversation of this owner, TurnRunning while an answer is written.
    """
    row, found = _changeable(owner, message)
    before = found.content or ""
    summaries.mark_stale(row, found.seq)
    _drop_quotes(row, found)
    found.content, found.reasoning = text, None
    # The provider's metadata and the cells of the engine's cache belong to the old text.
    found.metadata = ""
    found.kv_size, found.kv_start_position = -1, -1
    # An unloaded turn stays unloaded.
    found.kv_status = LOADED if found.kv_status == LOADED else UNLOADED
    saved_sessions.delete_saved_session(row)
    search_indexes.delete_index(row)
    count = tokens or estimated_tokens(message_of(found))
    if found.on_path:
        row.path_tokens += count.count - found.tokens
    found.tokens, found.tokenizer, found.basis = count.count, count.tokenizer, count.basis
    found.save()
    if row.title == title_from(before):
        row.title = title_from(text)
    row.last_turn = None  # the next request begins differently, and isn't compared with it
    row.save()
    transaction.on_commit(partial(loading.forget_entries, row.id))
    return str(row.id)


@writing
def delete_message(*, owner: Owner, message: str) -> str:
    """Delete one message; returns the conversation's id.

    The answers to a deleted user message stay and join the turn before; the results of tool calls
    are deleted with the message that called. Summaries that cover the message lose their text,
    receipts lose the words that they quote from it, and a title that was its beginning changes.
    Raises as `edit_message` does, and Refused for a call's result alone.
    """
    row, found = _changeable(owner, message)
    if found.role == "tool":
        raise Refused("A call's result goes with the message that called. Delete that one.")
    for one in (*reversed(_results(found)), found):
        _remove(row, one)
    saved_sessions.delete_saved_session(row)
    search_indexes.delete_index(row)
    if row.title == title_from(found.content or ""):
        first = Message.objects.filter(conversation=row, on_path=True, role="user").order_by("seq")
        row.title = title_from(first.values_list("content", flat=True).first() or "")
    row.last_turn = None
    row.save()
    transaction.on_commit(partial(loading.forget_entries, row.id))
    return str(row.id)


def _results(message: Message) -> list[Message]:
    """The results of the message's tool calls, which are directly below it."""
    found: list[Message] = []
    last = message if message.calls else None
    while last is not None:
        below = Message.objects.select_related("parent", "turn").filter(parent=last, role="tool")
        last = below.first()
        found += [last] if last is not None else []
    return found


def _remove(row: Conversation, found: Message) -> None:
    above = found.parent
    summaries.erase_texts(row, found.seq)
    _unquote(row, found)
    _drop_quotes(row, found)
    if found.role == "user" and above is not None:
        summaries.mark_stale(row, above.seq)  # its turn now includes the answers to the deleted one
    Message.objects.filter(parent=found).update(parent=above)
    if found.role == "user":
        turn_seq = above.turn_seq if above is not None else 0
        Message.objects.filter(conversation=row, turn_seq=found.seq).update(turn_seq=turn_seq)
        # The receipts of its retries stay, as that of its own turn does.
        Turn.objects.filter(asked=found).update(asked=None)
    if found.on_path:
        subtract_from_totals(row, found)
        row.marked -= found.pinned or found.excluded
    if row.forget_above == found.seq:
        below = Message.objects.filter(conversation=row, on_path=True, seq__gt=found.seq)
        row.forget_above = below.order_by("seq").values_list("seq", flat=True).first() or 0
    found.delete()


def _changeable(owner: Owner, id: str) -> tuple[Conversation, Message]:
    """The conversation, locked, and its message."""
    theirs = Message.objects.filter(owner.filter("conversation__"), conversation__deleted=None)
    seen = theirs.filter(id=uuid.UUID(id)).first()
    if seen is None:
        raise NotFound("There is no such message.")
    row = Conversation.objects.select_for_update().get(id=seen.conversation_id)
    found = Message.objects.select_related("parent").filter(id=seen.id).first()
    if found is None:
        raise NotFound("There is no such message.")
    if Turn.objects.filter(conversation=row, state="running").exists():
        raise TurnRunning("An answer is still being written here. Stop it first.")
    return row, found


def _drop_quotes(row: Conversation, message: Message) -> None:
    """No later request quotes the message, whatever that costs a provider's cache: what was quoted
    was its old text."""
    below = Message.objects.filter(conversation=row, seq__gt=message.seq, role="assistant")
    changed = [
        one for one in below.exclude(quoted=[]).only("id", "quoted") if message.seq in one.quoted
    ]
    for one in changed:
        one.quoted = [seq for seq in one.quoted if seq != message.seq]
    Message.objects.bulk_update(changed, ["quoted"], batch_size=CHUNK)


def _unquote(row: Conversation, message: Message) -> None:
    """Remove the message's words from later receipts' sentences about recalled messages."""
    user = message.role == "user"
    asked_here = {message.turn_id} if user and message.turn_id else set()
    since = message.turn.number if message.turn else 0
    receipts = Turn.objects.filter(conversation=row, number__gte=since, receipt__isnull=False)
    receipts = receipts.annotate(text=Cast("receipt", TextField()))
    ids = list(
        receipts.filter(Q(text__contains=SHARES) | Q(text__contains=NEAR)).values_list(
            "id", flat=True
        )
    )
    for start in range(0, len(ids), CHUNK):
        changed = [
            turn
            for turn in Turn.objects.filter(id__in=ids[start : start + CHUNK])
            if _blank(
                turn.receipt,
                message.seq,
                all_of_it=turn.id in asked_here or user and turn.asked_id == message.id,
            )
        ]
        Turn.objects.bulk_update(changed, ["receipt"])


def _blank(receipt: Any, seq: int, *, all_of_it: bool) -> bool:
    """Replace the sentences of a receipt that quote the message `seq`; whether there were any.

    With `all_of_it` the receipt answers that message, so that all of its sentences quote it. A
    sentence about a nearby message quotes too, without saying which message."""
    found = [
        verdict
        for verdict in receipt.get("verdicts", ())
        if _why(verdict).startswith(NEAR)
        or _why(verdict).startswith(SHARES)
        and (all_of_it or verdict["first"] <= seq <= verdict.get("last", verdict["first"]))
    ]
    for verdict in found:
        verdict["sentence" if "sentence" in verdict else "why"] = WORDS_DELETED
    return bool(found)


def _why(verdict: dict[str, Any]) -> str:
    """A verdict's own sentence; receipts of before have every verdict's under another name."""
    return str(verdict.get("why") or verdict.get("sentence", ""))
