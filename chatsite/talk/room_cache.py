"""The newest messages of each Talk room, as they are there: with edits and deletions."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from django.db.models import Min, QuerySet

from chatsite.conversations.database.locks import hold
from chatsite.conversations.models import Message
from chatsite.storage import reading, writing
from chatsite.talk.models import UNFINISHED, TalkMessage, TalkRoom
from chatsite.talk.names import (
    Names,
    continued,
    in_todays_keys,
    shown_name,
    with_name,
)
from chatsite.talk.records import (
    ArrivalKind,
    RoomArrival,
    RoomChange,
    RoomMessage,
    stored_id,
)
from chatsite.talk.text.messages import read_reference

# What is refreshed where a message comes again.
_REFRESHED = ("name", "kind", "text", "edited", "reference", "files", "state", "changed", "stored")


@writing
def take_messages(
    *,
    room: int,
    messages: Sequence[RoomMessage],
    changes: Sequence[RoomChange] = (),
    last_known: int | None = None,
    keep: int,
) -> tuple[RoomArrival, ...]:
    """Stores what the room said, with how far it was read, in one transaction, and returns what is
    new and to be done. A message that comes twice is one row, and is returned once.

    Of the finished ones the newest `keep` stay; so do all behind one that isn't finished, or an
    answer that was posted could be posted again.
    """
    hold(room=room)
    row = TalkRoom.objects.get(pk=room)
    known = {one.number: one for one in _rows(room, [message.id for message in messages])}
    # What isn't kept any more was taken before, and is finished.
    new = [m for m in messages if m.id not in known and m.id > (row.last_known or 0)]
    names, row.names = row.names, in_todays_keys(row.names)
    for message in messages:
        if message.kind not in ("system", "deleted"):  # the bot's name is its own, too
            row.names = with_name(row.names, message.name, message.actor)
    fresh = {message.id: _new_row(row, message) for message in new}
    for message in messages:
        if message.id in known:
            _refresh(known[message.id], message, row.names)
    TalkMessage.objects.bulk_create(fresh.values(), batch_size=100)
    TalkMessage.objects.bulk_update(known.values(), _REFRESHED, batch_size=100)
    touched = {number for one in changes if one.id in fresh for number in _apply(row, one)}
    if last_known is not None:
        row.last_known = max(row.last_known or 0, last_known)
    more = ["names"] if row.names is not names else []
    row.save(update_fields=["last_known", "to_clear", *more])
    trim(room, keep)
    return arrivals_of(room, numbers={*fresh, *touched})


def _rows(room: int, numbers: Iterable[int]) -> QuerySet[TalkMessage]:
    return TalkMessage.objects.filter(room=room, number__in=list(numbers))


def _new_row(room: TalkRoom, message: RoomMessage) -> TalkMessage:
    return TalkMessage(
        room=room,
        number=message.id,
        actor=message.actor,
        sent=message.sent,
        parent=message.parent,
        parent_reference=message.parent_reference,
        addressed=message.addressed,
        state="waiting" if message.waits else "finished",
        stored=_posted_answer(room, message.reference) if message.kind == "result" else None,
        **_refreshable(message, room.names),
    )


def _refreshable(message: RoomMessage, names: Names) -> dict[str, Any]:
    said = message.kind == "said"
    return {
        "name": shown_name(names, message.name, message.actor) if said else message.name,
        "kind": message.kind,
        "text": continued(message.text) if said else message.text,
        "edited": message.edited,
        "reference": message.reference,
        "files": [asdict(file) for file in message.files],
    }


def _refresh(row: TalkMessage, message: RoomMessage, names: Names) -> None:
    """Changes the row to the message as it is now. The reference of a posted answer is never
    overwritten, or the answer would not be found again."""
    before, reference, kind = row.text, row.reference, row.kind
    for name, value in _refreshable(message, names).items():
        setattr(row, name, value)
    if kind in ("result", "command") and message.kind != "deleted":
        row.kind = kind
    if kind == "result" or not message.reference:
        row.reference = reference
    if message.kind == "result" and row.stored is None:
        row.stored = _posted_answer(row.room, row.reference)
    if message.kind == "deleted":
        row.state = "finished" if row.state == "waiting" else row.state
        row.changed = row.stored is not None or row.state == "asked"
    elif row.text != before and row.kind == "said":
        row.changed = row.stored is not None or row.state == "asked"


def _posted_answer(room: TalkRoom, reference: str) -> uuid.UUID | None:
    """Finds the answer of the conversation that was posted under this reference."""
    found = read_reference(reference)
    if found is None or found.tag != "result":
        return None
    answers = Message.objects.filter(
        turn_id=uuid.UUID(found.about),
        conversation=room.conversation,
        role="assistant",
        deleted=None,
    )
    return answers.order_by("-seq").values_list("id", flat=True).first()


# ---- what became of earlier messages ---------------------------------------------------------
def _apply(room: TalkRoom, change: RoomChange) -> Sequence[int]:
    """Notes the change, and lists the messages that it concerns."""
    if change.kind == "cleared":
        above = TalkMessage.objects.filter(room=room, number__lt=change.message)
        above.exclude(state="asked").update(kind="deleted", text="", state="finished")
        room.to_clear = True
        return [change.message]
    if change.kind == "stopped":
        return _withdraw(room, change)
    gone = RoomMessage(id=change.message, actor="", name="", kind="deleted", text="")
    after = gone if change.kind == "deleted" else change.after
    row = _rows(room.pk, [change.message]).first() or _trimmed(room, change)
    if row is None or after is None:
        return []
    _refresh(row, after, room.names)
    row.save()
    # What its speaker asked before it may be the newest of them again.
    asked = TalkMessage.objects.filter(room=room, actor=row.actor, state="waiting", addressed=True)
    again = asked.values_list("number", flat=True) if change.kind == "deleted" else []
    return [change.message, *again]


def _withdraw(room: TalkRoom, change: RoomChange) -> Sequence[int]:
    """Withdraws what the speaker asked above and nobody has begun to answer: it is only read."""
    above = TalkMessage.objects.filter(room=room, number__lte=change.message, actor=change.by)
    asked = above.filter(state="waiting", addressed=True)
    numbers = list(asked.values_list("number", flat=True))
    asked.update(addressed=False)
    return numbers


def _trimmed(room: TalkRoom, change: RoomChange) -> TalkMessage | None:
    """Makes a row for a message that isn't kept any more, if the conversation has it."""
    stored = _posted_answer(room, change.reference)
    if stored is None:
        id = uuid.UUID(stored_id(room.server, room.token, change.message))
        here = Message.objects.filter(id=id, conversation=room.conversation, deleted=None)
        stored = here.values_list("id", flat=True).first()
    if stored is None:
        return None
    said = {"kind": "result" if change.reference else "said", "reference": change.reference}
    return TalkMessage(room=room, number=change.message, stored=stored, **said)


# ---- what is to be done ----------------------------------------------------------------------
@reading
def unfinished(*, room: int) -> tuple[RoomArrival, ...]:
    """Lists all that is still to be done in the room."""
    return arrivals_of(room)


def arrivals_of(room: int, *, numbers: set[int] | None = None) -> tuple[RoomArrival, ...]:
    """Lists what is to be done of these messages, or of all, the oldest first."""
    rows = TalkMessage.objects.filter(UNFINISHED, room=room).select_related("room")
    if numbers is not None:  # a room may have thousands that wait
        rows = rows.filter(number__in=numbers)
    found, settles = [], 0
    for one in rows.order_by("number"):
        if one.kind == "command" and one.state != "finished":
            found.append(_arrival(one, "command"))
        elif one.state == "asked" or (one.state == "waiting" and one.addressed):
            found.append(_arrival(one, "question"))
        else:
            settles = one.number
    row = TalkRoom.objects.get(pk=room)
    if row.to_clear and not settles:
        settles = row.last_known or 0
    if settles:
        known = row.last_known or 0
        found.append(RoomArrival(token=row.token, id=settles, kind="settles", known=known))
    return tuple(sorted(found, key=lambda one: one.id))


def _arrival(row: TalkMessage, kind: ArrivalKind) -> RoomArrival:
    command = row.text if kind == "command" else ""
    return RoomArrival(token=row.room.token, id=row.number, kind=kind, command=command)


@reading
def posted(*, room: int, about: str) -> frozenset[str]:
    """Lists the reference ids of what was posted about a turn or a message."""
    rows = TalkMessage.objects.filter(room=room, reference__startswith=f"chatsite:{about}:")
    return frozenset(rows.values_list("reference", flat=True))


def trim(room: int, keep: int) -> None:
    """Removes the oldest finished messages, within the caller's transaction."""
    finished = TalkMessage.objects.filter(room=room).exclude(UNFINISHED).order_by("-number")
    oldest_kept = finished.values_list("number", flat=True)[keep - 1 : keep].first()
    if oldest_kept is None:
        return
    waiting = TalkMessage.objects.filter(UNFINISHED, room=room).aggregate(first=Min("number"))
    below = min(oldest_kept, waiting["first"] or oldest_kept)
    TalkMessage.objects.filter(room=room, number__lt=below).exclude(UNFINISHED).delete()
