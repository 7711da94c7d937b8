"""Stores mails as they come in, each once, in a thread of their sender's own."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Length
from django.utils import timezone

from chatsite.conversations.models import Conversation
from chatsite.conversations.titles import title_from
from chatsite.mail.models import UNFINISHED, Mail, Mailbox
from chatsite.mail.records import (
    ComingMail,
    MailboxPlace,
    MailState,
    OwnThreads,
    TakenMail,
)
from chatsite.storage import reading, writing

# Of what strangers write and nobody has looked at.
MOST_HELD_OF_SENDER = 20
MOST_HELD_CHARACTERS = 50_000_000  # at most 200 MB


# ---- the mailbox -----------------------------------------------------------------------------
@reading
def mailbox_place(*, name: str) -> MailboxPlace | None:
    row = Mailbox.objects.filter(name=name).first()
    return MailboxPlace(validity=row.validity, last=row.last) if row else None


@writing
def save_mailbox_place(*, name: str, place: MailboxPlace) -> None:
    Mailbox.objects.update_or_create(
        name=name, defaults={"validity": place.validity, "last": place.last}
    )


@writing
def mailbox_account(*, address: str) -> int:
    """The account that has the conversations of external senders. Nobody can sign in as it, or
    sign up under its name: a colon isn't allowed there."""
    user, made = User.objects.get_or_create(username=f"mail:{address}"[:150])
    if made:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user.pk


# ---- what comes in ---------------------------------------------------------------------------
@reading
def is_known_mail(*, key: str) -> bool:
    return Mail.objects.filter(key=key).exists()


@reading
def own_threads(
    *,
    user: int,
    sender: str,
    external: bool,
    ids: tuple[str, ...],
    subject_key: str,
    since: datetime,
) -> OwnThreads:
    """Of an external sender only those with this very sender: they share an account."""
    mails = Mail.objects.filter(
        user=user, external=external, conversation__user=user, conversation__deleted=None
    )
    if external:
        mails = mails.filter(sender=sender)
    by_id: dict[str, str] = {}
    known = mails.filter(Q(message_id__in=ids) | Q(answer_id__in=ids)) if ids else mails.none()
    for message_id, answer_id, conversation in known.values_list(
        "message_id", "answer_id", "conversation"
    ):
        by_id |= {id: str(conversation) for id in (message_id, answer_id) if id}
    same = (
        mails.filter(subject_key=subject_key, received__gte=since) if subject_key else mails.none()
    )
    newest = same.order_by("-received").values_list("conversation", flat=True).first()
    return OwnThreads(by_id=by_id, by_subject=str(newest) if newest else None)


@writing
def record_mail(mail: ComingMail, *, state: MailState) -> bool:
    """That a mail was seen, without its text; False where it was recorded before."""
    now = timezone.now()
    _, new = Mail.objects.get_or_create(
        key=mail.key,
        defaults={
            "id": mail.id,
            "message_id": mail.message_id,
            "sender": mail.sender,
            "state": state,
            "received": now,
            "ended": now,
        },
    )
    return new


@writing
def hold_mail(mail: ComingMail, *, note: str) -> str:
    """Its text, for the administrator's decision, with a note for the one who is answered; why it
    isn't held, or "" where it is."""
    held = Mail.objects.filter(state="held")
    if held.filter(sender=mail.sender).count() >= MOST_HELD_OF_SENDER:
        return "many mails of its sender are held already"
    used = held.aggregate(used=Sum(Length("text")))["used"] or 0
    if used + len(mail.text) > MOST_HELD_CHARACTERS:
        return "the room for held mails is full"
    row = _stored(mail, state="held")
    if row is not None and note:
        row.refused = [note]
        row.save(update_fields=["refused"])
    return ""


@writing
def take_mail(
    mail: ComingMail, *, user: int, agent: str, external: bool, conversation: str | None
) -> TakenMail | None:
    """A mail that is to be answered: in a conversation of `user`, or in a new one, which has the
    subject as its title. None where it was stored before."""
    row = _stored(mail, state="waiting")
    return _placed(row, user, agent, external, conversation) if row is not None else None


@writing
def take_notice(mail: ComingMail, *, outgoing: bytes, answer_id: str) -> TakenMail | None:
    """A mail that gets a fixed answer and no conversation; None where it was stored before."""
    row = _stored(mail, state="sending")
    if row is None:
        return None
    row.outgoing, row.answer_id, row.text = outgoing, answer_id, ""
    row.save()
    return _taken(row)


@writing
def release_held(ids: list[str], *, user: int, agent: str) -> int:
    """Held mails are answered as external senders'; how many."""
    rows = list(Mail.objects.select_for_update().filter(id__in=ids, state="held"))
    for row in rows:
        row.state, row.ended = "waiting", None
        _placed(row, user, agent, external=True, conversation=None)
    return len(rows)


@writing
def drop_held(ids: list[str]) -> int:
    held = Mail.objects.filter(id__in=ids, state="held")
    return held.update(state="dropped", text="", subject="", ended=timezone.now())


@reading
def unfinished_mails() -> list[TakenMail]:
    """The oldest first."""
    return [_taken(row) for row in _unfinished().order_by("received")]


@reading
def unfinished_mail(*, mail: str) -> TakenMail | None:
    """None where it is finished, its conversation deleted, or its account disabled."""
    row = _unfinished().filter(id=mail).first()
    return _taken(row) if row is not None else None


def _unfinished() -> QuerySet[Mail]:
    active = Q(user=None) | Q(user__is_active=True)
    rows = Mail.objects.filter(active, state__in=UNFINISHED, conversation__deleted=None)
    return rows.select_related("conversation")


def _stored(mail: ComingMail, *, state: MailState) -> Mail | None:
    row, new = Mail.objects.get_or_create(
        key=mail.key,
        defaults={
            "id": mail.id,
            "message_id": mail.message_id,
            "sender": mail.sender,
            "subject": mail.subject,
            "subject_key": mail.subject_key,
            "text": mail.text,
            "ids": list(mail.ids),
            "chain": list(mail.chain),
            "files": None if mail.has_files else [],
            "state": state,
            "received": timezone.now(),
        },
    )
    return row if new else None


def _placed(
    row: Mail, user: int, agent: str, external: bool, conversation: str | None
) -> TakenMail:
    found = None
    if conversation is not None:
        # Asked again: it may have been deleted meanwhile.
        found = Conversation.objects.filter(id=conversation, user=user, deleted=None).first()
    row.first = found is None
    row.conversation = found or _new_conversation(user, agent, row.subject or row.text)
    row.user_id, row.external = user, external
    row.save()
    return _taken(row)


def _new_conversation(user: int, agent: str, words: str) -> Conversation:
    now = timezone.now()
    return Conversation.objects.create(
        id=uuid.uuid4(),
        user_id=user,
        agent=agent,
        title=title_from(words),
        created=now,
        updated=now,
    )


def _taken(row: Mail) -> TakenMail:
    held_in = row.conversation
    return TakenMail(
        id=str(row.id),
        message_id=row.message_id,
        sender=row.sender,
        subject=row.subject,
        text=row.text,
        ids=tuple(row.ids),
        chain=tuple(row.chain),
        received=row.received,
        user=row.user_id,
        conversation=str(held_in.id) if held_in is not None else "",
        agent=held_in.agent if held_in is not None else "",
        external=row.external,
        first=row.first,
        files=tuple(row.files) if row.files is not None else None,
        refused=tuple(row.refused),
        outgoing=bytes(row.outgoing) if row.outgoing is not None else None,
    )
