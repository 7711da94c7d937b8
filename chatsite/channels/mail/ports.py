"""What the mail channel needs of storage; `conversations.store` is one, and `wiring` fills it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from chatsite.conversations.values.mail_records import (
    ComingMail,
    MailboxPlace,
    MailState,
    OwnThreads,
    TakenMail,
)
from chatsite.files.intake import ReceivedFile
from chatsite.messages import Attachment
from chatsite.turns.context.turn_context import PageRequest


class MailRows(Protocol):
    """Units of work about mails."""

    def mailbox_place(self, *, name: str) -> MailboxPlace | None: ...
    def save_mailbox_place(self, *, name: str, place: MailboxPlace) -> None: ...
    def mailbox_account(self, *, address: str) -> int: ...
    def address_owner(self, *, address: str) -> int | None: ...
    def is_known_mail(self, *, key: str) -> bool: ...
    def own_threads(
        self,
        *,
        user: int,
        sender: str,
        external: bool,
        ids: tuple[str, ...],
        subject_key: str,
        since: datetime,
    ) -> OwnThreads: ...
    def record_mail(self, mail: ComingMail, *, state: MailState) -> bool: ...
    def hold_mail(self, mail: ComingMail, *, note: str) -> str: ...
    def take_mail(
        self,
        mail: ComingMail,
        *,
        user: int,
        agent: str,
        external: bool,
        conversation: str | None,
    ) -> TakenMail | None: ...
    def take_notice(
        self, mail: ComingMail, *, outgoing: bytes, answer_id: str
    ) -> TakenMail | None: ...
    def unfinished_mails(self) -> list[TakenMail]: ...
    def unfinished_mail(self, *, mail: str) -> TakenMail | None: ...
    def answers_of_hour(self, *, conversation: str) -> int: ...
    def notices_to(self, *, sender: str, within: timedelta) -> int: ...
    def thread_has_file(self, *, conversation: str, data: bytes) -> bool: ...
    def thread_texts(self, *, conversation: str, besides: str) -> Sequence[str]: ...
    def replied_message(self, *, conversation: str, ids: Sequence[str]) -> str | None: ...
    def keep_mail_files(
        self, *, mail: str, files: Sequence[str], refused: Sequence[str]
    ) -> None: ...
    def leave_unanswered(
        self, *, mail: str, conversation: str, text: str, speaker: str
    ) -> None: ...
    def begin_sending(
        self, *, mail: str, outgoing: bytes, answer_id: str, answer: str
    ) -> bytes: ...
    def finish_mail(self, *, mail: str, state: MailState) -> None: ...


class MailUploads(Protocol):
    """Units of work about the files of an account."""

    def require_quota(self, owner: Any, *, size: int) -> None: ...
    def store_upload(self, owner: Any, *, name: str, taken: ReceivedFile) -> Attachment: ...


class Ask(Protocol):
    """Makes the request of an account in one of its conversations, with its rights."""

    def __call__(self, *, user: int, conversation: str, agent: str) -> PageRequest: ...
