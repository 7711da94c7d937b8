"""From a Talk room into its conversation: what is said, edited and deleted there."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import QuerySet
from django.utils import timezone

from chatsite.conversations.database.locks import hold
from chatsite.conversations.files.uploads import characters_of, claim_uploads, require_words
from chatsite.conversations.models import ON_PATH, Conversation, Message
from chatsite.conversations.ownership import free_or_owned
from chatsite.conversations.path.active_path import append_to_path, estimated_tokens
from chatsite.conversations.path.queries import path_views
from chatsite.conversations.titles import message_title
from chatsite.conversations.versions.edits import TextChange
from chatsite.conversations.versions.versions import require_idle
from chatsite.events import MessagesChanged
from chatsite.messages import Attachment
from chatsite.messages import Message as DomainMessage
from chatsite.storage import reading, writing
from chatsite.talk.models import UNFINISHED, TalkMessage, TalkRoom
from chatsite.talk.records import stored_id
from chatsite.talk.room_cache import trim
from chatsite.talk.text.messages import read_reference

# How many messages one transaction places.
BATCH = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingMessage:
    """A message on its way into the conversation: the id under which it is stored there, that of
    the message which it replies to, and its files once they are uploaded."""

    message: TalkMessage
    id: str
    reply_to: str | None = None
    attachments: tuple[Attachment, ...] = ()


# ---- what goes into the conversation ---------------------------------------------------------
@reading
def waiting_messages(*, room: int, up_to: int) -> tuple[WaitingMessage, ...]:
    """Lists the oldest messages up to this one that go into the conversation without being answered
    by themselves: of each speaker only the newest message to the agent is answered."""
    addressed = _waiting(room).filter(addressed=True).values_list("actor", "number")
    newest = dict(addressed.order_by("number")).values()
    plain = _waiting(room).filter(number__lte=up_to).exclude(number__in=list(newest))
    return tuple(_waiting_message(one) for one in plain.select_related("room")[:BATCH])


@reading
def is_to_be_answered(*, room: int, number: int) -> bool:
    """Tells whether the message is still to be answered by itself: it was not deleted or withdrawn,
    and its speaker has asked nothing since."""
    row = TalkMessage.objects.filter(room=room, number=number).first()
    if row is None or row.state != "waiting":
        return row is not None and row.state == "asked"
    newer = _waiting(room).filter(actor=row.actor, addressed=True, number__gt=number)
    return row.addressed and not newer.exists()


@writing
def take_question(*, room: int, number: int) -> WaitingMessage | None:
    """Gives the message, which is being answered from now on, also after a crash. None stands for a
    message that isn't to be answered any more."""
    hold(room=room)
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
        message=row,
        id=stored_id(row.room.server, row.room.token, row.number),
        reply_to=_replied(row),
    )


def _replied(row: TalkMessage) -> str | None:
    """Finds the message of the conversation's path that this one replies to, also if the room's
    message is long gone from the cache."""
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
    *, room: int, agent: str, waiting: Sequence[WaitingMessage], keep: int
) -> TextChange | None:
    """Puts messages at the end of the conversation, which may begin with them. A message that is in
    the conversation already is only finished. Gives what pages are told, None for nothing. Raises
    TurnRunning while an answer is written, and Refused if the room's quota is full: then no message
    is placed."""
    hold(room=room)
    row = TalkRoom.objects.get(pk=room)
    hold(row.owner, conversation=row.conversation)
    stored = {one.message.number: uuid.UUID(one.id) for one in waiting}
    existing = Message.objects.filter(id__in=stored.values())
    new = {one.id for one in waiting} - set(map(str, existing.values_list("id", flat=True)))
    messages = [_message(row, one, new) for one in waiting if one.id in new]
    change = _append(row, agent, messages) if messages else None
    finished = list(TalkMessage.objects.filter(room=row, number__in=stored))
    for one in finished:
        one.state, one.stored = "finished", stored[one.number]
    TalkMessage.objects.bulk_update(finished, ["state", "stored"])
    trim(room, keep)
    return change


def _message(room: TalkRoom, waiting: WaitingMessage, new: set[str]) -> DomainMessage:
    """Makes the conversation's message. `new` are the ids of all that are placed now: one may reply
    to another."""
    said, reply_to = waiting.message, waiting.reply_to
    if reply_to is None and said.parent:
        parent = stored_id(room.server, room.token, said.parent)
        reply_to = parent if parent in new else None
    message = DomainMessage.user(
        said.text or None,
        *waiting.attachments,
        id=waiting.id,
        source="talk",
        speaker=said.name,
        reply_to=reply_to,
    )
    return replace(message, tokens=estimated_tokens(message))


def _append(room: TalkRoom, agent: str, messages: Sequence[DomainMessage]) -> TextChange:
    owner, now = room.owner, timezone.now()
    row = free_or_owned(owner, str(room.conversation))
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
    """Finishes messages of which nothing goes into the conversation."""
    hold(room=room)
    TalkMessage.objects.filter(room=room, number__in=numbers).update(state="finished")
    trim(room, keep)


@writing
def finish_question(*, room: int, number: int, asked: str, keep: int) -> None:
    """Notes that the answer was posted. `asked` is the message's id in the conversation, "" where
    nothing was stored of it: then it goes there as a message that isn't answered."""
    hold(room=room)
    mine = TalkMessage.objects.filter(room=room, number=number)
    if asked:
        mine.update(state="finished", stored=uuid.UUID(asked))
    else:
        mine.update(state="waiting", addressed=False)
        mine.filter(kind="deleted").update(state="finished", changed=False)
    trim(room, keep)


# ---- what changed in the room ----------------------------------------------------------------
@reading
def changed_messages(*, room: int) -> list[TalkMessage]:
    """Lists the messages of the conversation that were edited or deleted in the room since."""
    rows = TalkMessage.objects.filter(UNFINISHED, room=room, changed=True)
    return list(rows.exclude(stored=None).order_by("number"))


@writing
def finish_change(carried: TalkMessage) -> None:
    """Notes that the conversation has this change. A change that came while this one was carried is
    still to come."""
    row = TalkMessage.objects.filter(pk=carried.pk)
    if carried.kind == "deleted":
        row.filter(kind="deleted").update(changed=False)
    else:
        row.filter(text=carried.text).exclude(kind="deleted").update(changed=False)


@reading
def is_to_clear(*, room: int) -> bool:
    return TalkRoom.objects.get(pk=room).to_clear


@writing
def finish_clearing(*, room: int) -> None:
    TalkRoom.objects.filter(pk=room).update(to_clear=False)
