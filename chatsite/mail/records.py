"""What is stored of mails, as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ComingMail:
    """A mail as it came in, under the id that it and its message will have. `key` is one text for
    each mail, however often it is delivered. `ids` are the
    Message-IDs that it answers, the closest first, `chain` those above it, the oldest first.
    `subject_key` is the subject as it is compared. `text` is whole, with what it quotes."""

    id: str
    key: str
    message_id: str
    sender: str
    subject: str
    subject_key: str
    text: str = field(repr=False)
    ids: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()
    has_files: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenMail:
    """A stored mail that isn't finished. `user` owns the conversation, which is held with `agent`;
    `external`: the sender is somebody else. `first`: it began the thread. `files` are its uploads,
    `refused` sentences about those that weren't taken; None as long as nobody looked at them.
    `outgoing` is the answer once it is made."""

    id: str
    message_id: str
    sender: str
    subject: str
    text: str = field(repr=False)
    ids: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()
    received: datetime
    user: int | None = None
    conversation: str = ""
    agent: str = ""
    external: bool = False
    first: bool = False
    files: tuple[str, ...] | None = None
    refused: tuple[str, ...] = ()
    outgoing: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnThreads:
    """Conversations of one sender alone: by the Message-IDs in them, and the newest one with the
    same subject."""

    by_id: Mapping[str, str]
    by_subject: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MailboxPlace:
    """How far a mailbox was read: the server's name for its numbering, and the last number."""

    validity: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountAddress:
    """An address of an account. Nothing is believed of it until it is `verified`."""

    id: int
    address: str
    verified: bool
