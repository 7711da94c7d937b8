"""The tables of the channel "mail"."""

from __future__ import annotations

import uuid
from typing import Literal, get_args

from django.conf import settings
from django.db import models
from django.db.models import Q

# A mail waits, or its answer is being sent; or it has one of the ends: answered, ignored (it is
# automatic), refused, held for the administrator, dropped by them, over (it is in the conversation,
# and more than the thread's hourly answers), undeliverable (its answer).
MailState = Literal[
    "waiting",
    "sending",
    "answered",
    "ignored",
    "refused",
    "held",
    "dropped",
    "over",
    "undeliverable",
]
STATES = [(state, state) for state in get_args(MailState)]
UNFINISHED = ("waiting", "sending")


class MailAddress(models.Model):
    """An address that an account says is its own, in small letters. Of those that are verified
    each belongs to one account; anybody may wait for a link to an address."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="mail_addresses"
    )
    address = models.CharField(max_length=254)
    created = models.DateTimeField()
    verified = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "conversations_mailaddress"
        constraints = [
            models.UniqueConstraint(fields=["user", "address"], name="mail_address_once"),
            models.UniqueConstraint(
                fields=["address"],
                name="mail_address_of_one_account",
                condition=Q(verified__isnull=False),
            ),
        ]


class Mail(models.Model):
    """A mail that came in, once, and what became of it. Its message has the same id.

    `key` is one text for each mail, however often it is delivered: the Message-ID is its sender's
    word, and anybody may write somebody else's. Of mail that is refused or ignored there is no
    text: the row says that it was seen. `text` is whole, with what it quotes, and goes with the
    message. `ids` are the Message-IDs that it answers, the closest first, `chain` those above it,
    the oldest first. `subject_key` is the subject as it is compared. `user` owns the conversation;
    the sender of an `external` mail is somebody else. The `first` mail of a thread began it.
    `files` are its uploads, None as long as nobody looked at them; `refused` are sentences about
    files that weren't taken. `answer_id` is the Message-ID of the answer, `answer` the id of its
    message, `outgoing` its bytes until it is sent: whatever interrupts the sending, the same mail
    is sent again. Besides the answer its sender is told everything in `language`; None: the site's.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    key = models.CharField(max_length=64, unique=True)
    message_id = models.CharField(max_length=255, db_index=True)
    sender = models.CharField(max_length=254, blank=True, default="")
    subject = models.CharField(max_length=200, blank=True, default="")
    subject_key = models.CharField(max_length=200, blank=True, default="")
    text = models.TextField(blank=True, default="")
    ids = models.JSONField(default=list, blank=True)
    chain = models.JSONField(default=list, blank=True)
    state = models.CharField(max_length=13, choices=STATES)
    external = models.BooleanField(default=False)
    first = models.BooleanField(default=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    conversation = models.ForeignKey(
        "conversations.Conversation",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="mails",
    )
    files = models.JSONField(null=True, blank=True)
    refused = models.JSONField(default=list, blank=True)
    outgoing = models.BinaryField(null=True, blank=True)
    answer_id = models.CharField(max_length=255, blank=True, default="")
    answer = models.UUIDField(null=True, blank=True)
    received = models.DateTimeField(db_index=True)
    ended = models.DateTimeField(null=True, blank=True)
    language = models.CharField(max_length=10, null=True, blank=True)

    class Meta:
        db_table = "conversations_mail"
        indexes = [
            models.Index(
                fields=["received"],
                name="mail_unfinished",
                condition=Q(state__in=UNFINISHED),
            ),
            models.Index(fields=["answer_id"], name="mail_answer_id", condition=~Q(answer_id="")),
            models.Index(fields=["sender", "received"], name="mail_of_sender"),
            models.Index(fields=["conversation", "ended"], name="mail_of_thread"),
        ]

    def __str__(self) -> str:
        """Without sender and subject, which are a person's."""
        return f"mail {self.id} ({self.state})"

    @property
    def thread(self) -> str:
        """The id of the mail's conversation; "" stands for none."""
        return str(self.conversation_id or "")


class Mailbox(models.Model):
    """How far a mailbox was read; `validity` names the server's numbering (UIDVALIDITY)."""

    name = models.CharField(max_length=255, primary_key=True)
    validity = models.PositiveBigIntegerField()
    last = models.PositiveBigIntegerField()

    class Meta:
        db_table = "conversations_mailbox"

    def __str__(self) -> str:
        return self.name
