"""The engine's slots and the books of their cells: who gets which slot, and what is saved."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial

from chatsite.kv_cache.books import Book, CacheUse, Place
from chatsite.kv_cache.slots.lease import Lease
from chatsite.kv_cache.slots.sessions import Sessions
from chatsite.kv_cache.slots.slots import NOT_AVAILABLE, CacheView, SlotContents, SlotQueue
from chatsite.providers.embedded.client import ENGINE_ERRORS
from chatsite.providers.embedded.engine import SLOTS, Engine, RunningEngine

log = logging.getLogger("chatsite.engine")
WAITING = 16
# Who asks again within a second needs no file; writing one costs 20 MB for a thousand tokens.
QUIET_SECONDS = 1.0
CLOSE_SECONDS = 10.0
# Stores the places of a conversation's messages, and sends them to its pages.
StorePlaces = Callable[[str, Mapping[str, Place]], Awaitable[None]]


class Cache:
    """Keeps the books of one engine's slots. Without `sessions` nothing is saved."""

    def __init__(
        self,
        engine: Engine,
        *,
        sessions: Sessions | None = None,
        store_places: StorePlaces | None = None,
        waiting: int = WAITING,
        quiet: float = QUIET_SECONDS,
    ) -> None:
        self._engine = engine
        self._sessions = sessions
        self._store_places = store_places
        self.slots = SlotQueue(SLOTS, waiting=waiting)
        self._contents = [SlotContents() for _ in range(SLOTS)]
        self._leases: dict[int, Lease] = {}
        self._quiet = quiet
        self._save_timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.misses = 0

    def view(self, conversation: str) -> CacheView:
        running = self._engine.running
        additive = running is None or running.prompter is not None
        contents = self._find(conversation)
        book = contents.book if contents else None
        return CacheView(
            available=additive,
            note="" if additive else NOT_AVAILABLE,
            window=running.window if running else 0,
            used=len(book) if book else 0,
            place="slot" if book else "none",
            places=book.places if book else {},
            misses=self.misses,
        )

    def _find(self, conversation: str) -> SlotContents | None:
        return next((each for each in self._contents if self._owns(each, conversation)), None)

    def _owns(self, contents: SlotContents, conversation: str) -> bool:
        running = self._engine.running
        if running is None or contents.running is not running:
            return False
        return contents.owner == conversation

    # ---- requests ------------------------------------------------------------------------------
    @asynccontextmanager
    async def hold(self, conversation: str) -> AsyncIterator[Lease]:
        """Hold a slot for one request. Raises ProviderError where the queue is full or the engine
        isn't ready. A cancelled request keeps its slot until the engine has stopped with it."""
        self._cancel_save(conversation)
        slot = await self.slots.take(conversation)
        try:
            lease = self._lease(slot, conversation, await self._engine.ready())
        except BaseException:
            self.slots.give_back(slot, self._contents[slot].owner)
            raise
        try:
            yield lease
        finally:
            if lease.pending is None:
                self._give_back(lease)
            else:
                self._start(self._settle_cancelled(lease))

    def _lease(
        self, slot: int, conversation: str, running: RunningEngine, *, background: bool = False
    ) -> Lease:
        contents = self._contents[slot]
        if contents.running is not running:  # another process: its slots are unknown
            contents = self._contents[slot] = SlotContents(running, book=None)
        lease = self._leases[slot] = Lease(
            slot=slot,
            conversation=conversation,
            contents=contents,
            sessions=self._sessions,
            running=running,
            background=background,
        )
        return lease

    async def settle(self, lease: Lease) -> None:
        """Update and store the conversation's book after a request, also a cancelled one."""
        try:
            await lease.settle()
        except Exception as error:  # a connection that breaks here raises whatever it likes
            log.info("slot %s is given up: %s", lease.slot, type(error).__name__)
            return
        lease.release()
        await self._store_book(lease.conversation, lease.contents)

    async def _settle_cancelled(self, lease: Lease) -> None:
        try:
            await self.settle(lease)
        finally:
            self._give_back(lease)

    async def _store_book(self, conversation: str, contents: SlotContents) -> None:
        """Store the places in a book. An answer isn't lost because that fails."""
        if contents.book is None or self._store_places is None:
            return
        try:
            await self._store_places(conversation, contents.book.places)
        except Exception:
            log.exception("the books of a conversation couldn't be written")

    def _give_back(self, lease: Lease) -> None:
        lease.release()
        del self._leases[lease.slot]
        # A request that failed early may have left the slot to its former owner.
        owner = lease.contents.owner
        self.slots.give_back(lease.slot, owner)
        if self._sessions is not None and not lease.contents.saved:
            self._cancel_save(owner)
            loop = asyncio.get_running_loop()
            self._save_timers[owner] = loop.call_later(self._quiet, self._save_now, owner)

    def count_miss(self, lease: Lease, account: CacheUse) -> None:
        """Count and log where the engine didn't reuse what the book predicted."""
        if account.agrees:
            return
        self.misses += 1
        log.warning(
            "slot %s: %s tokens were expected to be reused, the engine reused %s",
            lease.slot,
            account.expected,
            account.reused,
        )

    # ---- forgetting ----------------------------------------------------------------------------
    def forget(self, conversation: str) -> None:
        """Save nothing of the conversation's slot any more, because words of it were deleted; the
        next request on that slot starts over."""
        self._cancel_save(conversation)
        for lease in self._leases.values():
            lease.forgotten |= lease.conversation == conversation
        for contents in self._contents:
            if contents.owner == conversation:
                contents.put(conversation, None)  # for `erase` to find it

    async def drop(self, conversation: str) -> None:
        """Reuse nothing that the conversation read before, neither a slot nor a saved session."""
        self.forget(conversation)
        if self._sessions is not None:
            await self._sessions.forget([conversation])

    async def erase(self, conversation: str) -> None:
        """Drop it, and have the engine forget what its slot holds of it."""
        await self._in_own_slot(conversation, Lease.erase)
        await self.drop(conversation)

    # ---- in the background ---------------------------------------------------------------------
    def _cancel_save(self, conversation: str) -> None:
        """Don't save what the slot of a conversation holds that asks again."""
        timer = self._save_timers.pop(conversation, None)
        if timer is not None:
            timer.cancel()

    def _save_now(self, conversation: str) -> None:
        self._save_timers.pop(conversation, None)
        self._start(self._in_own_slot(conversation, Lease.save))

    def can_trim(self, conversation: str) -> bool:
        """Return whether cells could be cut out of the conversation's slot and be restored
        later."""
        running = self._engine.running
        if self._sessions is None or running is None or running.prompter is None:
            return False
        trimming = self._leased_conversations(background=True)
        return self._find(conversation) is not None or conversation in trimming

    def trim(self, conversation: str, prompt: Book) -> None:
        """Cut out of the conversation's slot what its next request, which begins with `prompt`,
        won't have. Returns at once: shifting the other cells takes half a second, for which nobody
        waits now. Skipped while an answer runs, whose request was trimmed."""
        if conversation not in self._leased_conversations(background=False):
            self._start(self._in_own_slot(conversation, partial(self._trim_slot, prompt)))

    def _leased_conversations(self, *, background: bool) -> set[str]:
        leases = self._leases.values()
        return {lease.conversation for lease in leases if lease.background == background}

    async def _trim_slot(self, prompt: Book, lease: Lease) -> bool:
        account = await lease.trim(prompt)
        if account is not None:
            self.count_miss(lease, account)
        return account is not None

    async def _in_own_slot(
        self, conversation: str, work: Callable[[Lease], Awaitable[bool]]
    ) -> None:
        """Run `work` on the conversation's own slot, and store its book where that changed it. Does
        nothing where another conversation has taken the slot, which saved it before."""
        slot = await self.slots.take_own(conversation)
        if slot is None:
            return
        contents, running, changed = self._contents[slot], self._engine.running, False
        try:
            if running is not None and self._owns(contents, conversation):
                changed = await work(self._lease(slot, conversation, running, background=True))
        except ENGINE_ERRORS as error:
            log.info("slot %s isn't saved or trimmed: %s", slot, type(error).__name__)
        finally:
            if (lease := self._leases.pop(slot, None)) is not None:
                lease.release()
            self.slots.give_back(slot, conversation)
        if changed:
            await self._store_book(conversation, contents)

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Save what isn't saved, while the engine still runs; cancelled requests settle first."""
        await self._wait_for_tasks()
        for timer in self._save_timers.values():
            timer.cancel()
        self._save_timers.clear()
        for contents in self._contents:
            if contents.owner and not contents.saved:
                self._start(self._in_own_slot(contents.owner, Lease.save))
        await self._wait_for_tasks()

    async def _wait_for_tasks(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_SECONDS)
