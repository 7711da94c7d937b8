"""Stores mails as they come in, each once, in a thread of their sender's own."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Length
from django.utils import timezone

from chatsite.conversations.database.locks import hold
from chatsite.conversations.models import Conversation
from chatsite.conversations.titles import title_from
from chatsite.mail.models import UNFINISHED, Mail, Mailbox, MailState
from chatsite.storage import reading, writing

# For this time a mail with the same subject continues a thread, if no header names one.
SAME_SUBJECT = timedelta(days=30)
# Of what strangers write and nobody has looked at.
MOST_HELD_OF_SENDER = 20
MOST_HELD_CHARACTERS = 50_000_000  # at most 200 MB


# ---- the mailbox -----------------------------------------------------------------------------
@reading
def mailbox_place(*, name: str) -> Mailbox | None:
    """Finds how far the mailbox was read."""
    return Mailbox.objects.filter(name=name).first()


@writing
def save_mailbox_place(*, name: str, validity: int, last: int) -> None:
    """Stores how far the mailbox was read."""
    Mailbox.objects.update_or_create(name=name, defaults={"validity": validity, "last": last})


@writing
def mailbox_account(*, address: str) -> int:
    """Gives the account that has the conversations of external senders. Nobody can sign in as it,
    or sign up under its name: a colon isn't allowed there."""
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
def own_thread(mail: Mail, *, user: int) -> str | None:
    """Chooses the conversation of `user` that the mail continues; None stands for a new one. An
    external sender continues only threads of their own: all external senders share an account.

    The id of somebody else's thread begins a new thread, like any unknown id. The subject decides
    only if the mail answers nothing: others may use the same subject."""
    mails = Mail.objects.filter(
        user=user, external=mail.external, conversation__user=user, conversation__deleted=None
    )
    if mail.external:
        mails = mails.filter(sender=mail.sender)
    if not mail.ids:
        recent = mails.filter(received__gte=timezone.now() - SAME_SUBJECT)
        same = recent.filter(subject_key=mail.subject_key).exclude(subject_key="")
        newest = same.order_by("-received").first()
        return newest.thread if newest is not None else None
    by_id: dict[str, str] = {}
    known = mails.filter(Q(message_id__in=mail.ids) | Q(answer_id__in=mail.ids))
    for row in known.only("message_id", "answer_id", "conversation"):
        by_id |= {row.message_id: row.thread, row.answer_id: row.thread}
    return next((by_id[id] for id in mail.ids if id in by_id), None)


@writing
def record_mail(mail: Mail, *, state: MailState) -> bool:
    """Stores that a mail was seen, without its text; False if it was stored before."""
    now = timezone.now()
    seen = Mail(id=mail.id, key=mail.key, message_id=mail.message_id, sender=mail.sender, ended=now)
    return _store(seen, state)


@writing
def hold_mail(mail: Mail, *, note: str) -> str:
    """Stores a mail for the administrator's decision, with a note for the person who is answered.
    Returns why the mail isn't held, or "" if it is."""
    hold(shared="mail")
    held = Mail.objects.filter(state="held")
    if held.filter(sender=mail.sender).count() >= MOST_HELD_OF_SENDER:
        return "many mails of its sender are held already"
    used = held.aggregate(used=Sum(Length("text")))["used"] or 0
    if used + len(mail.text) > MOST_HELD_CHARACTERS:
        return "the room for held mails is full"
    mail.refused = [note] if note else []
    _store(mail, "held")
    return ""


@writing
def take_mail(mail: Mail, *, user: int, agent: str, thread: str | None) -> bool:
    """Stores a mail that is to be answered: in the conversation `thread` of `user`, or in a new
    one, which has the subject as its title. False if the mail was stored before."""
    hold(conversation=thread or ())
    if not _store(mail, "waiting"):
        return False
    _place(mail, user, agent, thread)
    return True


@writing
def take_notice(mail: Mail, *, outgoing: bytes, answer_id: str) -> bool:
    """Stores a mail that gets a fixed answer and no conversation; False if it was stored before."""
    mail.outgoing, mail.answer_id, mail.text = outgoing, answer_id, ""
    return _store(mail, "sending")


@writing
def release_held(ids: list[str], *, user: int, agent: str) -> int:
    """Lets held mails be answered as external senders' mails, and counts them."""
    hold(shared="mail")
    rows = list(Mail.objects.filter(id__in=ids, state="held"))
    for row in rows:
        row.state, row.ended, row.external = "waiting", None, True
        _place(row, user, agent, None)
    return len(rows)


@writing
def drop_held(ids: list[str]) -> int:
    hold(shared="mail")
    held = Mail.objects.filter(id__in=ids, state="held")
    return held.update(state="dropped", text="", subject="", ended=timezone.now())


@reading
def unfinished_mails() -> list[Mail]:
    """Lists the mails that wait or are being answered, the oldest first."""
    return list(_unfinished().order_by("received"))


@reading
def unfinished_mail(*, mail: uuid.UUID) -> Mail | None:
    """None stands for a finished mail, a deleted conversation, and a disabled account."""
    return _unfinished().filter(id=mail).first()


def _unfinished() -> QuerySet[Mail]:
    active = Q(user=None) | Q(user__is_active=True)
    rows = Mail.objects.filter(active, state__in=UNFINISHED, conversation__deleted=None)
    return rows.select_related("conversation")


def _store(mail: Mail, state: MailState) -> bool:
    """Stores a new mail; False if it was stored before."""
    mail.state, mail.received = state, timezone.now()
    try:
        with transaction.atomic():
            mail.save(force_insert=True)
    except IntegrityError:
        return False
    return True


def _place(mail: Mail, user: int, agent: str, thread: str | None) -> None:
    # Asked again: the conversation may have been deleted meanwhile.
    threads = Conversation.objects.filter(user=user, deleted=None)
    found = threads.filter(id=thread).first() if thread is not None else None
    if found is None:
        now, title = timezone.now(), title_from(mail.subject or mail.text)
        found = Conversation.objects.create(
            user_id=user, agent=agent, title=title, created=now, updated=now
        )
        mail.first = True
    mail.user_id, mail.conversation = user, found
    mail.save()
