"""Stores a mail that came in, once: as somebody's question, or as what it is instead."""

from __future__ import annotations

import asyncio
import logging
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from chatsite.channels.mail.incoming.admission import Admission, admit
from chatsite.channels.mail.incoming.reading import ReadMail, read_mail
from chatsite.channels.mail.incoming.threads import (
    SAME_SUBJECT,
    answered_ids,
    chosen_thread,
    subject_key,
)
from chatsite.channels.mail.outgoing.replies import notice
from chatsite.channels.mail.ports import MailRows
from chatsite.conversations.values.mail_records import ComingMail, TakenMail
from chatsite.files.folder import Folder, opened
from chatsite.mail_account import MailAccount
from chatsite.turns.ports import WorkRunner
from chatsite.wording import say

logger = logging.getLogger("chatsite.channels")
# How often somebody without a verified address is told how to verify it.
EXPLAINED_ONCE = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """`folder` holds the bytes of mails with files until these were looked at."""

    account: MailAccount
    run: WorkRunner
    rows: MailRows
    folder: Folder

    async def take(self, data: bytes, *, too_large: bool) -> TakenMail | None:
        """The mail, where somebody is to be answered; None where it was stored before, too."""
        mail = await asyncio.to_thread(read_mail, data)
        if await self.run(self.rows.is_known_mail, message_id=mail.id):
            return None
        user = await self.run(self.rows.address_owner, address=mail.sender)
        admission = admit(mail, self.account, owned=user is not None, too_large=too_large)
        coming = _coming(mail)
        if admission.kind == "account" and user is not None:
            return await self._taken(coming, data, user=user, external=False)
        if admission.kind == "external":
            user = await self.run(self.rows.mailbox_account, address=self.account.address)
            return await self._taken(coming, data, user=user, external=True)
        if admission.kind == "hold":
            await self._held(coming, data, admission)
            return None
        return await self._without_conversation(coming, admission)

    async def _taken(
        self, coming: ComingMail, data: bytes, *, user: int, external: bool
    ) -> TakenMail | None:
        threads = await self.run(
            self.rows.own_threads,
            user=user,
            sender=coming.sender,
            external=external,
            ids=coming.ids,
            subject_key=coming.subject_key,
            since=datetime.now(UTC) - SAME_SUBJECT,
        )
        thread = chosen_thread(coming.ids, by_id=threads.by_id, by_subject=threads.by_subject)
        await self._keep_bytes(coming, data)
        return await self.run(
            self.rows.take_mail,
            coming,
            user=user,
            agent=self.account.agent,
            external=external,
            conversation=thread,
        )

    async def _held(self, coming: ComingMail, data: bytes, admission: Admission) -> None:
        await self._keep_bytes(coming, data)
        if await self.run(self.rows.hold_mail, coming):
            logger.info("mail from %s is held: %s", coming.sender, admission.why)

    async def _without_conversation(
        self, coming: ComingMail, admission: Admission
    ) -> TakenMail | None:
        text = await self._notice(coming, admission)
        if text:
            reply = notice(coming, text, own=self.account.address, now=datetime.now(UTC))
            return await self.run(
                self.rows.take_notice, coming, outgoing=reply.data, answer_id=reply.id
            )
        ignored = admission.kind == "ignore"
        if await self.run(self.rows.record_mail, coming, state="ignored" if ignored else "refused"):
            logger.info(
                "mail from %s is %s: %s",
                coming.sender or "nobody",
                "not answered" if ignored else "refused",
                admission.why,
            )
        return None

    async def _notice(self, coming: ComingMail, admission: Admission) -> str:
        """What the sender is told; "" for nothing."""
        if admission.kind == "too_large":
            if await self._told(coming, timedelta(hours=1)) < self.account.hourly:
                return say("Your mail is larger than 50 MB, so it wasn't read.")
        elif admission.kind == "explain" and not await self._told(coming, EXPLAINED_ONCE):
            return say(
                "Your mail wasn't read: no account here uses the address {address} for mail. Sign "
                "in at {site}/accounts/, add the address there, and write again.",
                address=coming.sender,
                site=self.account.site,
            )
        return ""

    async def _told(self, coming: ComingMail, within: timedelta) -> int:
        return await self.run(self.rows.notices_to, sender=coming.sender, within=within)

    async def _keep_bytes(self, coming: ComingMail, data: bytes) -> None:
        """Before the row: a mail that is stored has its files."""
        if coming.has_files:
            await asyncio.to_thread(_keep, self.folder, coming.id, data)


def _coming(mail: ReadMail) -> ComingMail:
    return ComingMail(
        id=str(uuid.uuid4()),
        message_id=mail.id,
        sender=mail.sender,
        subject=mail.subject,
        subject_key=subject_key(mail.subject),
        text=mail.text,
        ids=answered_ids(mail),
        chain=tuple(dict.fromkeys((*mail.chain, *mail.replied))),
        has_files=bool(mail.files),
    )


def _keep(folder: Folder, id: str, data: bytes) -> None:
    path = folder.coming()
    with opened(path) as file:
        file.write(data)
    folder.keep(path, id)
