"""Stores a mail that came in, once: as somebody's question, or as what it is instead."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from chatsite.channels.channel import Trouble
from chatsite.files.folder import Folder, opened
from chatsite.files.intake import KEPT_FREE
from chatsite.mail.account import MailAccount
from chatsite.mail.addresses import address_owner
from chatsite.mail.answers import notices_to
from chatsite.mail.incoming.admission import Admission, Kind, admit
from chatsite.mail.incoming.authentication import own_results
from chatsite.mail.incoming.contents_reader import ContentsReader, Unreadable
from chatsite.mail.incoming.reading import (
    BROKEN,
    SAME_SUBJECT,
    MailHead,
    answered_ids,
    chosen_thread,
    read_head,
    subject_key,
)
from chatsite.mail.mails import (
    hold_mail,
    is_known_mail,
    mailbox_account,
    own_threads,
    record_mail,
    take_mail,
    take_notice,
)
from chatsite.mail.outgoing.replies import notice
from chatsite.mail.records import ComingMail, TakenMail
from chatsite.wording import say

logger = logging.getLogger("chatsite.channels")
# How often somebody without a verified address is told how to verify it.
EXPLAINED_ONCE = timedelta(days=1)
# Strangers' mails end before people's own messages are refused for want of room.
STRANGERS_FREE = 2 * KEPT_FREE
# Characters, so that the room for held mails has place for 500 of the longest.
LONGEST_HELD = 100_000
# Fetches all bytes of a mail; None where it was moved or deleted meanwhile.
Fetch = Callable[[], Awaitable[bytes | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """`folder` holds the bytes of mails with files until these were looked at."""

    account: MailAccount
    folder: Folder
    reader: ContentsReader = field(default_factory=ContentsReader)
    _said: set[str] = field(default_factory=set)

    async def take(self, head: bytes, *, size: int, fetch: Fetch) -> TakenMail | None:
        """The mail that begins with `head`, where somebody is to be answered; None where it was
        stored before, too. Its other bytes are fetched only if they are to be read. A mail that
        can't be read or stored is refused: it would be fetched again, and hold up all others."""
        try:
            mail = await asyncio.to_thread(read_head, head)
            self._warn_of_two_verdicts(mail)
            return await self._admitted(mail, size=size, fetch=fetch)
        except (*BROKEN, MemoryError, Unreadable) as error:
            logger.error("a mail is refused: it can't be read (%s)", type(error).__name__)
            digest = sha256(head).hexdigest()
            await record_mail(_unreadable(digest), state="refused")
            return None

    def _warn_of_two_verdicts(self, mail: MailHead) -> None:
        """Once: `mail_check` says how many mails it is."""
        name = self.account.authserv_id
        if name not in self._said and len(own_results(mail, name)) > 1:
            self._said.add(name)
            logger.warning(
                "a mail has two Authentication-Results headers of %s: if the mail server doesn't "
                "take out those that senders write, they are one setting away from being believed",
                name,
            )

    async def _admitted(self, mail: MailHead, *, size: int, fetch: Fetch) -> TakenMail | None:
        user = await address_owner(address=mail.sender)
        admission = admit(mail, self.account, owned=user is not None, size=size)
        coming = _coming(mail, user if admission.kind == "account" else None)
        if await is_known_mail(key=coming.key):
            return None
        if admission.kind not in ("account", "external", "hold"):
            return await self._without_conversation(coming, admission)
        free = await asyncio.to_thread(self.folder.free_bytes)
        if admission.kind != "account" and free < STRANGERS_FREE:
            return await self._without_conversation(
                coming, Admission("refuse", "the disk is nearly full")
            )
        if free < KEPT_FREE:
            raise Trouble("the disk is nearly full, so mails wait", seconds=60.0)
        data = await fetch()
        if data is None:
            return None
        contents = await self.reader.read(data)
        if contents.is_encrypted:
            # A stranger who waits for a decision is told nothing.
            kind: Kind = "refuse" if admission.kind == "hold" else "encrypted"
            return await self._without_conversation(coming, Admission(kind, "it is encrypted"))
        coming = replace(coming, text=contents.text, has_files=bool(contents.files))
        if admission.kind == "hold":
            await self._held(coming, admission)
            return None
        if admission.kind == "external":
            user = await mailbox_account(address=self.account.address)
        assert user is not None
        return await self._taken(coming, data, user=user, external=admission.kind == "external")

    async def _taken(
        self, coming: ComingMail, data: bytes, *, user: int, external: bool
    ) -> TakenMail | None:
        threads = await own_threads(
            user=user,
            sender=coming.sender,
            external=external,
            ids=coming.ids,
            subject_key=coming.subject_key,
            since=datetime.now(UTC) - SAME_SUBJECT,
        )
        thread = chosen_thread(coming.ids, by_id=threads.by_id, by_subject=threads.by_subject)
        await self._keep_bytes(coming, data)
        return await take_mail(
            coming, user=user, agent=self.account.agent, external=external, conversation=thread
        )

    async def _held(self, coming: ComingMail, admission: Admission) -> None:
        """The beginning of its text alone: strangers' files would fill the disk."""
        notes = [say("The files of this mail were not kept.")] if coming.has_files else []
        if len(coming.text) > LONGEST_HELD:
            notes.append(say("The end of this mail was not kept: it is very long."))
        kept = replace(coming, text=coming.text[:LONGEST_HELD], has_files=False)
        full = await hold_mail(kept, note=" ".join(notes))
        if full:
            await self._without_conversation(coming, Admission("refuse", full))
        else:
            logger.info("mail from %s is held: %s", coming.sender, admission.why)

    async def _without_conversation(
        self, coming: ComingMail, admission: Admission
    ) -> TakenMail | None:
        text = await self._notice(coming, admission)
        if text:
            reply = notice(coming, text, own=self.account.address, now=datetime.now(UTC))
            return await take_notice(coming, outgoing=reply.data, answer_id=reply.id)
        ignored = admission.kind == "ignore"
        if await record_mail(coming, state="ignored" if ignored else "refused"):
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
                return say(
                    "Your mail is larger than {megabytes} MB, so it wasn't read.",
                    megabytes=self.account.most_mb,
                )
        elif admission.kind == "encrypted":
            if await self._told(coming, timedelta(hours=1)) < self.account.hourly:
                return say(
                    "Your mail is encrypted or signed in a way that can't be read here (S/MIME or "
                    "PGP). Send it again without that."
                )
        elif admission.kind == "explain" and not await self._told(coming, EXPLAINED_ONCE):
            return say(
                "Your mail wasn't read: no account here uses the address {address} for mail. Sign "
                "in at {site}/accounts/, add the address there, and write again.",
                address=coming.sender,
                site=self.account.site,
            )
        return ""

    async def _told(self, coming: ComingMail, within: timedelta) -> int:
        return await notices_to(sender=coming.sender, within=within)

    async def _keep_bytes(self, coming: ComingMail, data: bytes) -> None:
        """Before the row: a mail that is stored has its files."""
        if coming.has_files:
            await asyncio.to_thread(_keep, self.folder, coming.id, data)


def _coming(mail: MailHead, user: int | None) -> ComingMail:
    """`user` is the account whose words it is; a Message-ID is believed of such mails alone, and a
    forged one can't take the place of a mail that comes later."""
    whose = f"account {user}" if user is not None else f"{mail.sender} {mail.date} {mail.subject}"
    return ComingMail(
        id=str(uuid.uuid4()),
        key=sha256(f"{mail.id} {whose}".encode()).hexdigest(),
        message_id=mail.id,
        sender=mail.sender,
        subject=mail.subject,
        subject_key=subject_key(mail.subject),
        text="",
        ids=answered_ids(mail),
        chain=tuple(dict.fromkeys((*mail.chain, *mail.replied))),
    )


def _unreadable(digest: str) -> ComingMail:
    return ComingMail(
        id=str(uuid.uuid4()),
        key=digest,
        message_id=f"{digest}@unreadable",
        sender="",
        subject="",
        subject_key="",
        text="",
    )


def _keep(folder: Folder, id: str, data: bytes) -> None:
    path = folder.coming()
    with opened(path) as file:
        file.write(data)
    folder.keep(path, id)
