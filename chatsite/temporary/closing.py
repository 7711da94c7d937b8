"""Closes temporary chats: when they are left, when nobody has had them open for a while, and at the
server's start and end.

A chat is open as long as a page of some server shows it. A server that isn't alone says so in the
rows, every few seconds; the one that leads erases a chat whose row stands still. Only the process's
own time counts, so that a clock that jumps closes nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress

from django.conf import settings

from chatsite.cluster.presence import Presence
from chatsite.conversations.files.uploads import upload_store
from chatsite.conversations.owners import Owner
from chatsite.conversations.traces import forget_deleted_words, is_small, rewrite_database
from chatsite.errors import NotFound, Refused
from chatsite.events import Deleted
from chatsite.storage import empty_write_log
from chatsite.temporary.chats import TemporaryChat, erase_chat, temporary_chats, touch_chats
from chatsite.turns.answer.feed import ConversationFeeds
from chatsite.turns.turns import Turns

logger = logging.getLogger("chatsite.temporary")
# A reload takes a second, a train's tunnel a few.
GRACE_SECONDS = 30.0
# After its last use, however long a page shows it.
MOST_SECONDS = 24 * 3600.0
LOOK_SECONDS = 5.0
STOP_SECONDS = 10.0
# Removing traces takes at most this share of the time, one of so many.
REST = 20
AGAIN_SECONDS = 0.5


class TemporaryChats:
    """One object for the server. `forget` drops what its memory and the engine hold of a chat."""

    def __init__(
        self,
        *,
        turns: Turns,
        feeds: ConversationFeeds,
        presence: Presence,
        forget: Callable[[str], Awaitable[None]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._turns = turns
        self._feeds = feeds
        self._presence = presence
        self._forget = forget
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        # By conversation: when this server saw a use of it, and its mark with when that was new.
        self._used: dict[str, float] = {}
        self._seen: dict[tuple[str, Owner], tuple[str, float]] = {}
        self._traces = asyncio.Event()
        self._words = False
        self._tasks: set[asyncio.Task[None]] = set()

    # ---- while the server runs ---------------------------------------------------------------
    async def start(self) -> None:
        """Erase what an earlier server left, before anybody can open it."""
        if self._presence.is_alone:
            await self.close_all()
        self._begin(self._keep_looking())
        self._begin(self._keep_cleaning())

    async def stop(self) -> None:
        """Erase all of them, and all traces, where no other server goes on with them."""
        if not self._tasks:
            return  # a command stops what it never started
        for task in self._tasks:
            task.cancel()
        if self._presence.is_alone:
            await self.close_all()
        if self._traces.is_set():
            await self._clean()

    def use(self, conversation: str) -> None:
        """Note that somebody opened it, or wrote there."""
        self._used[conversation] = self._clock()

    def erased(self) -> None:
        """Have the traces removed of ordinary chats or messages that were deleted for good."""
        self._words = True
        self._traces.set()

    def signed_out(self, owner: Owner) -> None:
        """Close all of an owner's; may be called from any thread."""
        self._loop.call_soon_threadsafe(lambda: self._begin(self.close_all(owner)))

    # ---- closing -----------------------------------------------------------------------------
    async def close_all(self, owner: Owner | None = None) -> None:
        for chat in await temporary_chats():
            if owner is None or chat.owner == owner:
                await self.close(chat.owner, chat.id)

    async def close(self, owner: Owner, conversation: str) -> None:
        """Stop what is being written, and erase the chat at once: rows, files, memory. Its traces
        follow, a moment later."""
        with suppress(NotFound, TimeoutError):
            await self._turns.stop(owner, conversation)
            async with asyncio.timeout(STOP_SECONDS):
                await self._turns.idle(conversation)
        erased = await erase_chat(owner=owner, conversation=conversation)
        if settings.FILES_BUCKET:
            await asyncio.to_thread(_remove_from_bucket, erased.files)
        if erased.begun:
            await self._forget(conversation)
            self._feeds.publish(conversation, Deleted())
        if erased.begun or erased.files:
            self._traces.set()

    # ---- looking -----------------------------------------------------------------------------
    async def _keep_looking(self) -> None:
        while True:
            try:
                await self.look()
            except Exception:
                logger.exception("temporary chats couldn't be looked after")
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Close what nobody has had open for so long."""
        now, chats = self._clock(), await temporary_chats()
        opened = {chat.id for chat in chats if self._is_open(chat.id, now)}
        if opened and not self._presence.is_alone:
            await touch_chats(ids=opened)
        before, self._seen = self._seen, {}
        for chat in chats:
            mark, since = before.get((chat.id, chat.owner), ("", now))
            moves = chat.id in opened or mark != chat.mark
            self._seen[chat.id, chat.owner] = chat.mark, now if moves else since
        ids = {chat.id for chat in chats}
        self._used = {id: at for id, at in self._used.items() if id in ids}
        if self._presence.leads.is_set():
            for chat in chats:
                if now - self._seen[chat.id, chat.owner][1] >= GRACE_SECONDS:
                    await self._close_lost(chat)

    def _is_open(self, conversation: str, now: float) -> bool:
        used = self._used.setdefault(conversation, now)
        return self._feeds.is_open(conversation) and now - used < MOST_SECONDS

    async def _close_lost(self, chat: TemporaryChat) -> None:
        logger.info("A temporary chat that nobody has open is erased.")
        await self.close(chat.owner, chat.id)

    # ---- traces ------------------------------------------------------------------------------
    async def _keep_cleaning(self) -> None:
        while True:
            await self._traces.wait()
            began = time.monotonic()
            try:
                await self._clean()
            except Exception:
                logger.exception("traces of what was deleted couldn't be removed yet")
                self._traces.set()
            await asyncio.sleep(max(AGAIN_SECONDS, REST * (time.monotonic() - began)))

    async def _clean(self) -> None:
        self._traces.clear()
        words, self._words = self._words, False
        if await asyncio.to_thread(is_small):
            if words:
                await forget_deleted_words()
            await rewrite_database()
        if not await empty_write_log():  # somebody reads it
            self._traces.set()

    def _begin(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _remove_from_bucket(files: Collection[str]) -> None:
    with suppress(Refused):  # it is away, as the log says: the purge finds files without a row
        for file in files:
            upload_store().remove(file)
