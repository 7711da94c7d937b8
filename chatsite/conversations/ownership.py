"""Finds conversations and turns through their owner; another owner's is reported as not found."""

from __future__ import annotations

import time
import uuid
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from chatsite.conversations.database.columns import fetch, key
from chatsite.conversations.database.statements import (
    BY_ID,
    CONVERSATION_WITH_RECEIPT,
    CONVERSATIONS,
    PATH_TOTALS,
    RECEIPTS,
)
from chatsite.conversations.models import ON_PATH, Conversation, Message, Turn
from chatsite.conversations.owners import Owner
from chatsite.errors import NotFound
from chatsite.wording import later, say

GONE = later("There is no such message.")


def find_conversation(id: str) -> Conversation | None:
    """Return the conversation of any owner, with its last turn's receipt. Raises NotFound for an
    invalid id."""
    for values in fetch(CONVERSATION_WITH_RECEIPT, key(as_id(id))):
        row = CONVERSATIONS.to_model(values[: len(CONVERSATIONS)])
        if row.last_turn_id is not None:
            row.last_turn = RECEIPTS.to_model(values[len(CONVERSATIONS) :])
        return row
    return None


def as_id(id: str) -> uuid.UUID:
    """Raise NotFound for what is no conversation's id."""
    try:
        return uuid.UUID(id)
    except ValueError:
        raise NotFound(say("There is no such conversation.")) from None


def owned_conversation(owner: Owner, id: str, *, deleted: bool = False) -> Conversation:
    """Return the conversation. Raises the same NotFound for a missing one and for another
    owner's."""
    row = find_conversation(id)
    if row is None or not owns(owner, row) or (row.deleted is not None) != deleted:
        raise NotFound(say("There is no such conversation."))
    return row


def owns(owner: Owner, row: Conversation) -> bool:
    return row.user_id == owner.user and row.guest == owner.guest


def free_or_owned(owner: Owner, id: str) -> Conversation | None:
    """Return None where no conversation has this id yet. Raises NotFound for another owner's."""
    return _if_owned(owner, find_conversation(id))


def totals_of_owned(owner: Owner, id: str) -> Conversation | None:
    """Return the same with the path's totals alone, without the last receipt: for what a turn asks
    on the side."""
    return _if_owned(owner, PATH_TOTALS.first(BY_ID, key(as_id(id))))


def _if_owned(owner: Owner, row: Conversation | None) -> Conversation | None:
    if row is not None and (not owns(owner, row) or row.deleted is not None):
        raise NotFound(say("There is no such conversation."))
    return row


def messages_on_path(row: Conversation) -> QuerySet[Message]:
    return Message.objects.filter(ON_PATH, conversation=row)


def owned_messages(owner: Owner) -> QuerySet[Message]:
    """Return the messages of this owner, deleted ones too, without those of deleted
    conversations."""
    return Message.objects.filter(owner.filter("conversation__"), conversation__deleted=None)


def owned_message(owner: Owner, id: str, *related: str, gone: str = GONE, **wanted: Any) -> Message:
    """Return the message with its conversation and the `related` rows. Raises NotFound, in the
    words `gone`, unless it is one of this owner's as `wanted`."""
    rows = owned_messages(owner).select_related("conversation", *related)
    found = rows.filter(id=uuid.UUID(id), **wanted).first()
    if found is None:
        raise NotFound(say(gone))
    return found


def owned_turn(owner: Owner, id: str) -> Turn:
    """Return the turn with its conversation. Raises NotFound, also for what is no turn's id."""
    turns = Turn.objects.select_related("conversation").filter(owner.filter("conversation__"))
    try:
        return turns.get(id=id, conversation__deleted=None)
    except (Turn.DoesNotExist, ValidationError):
        raise NotFound(say("There is no such answer.")) from None


# An upload of 50 MB may take two hours. In memory: what is under way ends with the server.
SIGN_IN_SECONDS = 3 * 3600.0
signed_in: dict[str, tuple[int, float]] = {}


def note_sign_in(*, guest: str, user: int) -> None:
    """Note whose account the guest is from now on: what their requests still store is the
    account's."""
    now = time.monotonic()
    for other, (_, at) in list(signed_in.items()):
        if now - at > SIGN_IN_SECONDS:
            signed_in.pop(other, None)
    signed_in[guest] = user, now


def owner_now(owner: Owner) -> Owner:
    """Return the account where the guest has signed in meanwhile."""
    user, _ = signed_in.get(owner.guest, (None, 0.0))
    return owner if user is None else Owner(user=user)
