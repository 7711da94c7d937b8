"""The tasks that keep everything in order while the server runs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import astuple, replace
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from chatsite.accounts.guests import expire_guests, remove_old_sessions, strays
from chatsite.accounts.removal import remove_lost_sessions
from chatsite.conversations.lifecycle import move_to_account
from chatsite.conversations.purge import purge_conversations, purge_files
from chatsite.conversations.search.word_indexing import index_words, words_waiting
from chatsite.conversations.versions.deletions import purge_messages
from chatsite.storage import flush_write_log
from chatsite.wiring.clock import JUMP, follow_clock

logger = logging.getLogger("chatsite")
PURGE_SECONDS = 3_600.0
CLOCK_SECONDS = 1.0
NOTE_SECONDS = 60.0
FLUSH_SECONDS = 5.0
INDEX_SECONDS = 5.0
STRAYS_SECONDS = 5.0


class Maintenance:
    """The tasks of the running server. `sweep` removes leftover files beside the database."""

    def __init__(self, sweep: Callable[[], Awaitable[None]]) -> None:
        self.sweep = sweep
        self._tasks: list[asyncio.Task[None]] = []
        self._ahead = self._look_at = 0.0  # of the clock before the process's own time

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(_repeat(self.follow_clock, CLOCK_SECONDS)),
            asyncio.create_task(_repeat(self.flush_write_log, FLUSH_SECONDS)),
            asyncio.create_task(_repeat(self.move_strays, STRAYS_SECONDS)),
            asyncio.create_task(_repeat(self.purge, PURGE_SECONDS)),
            asyncio.create_task(_repeat(self.index_words, INDEX_SECONDS)),
        ]

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def flush_write_log(self) -> None:
        await flush_write_log()

    async def index_words(self) -> None:
        """Make the titles and messages of meanwhile searchable. The next ones wait for the next
        time: few at once cost more each."""
        more = await words_waiting()
        while more:
            began = time.monotonic()
            more = await index_words()
            # Half of the time belongs to the others.
            await asyncio.sleep(time.monotonic() - began)

    async def follow_clock(self) -> None:
        """Look every second whether the clock has jumped, before a session seems to be over, and
        note the time every minute."""
        ahead = timezone.now().timestamp() - time.monotonic()
        jumped = abs(ahead - self._ahead) > JUMP.total_seconds()
        if jumped or time.monotonic() >= self._look_at:
            self._ahead, self._look_at = ahead, time.monotonic() + NOTE_SECONDS
            await follow_clock()

    async def move_strays(self) -> None:
        """What a turn, an import or an upload of a guest stored while they signed in."""
        for guest, user in await strays():
            await move_to_account(guest=guest, user=user)

    async def purge(self) -> None:
        now = await follow_clock()
        if settings.GUEST_DAYS:
            gone = await expire_guests(before=now - timedelta(days=settings.GUEST_DAYS))
            if gone:
                logger.info("Guests who expired: %d", gone)
        await remove_old_sessions(now=now)
        conversations = await purge_conversations(now=now)
        messages = await purge_messages(now=now)
        files = await purge_files(now=now)
        purged = replace(files, conversations=conversations, messages=messages)
        if any(astuple(purged)):
            logger.info("Removed for good: %s", purged)
        await remove_lost_sessions()
        await self.sweep()


async def _repeat(work: Callable[[], Awaitable[None]], seconds: float) -> None:
    """Every `seconds`, also after an error."""
    while True:
        try:
            await work()
        except Exception:
            logger.exception("the store couldn't be kept in order")
        await asyncio.sleep(seconds)
