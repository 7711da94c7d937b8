"""The rooms of a Nextcloud: each has one conversation, and an account of its own that owns it."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib.auth.models import User

from chatsite.channels.channel import OpenRoom
from chatsite.conversations.database.locks import hold
from chatsite.conversations.models import Conversation, Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import owned_conversation
from chatsite.conversations.versions.edits import TextChange
from chatsite.events import MessagesChanged
from chatsite.storage import reading, writing
from chatsite.talk.models import TalkRoom
from chatsite.talk.rooms_file import RoomsFile


@reading
def opened_rooms(file: RoomsFile) -> list[OpenRoom]:
    """Lists the rooms of the file that were opened, in its order, on whichever server."""
    rows = {row.token: row for row in TalkRoom.objects.filter(server=file.server)}
    return [
        OpenRoom(
            room=entry.room,
            conversation=str(rows[entry.token].conversation),
            owner=rows[entry.token].owner,
            agent=entry.agent,
            readers=entry.readers,
        )
        for entry in file.rooms
        if entry.token in rows
    ]


@writing
def open_room(*, server: str, token: str, agent: str) -> TalkRoom:
    """Gives the room with its account and the id of its conversation, which begins with the first
    message. The id is a new one if the room has another agent now, or its conversation was
    deleted."""
    hold(room=f"{token} at {server}")
    room = TalkRoom.objects.filter(server=server, token=token).first()
    if room is None:
        account = _new_account(token)
        room = TalkRoom(server=server, token=token, account=account, conversation=uuid.uuid4())
        room.save()
    hold(room=room.pk)
    begun = Conversation.objects.filter(id=room.conversation).first()
    if begun is not None and (begun.agent != agent or begun.deleted is not None):
        room.conversation = uuid.uuid4()
        room.save(update_fields=["conversation"])
    return room


def _new_account(token: str) -> User:
    """Makes an account that nobody signs in with. It is never one that was there before: whoever
    had made it would own the room's conversation."""
    name, count = f"talk-{token}", 1
    while User.objects.filter(username=name).exists():
        count += 1
        name = f"talk-{token}-{count}"
    return User.objects.create_user(name)  # without a password: an unusable one


@writing
def begin_room(*, room: int, newest: int) -> TalkRoom:
    """Begins a room that was never read behind its newest message: older ones aren't answered."""
    hold(room=room)
    TalkRoom.objects.filter(pk=room, last_known=None).update(last_known=newest)
    return TalkRoom.objects.get(pk=room)


# ---- commands in the room --------------------------------------------------------------------
@reading
def last_receipt(*, owner: Owner, conversation: str) -> dict[str, Any] | None:
    """Gives the receipt of the newest answer that has one, as it is stored."""
    answered = Turn.objects.filter(
        owner.filter("conversation__"),
        conversation=uuid.UUID(conversation),
        conversation__deleted=None,
        receipt__isnull=False,
    )
    turn = answered.order_by("-number").first()
    return turn.whole_receipt if turn is not None else None


@writing
def forget_all(*, owner: Owner, conversation: str) -> TextChange:
    """Sets the marker below the newest message, so that no earlier message is remembered. Raises
    NotFound."""
    hold(conversation=conversation)
    row = owned_conversation(owner, conversation)
    row.forget_above = row.next_seq
    row.save(update_fields=["forget_above"])
    changed = MessagesChanged(messages=(), gone=(), forget_above=row.forget_above)
    return TextChange(conversation=str(row.id), changed=changed)


@reading
def has_begun(*, owner: Owner, conversation: str) -> bool:
    """Tells whether anything was said in the room since it is read. Raises NotFound for another's
    conversation."""
    if not Conversation.objects.filter(id=uuid.UUID(conversation)).exists():
        return False
    owned_conversation(owner, conversation)
    return True
