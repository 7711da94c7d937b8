"""Stores a mail that came in, once: as somebody's question, or as what it is instead."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from django.conf import settings

from chatsite.channels.channel import Trouble
from chatsite.files.folder import Folder, opened
from chatsite.files.intake import KEPT_FREE
from chatsite.language import language_of, speak
from chatsite.mail.account import MailAccount
from chatsite.mail.addresses import address_owner
from chatsite.mail.answers import notices_to
from chatsite.mail.incoming.admission import Admission, Kind, admit
from chatsite.mail.incoming.authentication import own_results
from chatsite.mail.incoming.contents_reader import ContentsReader, UnreadableMail
from chatsite.mail.incoming.reading import (
    BROKEN,
    MailHead,
    answered_ids,
    read_head,
    subject_key,
)
from chatsite.mail.mails import (
    hold_mail,
    is_known_mail,
    mailbox_account,
    own_thread,
    record_mail,
    take_mail,
    take_notice,
)
from chatsite.mail.models import Mail
from chatsite.mail.outgoing.replies import notice
from chatsite.wording import say

logger = logging.getLogger("chatsite.channels")
# Within this time somebody without a verified address is told only once how to verify it.
EXPLAINED_ONCE = timedelta(days=1)
# Strangers' mails end before people's own messages are refused for want of room.
STRANGERS_FREE = 2 * KEPT_FREE
# Characters, so that the room for held mails has place for 500 of the longest.
LONGEST_HELD = 100_000
# The language that somebody reads, and the one that they wrote in.
LANGUAGE_HEADERS = ("accept-language", "content-language")
# Fetches all bytes of a mail; None where it was moved or deleted meanwhile.
Fetch = Callable[[], Awaitable[bytes | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """`folder` holds the bytes of mails with files until these were looked at."""

    account: MailAccount
    folder: Folder
    reader: ContentsReader = field(default_factory=ContentsReader)
    _warned: set[str] = field(default_factory=set)

    async def take(self, head: bytes, *, size: int, fetch: Fetch) -> Mail | None:
        """Stores the mail that begins with `head`, and gives it back if somebody is to be answered;
        None stands also for a mail that was stored before. The other bytes are fetched only if
        they are to be read. A mail that can't be read or stored is refused: it would be fetched
        again, and hold up all others."""
        try:
            heading = await asyncio.to_thread(read_head, head)
            self._warn_of_two_verdicts(heading)
            return await self._admit(heading, size=size, fetch=fetch)
        except (*BROKEN, MemoryError, UnreadableMail) as error:
            logger.error("a mail is refused: it can't be read (%s)", type(error).__name__)
            digest = sha256(head).hexdigest()
            unreadable = Mail(key=digest, message_id=f"{digest}@unreadable")
            await record_mail(unreadable, state="refused")
            return None

    def _warn_of_two_verdicts(self, heading: MailHead) -> None:
        """Warns once: `mail_check` says how many mails it is."""
        name = self.account.authserv_id
        if name not in self._warned and len(own_results(heading, name)) > 1:
            self._warned.add(name)
            logger.warning(
                "a mail has two Authentication-Results headers of %s: if the mail server doesn't "
                "take out those that senders write, they are one setting away from being believed",
                name,
            )

    async def _admit(self, heading: MailHead, *, size: int, fetch: Fetch) -> Mail | None:
        user = await address_owner(address=heading.sender)
        admission = admit(heading, self.account, owned=user is not None, size=size)
        mail = _new_mail(heading, user if admission.kind == "account" else None)
        speak(mail.language or settings.LANGUAGE_CODE)
        if await is_known_mail(key=mail.key):
            return None
        if admission.kind not in ("account", "external", "hold"):
            return await self._refuse(mail, admission)
        free = await asyncio.to_thread(self.folder.free_bytes)
        if admission.kind != "account" and free < STRANGERS_FREE:
            return await self._refuse(mail, Admission("refuse", "the disk is nearly full"))
        if free < KEPT_FREE:
            raise Trouble("the disk is nearly full, so mails wait", seconds=60.0)
        data = await fetch()
        if data is None:
            return None
        contents = await self.reader.read(data)
        if contents.is_encrypted:
            # A stranger who waits for a decision is told nothing.
            kind: Kind = "refuse" if admission.kind == "hold" else "encrypted"
            return await self._refuse(mail, Admission(kind, "it is encrypted"))
        mail.text, has_files = contents.text, bool(contents.files)
        if admission.kind == "hold":
            return await self._hold(mail, admission, has_files=has_files)
        if admission.kind == "external":
            mail.external = True
            user = await mailbox_account(address=self.account.address)
        assert user is not None
        thread = await own_thread(mail, user=user)
        if has_files:
            # Before the row: a mail that is stored has its files.
            mail.files = None
            await asyncio.to_thread(_keep, self.folder, str(mail.id), data)
        is_new = await take_mail(mail, user=user, agent=self.account.agent, thread=thread)
        return mail if is_new else None

    async def _hold(self, mail: Mail, admission: Admission, *, has_files: bool) -> Mail | None:
        """Holds the beginning of the mail's text alone: strangers' files would fill the disk."""
        notes = [say("The files of this mail were not kept.")] if has_files else []
        if len(mail.text) > LONGEST_HELD:
            notes.append(say("The end of this mail was not kept: it is very long."))
            mail.text = mail.text[:LONGEST_HELD]
        if full := await hold_mail(mail, note=" ".join(notes)):
            return await self._refuse(mail, Admission("refuse", full))
        logger.info("mail from %s is held: %s", mail.sender, admission.why)
        return None

    async def _refuse(self, mail: Mail, admission: Admission) -> Mail | None:
        """Stores a mail that begins no conversation, and gives it back if its sender is told
        why."""
        if text := await self._notice(mail, admission):
            reply = notice(mail, text, own=self.account.address, now=datetime.now(UTC))
            is_new = await take_notice(mail, outgoing=reply.data, answer_id=reply.id)
            return mail if is_new else None
        ignored = admission.kind == "ignore"
        if await record_mail(mail, state="ignored" if ignored else "refused"):
            logger.info(
                "mail from %s is %s: %s",
                mail.sender or "nobody",
                "not answered" if ignored else "refused",
                admission.why,
            )
        return None

    async def _notice(self, mail: Mail, admission: Admission) -> str:
        """Writes what the sender is told; "" stands for nothing."""
        kind, account = admission.kind, self.account
        if kind in ("too_large", "encrypted"):
            within, most = timedelta(hours=1), account.hourly
        elif kind == "explain":
            within, most = EXPLAINED_ONCE, 1
        else:
            return ""
        if await notices_to(sender=mail.sender, within=within) >= most:
            return ""
        if kind == "too_large":
            return say(
                "Your mail is larger than {megabytes} MB, so it wasn't read.",
                megabytes=account.most_mb,
            )
        if kind == "encrypted":
            return say(
                "Your mail is encrypted or signed in a way that can't be read here (S/MIME or "
                "PGP). Send it again without that."
            )
        return say(
            "Your mail wasn't read: no account here uses the address {address} for mail. Sign "
            "in at {site}/accounts/, add the address there, and write again.",
            address=mail.sender,
            site=account.site,
        )


def _new_mail(heading: MailHead, user: int | None) -> Mail:
    """Makes the row of a mail. `user` is the account whose words the mail is; a Message-ID is
    believed of such mails alone, and a forged one can't take the place of a mail that comes
    later."""
    who = f"account {user}"
    if user is None:
        who = f"{heading.sender} {heading.date} {heading.subject}"
    return Mail(
        key=sha256(f"{heading.id} {who}".encode()).hexdigest(),
        message_id=heading.id,
        sender=heading.sender,
        subject=heading.subject,
        subject_key=subject_key(heading.subject),
        ids=list(answered_ids(heading)),
        chain=list(dict.fromkeys((*heading.chain, *heading.replied))),
        files=[],
        language=_language(heading),
    )


def _language(heading: MailHead) -> str:
    """The language that the sender's mail program names, as Outlook does, or the site's."""
    named = (name for each in LANGUAGE_HEADERS for name in heading.headers.get(each, ()))
    return language_of(next(named, ""))


def _keep(folder: Folder, id: str, data: bytes) -> None:
    path = folder.coming()
    with opened(path) as file:
        file.write(data)
    folder.keep(path, id)
