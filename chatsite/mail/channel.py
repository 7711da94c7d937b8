"""The channel "mail": what comes into a mailbox is asked, and answered by mail."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import ParamSpec, TypeVar

from django.conf import settings

from chatsite.channels.channel import Answer, Question, Trouble
from chatsite.conversations.owners import Owner
from chatsite.errors import NotFound, TurnRunning
from chatsite.mail.account import MailAccount
from chatsite.mail.answers import (
    answers_of_hour,
    begin_sending,
    finish_mail,
    leave_unanswered,
    replied_message,
    thread_texts,
)
from chatsite.mail.arrivals import Arrivals
from chatsite.mail.attached import AttachedFiles
from chatsite.mail.incoming.quotes.marks import Held
from chatsite.mail.incoming.quotes.quoted import own_words
from chatsite.mail.mailbox import IDLE_SECONDS, POLL_SECONDS, OpenMailbox
from chatsite.mail.mails import (
    mailbox_place,
    save_mailbox_place,
    unfinished_mail,
    unfinished_mails,
)
from chatsite.mail.models import Mail
from chatsite.mail.outgoing.replies import answer_reply, remembered_words
from chatsite.mail.outgoing.sending import Undeliverable, send
from chatsite.turns.context.turn_context import PageRequest

logger = logging.getLogger("chatsite.channels")
P = ParamSpec("P")
T = TypeVar("T")
# How soon a mail is answered that an administrator releases.
RELEASED_SECONDS = 2.0
# Somebody writes in the page of the thread at this moment.
BUSY_SECONDS = 5.0


@dataclass(slots=True, kw_only=True)
class MailChannel:
    """A `Channel` of `Mail`; lives as long as the server. `ask` makes the request of an `owner` in
    their `conversation` with an `agent`."""

    account: MailAccount
    arrivals: Arrivals
    attached: AttachedFiles
    ask: Callable[..., PageRequest]
    poll_seconds: float = POLL_SECONDS
    _given: set[uuid.UUID] = field(default_factory=set)
    _thread: ThreadPoolExecutor | None = None

    @property
    def name(self) -> str:
        return "mail"

    def key(self, mail: Mail) -> str:
        return str(mail.id)

    def language(self, mail: Mail) -> str:
        return mail.language or settings.LANGUAGE_CODE

    def place(self, mail: Mail) -> str:
        return mail.thread or f"to {mail.sender}"

    # ---- receiving ---------------------------------------------------------------------------
    async def receive(self) -> AsyncIterator[Mail]:
        self._given.clear()
        for mail in await self._unfinished():
            yield mail
        box = OpenMailbox(self.account)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mailbox")
        try:
            await self._on_thread(box.open)
            while True:
                async for mail in self._new(box):
                    yield mail
                async for mail in self._waited(box):
                    yield mail
        finally:
            box.interrupt()
            self._thread.submit(box.close)
            self._thread.shutdown(wait=False)

    async def _unfinished(self) -> list[Mail]:
        """Lists the mails that weren't given yet."""
        mails = await unfinished_mails()
        found = [mail for mail in mails if mail.id not in self._given]
        self._given.update(mail.id for mail in found)
        return found

    async def _new(self, box: OpenMailbox) -> AsyncIterator[Mail]:
        """Gives what is new in the mailbox. How far the mailbox was read is stored behind each
        mail; in the first reading at its end, since the unseen ones may be anywhere."""
        name = f"{self.account.imap.user}@{self.account.imap.host}/{self.account.folder}"
        validity = await self._on_thread(box.validity)
        place = await mailbox_place(name=name)
        last = place.last if place is not None and place.validity == validity else None
        sizes = await self._on_thread(box.new, last)
        newest = max(sizes, default=0)
        for number, size in sizes.items():
            head = await self._on_thread(box.fetch_head, number)
            mail = None
            if head is not None:
                fetch = partial(self._on_thread, box.fetch, number)
                mail = await self.arrivals.take(head, size=size, fetch=fetch)
                await self._on_thread(box.mark_seen, number)
            if last is not None or number == newest:
                await save_mailbox_place(name=name, validity=validity, last=number)
            if mail is not None:
                self._given.add(mail.id)
                yield mail

    async def _waited(self, box: OpenMailbox) -> AsyncIterator[Mail]:
        """Waits until the mailbox may have something new. Meanwhile this gives the mails that an
        administrator releases."""
        wait = self._on_thread(box.wait, IDLE_SECONDS) if box.tells else self._poll(box)
        waiting = asyncio.ensure_future(wait)
        holds = self.account.strangers == "hold"
        try:
            while not waiting.done():
                await asyncio.wait({waiting}, timeout=RELEASED_SECONDS if holds else None)
                for mail in await self._unfinished() if holds else ():
                    yield mail
            await waiting
        finally:
            waiting.cancel()

    async def _poll(self, box: OpenMailbox) -> None:
        await asyncio.sleep(self.poll_seconds)
        await self._on_thread(box.ask)

    async def _on_thread(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: work(*args, **kwargs))

    # ---- asking ------------------------------------------------------------------------------
    async def who(self, mail: Mail) -> Question | None:
        current = await unfinished_mail(mail=mail.id)
        if current is None:
            return None
        if current.outgoing is not None:
            await self._send(current, bytes(current.outgoing))
            return None
        user, conversation = current.user_id, current.conversation
        if user is None or conversation is None or await self._is_over(current):
            return None
        owner = Owner(user=user)
        files = await self.attached.of(current, owner)
        return Question(
            request=self.ask(owner=owner, conversation=current.thread, agent=conversation.agent),
            client_id=str(current.id),
            text=asked_text(current, await self._words(current)),
            source="email",
            speaker=speaker_of(current),
            id=str(current.id),
            reply_to=await replied_message(current),
            attachments=files,
            person=f"mail:{current.sender}" if current.external else "",
        )

    async def _words(self, mail: Mail) -> str:
        """Gives what the sender wrote, without what the conversation holds already."""
        texts = await thread_texts(mail)
        footer = (f"{self.account.site}/chat/{mail.thread}", remembered_words())
        return await asyncio.to_thread(
            lambda: own_words(mail.text, Held(texts, footer=footer), subject=mail.subject)
        )

    async def _is_over(self, mail: Mail) -> bool:
        """Tells whether the thread has got its hour's answers: two robots would go on for ever."""
        count = await answers_of_hour(mail)
        if count < self.account.hourly:
            return False
        try:
            text = asked_text(mail, await self._words(mail)) or mail.subject or "-"
            await leave_unanswered(mail, text=text, speaker=speaker_of(mail))
        except TurnRunning:
            raise Trouble("a mail's thread is busy", seconds=BUSY_SECONDS) from None
        except NotFound:
            return True
        logger.info(
            "mail from %s is not answered: its thread has had %d answers within an hour",
            mail.sender,
            count,
        )
        return True

    async def acknowledge(self, mail: Mail, turn: str) -> None:
        """Nobody waits in front of a mailbox: a second mail would only be a nuisance."""

    # ---- answering ---------------------------------------------------------------------------
    async def say(self, mail: Mail, answer: Answer) -> None:
        current = await unfinished_mail(mail=mail.id)
        if current is None:
            return  # the thread was deleted
        reply = await asyncio.to_thread(
            answer_reply,
            current,
            answer,
            words=await self._words(current),
            own=self.account.address,
            site=self.account.site,
            now=datetime.now(UTC),
        )
        data = await begin_sending(
            mail=mail.id, outgoing=reply.data, answer_id=reply.id, answer=answer.message
        )
        await self._send(current, data)

    async def _send(self, mail: Mail, data: bytes) -> None:
        try:
            await send(self.account.smtp, data, sender=self.account.address, to=mail.sender)
        except Undeliverable as error:
            logger.warning("mail: the answer to %s isn't taken: %s", mail.sender, error.message)
            await finish_mail(mail=mail.id, state="undeliverable")
        else:
            await finish_mail(mail=mail.id, state="answered")

    async def close(self) -> None:
        if self._thread is not None:
            await asyncio.to_thread(self._thread.shutdown)


def asked_text(mail: Mail, words: str) -> str:
    """Writes what the model reads: a thread's first mail has its subject, which may be the
    question."""
    head = f"Subject: {mail.subject}" if mail.first and mail.subject else ""
    return "\n\n".join(part for part in (head, words) if part)


def speaker_of(mail: Mail) -> str:
    """Names an external sender; "" stands for the conversation's owner."""
    return f"External sender <{mail.sender}>" if mail.external else ""
