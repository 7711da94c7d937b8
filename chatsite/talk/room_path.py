"""From a Talk room into its conversation: what is said, edited and deleted there."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from django.db.models import Q, QuerySet
from django.utils import timezone

from chatsite.conversations.files.uploads import characters_of, claim_uploads, require_words
from chatsite.conversations.models import ON_PATH, Conversation, Message
from chatsite.conversations.ownership import Owner, free_or_owned
from chatsite.conversations.path.active_path import append_to_path, estimated_tokens
from chatsite.conversations.path.queries import path_views
from chatsite.conversations.titles import message_title
from chatsite.conversations.versions.edits import TextChange
from chatsite.conversations.versions.versions import require_idle
from chatsite.events import MessagesChanged
from chatsite.messages import Message as DomainMessage
from chatsite.storage import reading, writing
from chatsite.talk.models import UNFINISHED, TalkMessage, TalkRoom
from chatsite.talk.records import (
    LaggingMessage,
    PlacedMessage,
    WaitingMessage,
    stored_id,
)
from chatsite.talk.room_cache import message_of, trim
from chatsite.talk.text.messages import read_reference

# How many messages one transaction places.
BATCH = 50


class Lag(NamedTuple):
    """What the conversation lacks of the room's changes."""

    messages: tuple[LaggingMessage, ...]
    to_clear: bool


# ---- what goes into the conversation ---------------------------------------------------------
@reading
def waiting_messages(*, room: int, up_to: int) -> tuple[WaitingMessage, ...]:
    """The oldest messages up to this one that go into the conversation without being answered by
    themselves: of each speaker the newest that is addressed to the agent is."""
    addressed = _waiting(room).filter(addressed=True).values_list("actor", "number")
    newest = dict(addressed.order_by("number")).values()
    plain = _waiting(room).filter(number__lte=up_to).exclude(number__in=list(newest))
    return tuple(_waiting_message(one) for one in plain.select_related("room")[:BATCH])


@reading
def is_to_be_answered(*, room: int, number: int) -> bool:
    """Whether the message is still to be answered by itself: it was not deleted or withdrawn, and
    its speaker has asked nothing since."""
    row = TalkMessage.objects.filter(room=room, number=number).first()
    if row is None or row.state != "waiting":
        return row is not None and row.state == "asked"
    newer = _waiting(room).filter(actor=row.actor, addressed=True, number__gt=number)
    return row.addressed and not newer.exists()


@writing
def take_question(*, room: int, number: int) -> WaitingMessage | None:
    """The message, which is being answered from now on, also after a crash. None where it isn't to
    be answered any more."""
    if not is_to_be_answered.here(room=room, number=number):
        return None
    row = TalkMessage.objects.select_related("room").get(room=room, number=number)
    row.state = "asked"
    row.save(update_fields=["state"])
    return _waiting_message(row)


def _waiting(room: int) -> QuerySet[TalkMessage]:
    waiting = TalkMessage.objects.filter(UNFINISHED, room=room, state="waiting", kind="said")
    return waiting.order_by("number")


def _waiting_message(row: TalkMessage) -> WaitingMessage:
    return WaitingMessage(
        message=message_of(row),
        id=stored_id(row.room.server, row.room.token, row.number),
        reply_to=_replied(row),
    )


def _replied(row: TalkMessage) -> str | None:
    """The message of the conversation's path that this one replies to, also where the room's is
    long gone from the cache."""
    if not row.parent:
        return None
    parent = TalkMessage.objects.filter(room=row.room, number=row.parent).first()
    reference = read_reference(row.parent_reference or (parent.reference if parent else ""))
    here = Message.objects.filter(ON_PATH, conversation=row.room.conversation)
    here = here.exclude(state="running")
    if reference is not None and reference.tag == "result":
        answers = here.filter(turn_id=uuid.UUID(reference.about), role="assistant").order_by("-seq")
        found = answers.values_list("id", flat=True).first()
    else:
        id = stored_id(row.room.server, row.room.token, row.parent)
        found = here.filter(id=uuid.UUID(id)).values_list("id", flat=True).first()
    return str(found) if found is not None else None


@writing
def place_messages(
    *, room: int, agent: str, placed: Sequence[PlacedMessage], keep: int
) -> TextChange | None:
    """Put messages at the end of the conversation, which begins with them where it hasn't yet; one
    that is there already is only finished. What pages are told, None for nothing. Raises
    TurnRunning while an answer is written, Refused where the room's quota is full: nothing is
    placed then."""
    row = TalkRoom.objects.select_for_update().get(pk=room)
    there = _existing([one.waiting.id for one in placed])
    new = [one.waiting.id for one in placed if one.waiting.id not in there]
    messages = [_message(row, one, new) for one in placed if one.waiting.id in new]
    change = _append(row, agent, messages) if messages else None
    stored = {one.waiting.message.id: uuid.UUID(one.waiting.id) for one in placed}
    mine = list(TalkMessage.objects.filter(room=row, number__in=stored))
    for said in mine:
        said.state, said.stored = "finished", stored[said.number]
    TalkMessage.objects.bulk_update(mine, ["state", "stored"])
    trim(room, keep)
    return change


def _existing(ids: Sequence[str]) -> set[str]:
    found = Message.objects.filter(id__in=[uuid.UUID(id) for id in ids])
    return {str(id) for id in found.values_list("id", flat=True)}


def _message(room: TalkRoom, placed: PlacedMessage, new: Sequence[str]) -> DomainMessage:
    """`new` are the ids of all that are placed now: one may reply to another."""
    said, reply_to = placed.waiting.message, placed.waiting.reply_to
    if reply_to is None and said.parent:
        parent = stored_id(room.server, room.token, said.parent)
        reply_to = parent if parent in new else None
    message = DomainMessage.user(
        said.text or None,
        *placed.attachments,
        id=placed.waiting.id,
        source="talk",
        speaker=said.name,
        reply_to=reply_to,
    )
    return replace(message, tokens=estimated_tokens(message))


def _append(room: TalkRoom, agent: str, messages: Sequence[DomainMessage]) -> TextChange:
    owner, now = Owner(user=room.account_id), timezone.now()
    row = free_or_owned(owner, str(room.conversation), locked=True)
    if row is None:
        row = Conversation(
            id=room.conversation,
            user_id=owner.user,
            agent=agent,
            title=message_title(messages[0]),
            created=now,
            updated=now,
        )
        row.save(force_insert=True)
    require_idle(row)
    characters = sum(characters_of(message) for message in messages)
    require_words(owner, characters)
    row.characters += characters
    stored = append_to_path(row, messages, now=now)
    claim_uploads(row, [one.id for message in messages for one in message.attachments])
    row.updated = now
    row.save()
    changed = MessagesChanged(messages=path_views(stored), gone=(), forget_above=row.forget_above)
    return TextChange(conversation=str(row.id), changed=changed)


@writing
def skip_messages(*, room: int, numbers: Sequence[int], keep: int) -> None:
    """Finish messages of which nothing goes into the conversation."""
    TalkMessage.objects.filter(room=room, number__in=numbers).update(state="finished")
    trim(room, keep)


@writing
def finish_question(*, room: int, number: int, asked: str, keep: int) -> None:
    """The answer was posted. `asked` is the message's id in the conversation, "" where nothing was
    stored of it: then it goes there as a message that isn't answered."""
    mine = TalkMessage.objects.filter(room=room, number=number)
    if asked:
        mine.update(state="finished", stored=uuid.UUID(asked))
    else:
        mine.update(state="waiting", addressed=False)
        mine.filter(kind="deleted").update(state="finished", changed=False)
    trim(room, keep)


# ---- what changed in the room ----------------------------------------------------------------
@reading
def lag(*, room: int) -> Lag:
    """What was edited, deleted or cleared in the room and not yet in the conversation."""
    rows = TalkMessage.objects.filter(UNFINISHED, room=room, changed=True)
    changed = rows.exclude(stored=None).order_by("number")
    return Lag(
        tuple(
            LaggingMessage(
                number=one.number,
                id=str(one.stored),
                text=one.text if one.kind != "deleted" else None,
            )
            for one in changed
        ),
        TalkRoom.objects.get(pk=room).to_clear,
    )


@writing
def caught_up(*, room: int, carried: LaggingMessage | None = None, cleared: bool = False) -> None:
    """The conversation has this change; one that came while it was carried is still to come."""
    if carried is not None:
        row = TalkMessage.objects.filter(room=room, number=carried.number)
        gone = Q(kind="deleted")
        row.filter(gone if carried.text is None else ~gone & Q(text=carried.text)).update(
            changed=False
        )
    if cleared:
        TalkRoom.objects.filter(pk=room).update(to_clear=False)
