"""The engine's slots and what lies in each: who gets which, and what is saved before it goes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Literal

from chatsite.kv import Account, Book, Place
from chatsite.providers.embedded.cache.lease import Lease, SlotContents
from chatsite.providers.embedded.cache.sessions import Sessions
from chatsite.providers.embedded.cache.slots import SlotQueue
from chatsite.providers.embedded.client import ENGINE_ERRORS
from chatsite.providers.embedded.engine import SLOTS, Engine, RunningEngine

log = logging.getLogger("chatsite.engine")
WAITING = 16
# Who asks again within a second needs no file, and writing one costs 20 MB a thousand tokens.
QUIET_SECONDS = 1.0
CLOSE_SECONDS = 10.0
NOT_AVAILABLE = (
    "The KV cache's books are not available for this model: its chat template doesn't frame "
    "messages one by one."
)
# Writes a conversation's places down, and tells its pages.
StorePlaces = Callable[[str, Mapping[str, Place]], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheView:
    """What of a conversation lies in the engine now. `window` and `used` are in cells; `note` says
    why nothing is `available`, "" where it is. `misses` is how often the engine reused another
    number of tokens than the books said, since the server's start."""

    available: bool
    note: str
    window: int
    used: int
    place: Literal["slot", "none"]
    misses: int


class Cache:
    """Holds the books of one engine's slots. Without `sessions` nothing is saved."""

    def __init__(
        self,
        engine: Engine,
        *,
        sessions: Sessions | None = None,
        placed: StorePlaces | None = None,
        waiting: int = WAITING,
        quiet: float = QUIET_SECONDS,
    ) -> None:
        self._engine = engine
        self._sessions = sessions
        self._placed = placed
        self._slots = SlotQueue(SLOTS, waiting=waiting)
        self._held = [SlotContents() for _ in range(SLOTS)]
        self._leases: dict[int, Lease] = {}
        self._quiet = quiet
        self._later: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.misses = 0

    @property
    def slots(self) -> SlotQueue:
        return self._slots

    def view(self, conversation: str) -> CacheView:
        running = self._engine.running
        additive = running is None or running.prompter is not None
        held = self._of(conversation)
        return CacheView(
            available=additive,
            note="" if additive else NOT_AVAILABLE,
            window=running.window if running else 0,
            used=len(held.book) if held and held.book else 0,
            place="slot" if held and held.book else "none",
            misses=self.misses,
        )

    def _of(self, conversation: str) -> SlotContents | None:
        return next((one for one in self._held if self._owns(one, conversation)), None)

    def _owns(self, held: SlotContents, conversation: str) -> bool:
        running = self._engine.running
        return running is not None and held.running is running and held.owner == conversation

    @asynccontextmanager
    async def hold(self, conversation: str) -> AsyncIterator[Lease]:
        """A slot for one request. Raises ProviderError where the line is full or the engine isn't
        ready. A request that is broken off keeps the slot until the engine has stopped."""
        self._hurry(conversation)
        slot = await self._slots.take(conversation)
        try:
            lease = await self._lease(slot, conversation)
        except BaseException:
            self._slots.give_back(slot, self._held[slot].owner)
            raise
        try:
            yield lease
        finally:
            if lease.pending is None:
                self._give_back(lease)
            else:
                self._begin(self._end(lease))

    async def _lease(self, slot: int, conversation: str) -> Lease:
        running = await self._engine.ready()
        return self._leased(slot, conversation, running)

    def _leased(
        self, slot: int, conversation: str, running: RunningEngine, *, aside: bool = False
    ) -> Lease:
        held = self._held[slot]
        if held.running is not running:  # another engine knows nothing of what lay here
            held = self._held[slot] = SlotContents(running, book=None)
        lease = self._leases[slot] = Lease(
            slot=slot,
            conversation=conversation,
            held=held,
            sessions=self._sessions,
            running=running,
            aside=aside,
        )
        return lease

    async def settle(self, lease: Lease) -> None:
        """After a request, also one that was broken off: the books of its conversation."""
        try:
            await lease.settle()
        except ENGINE_ERRORS as error:
            log.info("slot %s is given up: %s", lease.slot, type(error).__name__)
            return
        lease.let_go()
        await self._tell(lease.conversation, lease.held)

    async def _end(self, lease: Lease) -> None:
        try:
            await self.settle(lease)
        finally:
            self._give_back(lease)

    async def _tell(self, conversation: str, held: SlotContents) -> None:
        """An answer isn't lost because its books can't be written."""
        if held.book is None or self._placed is None:
            return
        try:
            await self._placed(conversation, held.book.places)
        except Exception:
            log.exception("the books of a conversation couldn't be written")

    def _give_back(self, lease: Lease) -> None:
        lease.let_go()
        del self._leases[lease.slot]
        # A request that didn't come far may have left what lies there to whom it belonged.
        owner = lease.held.owner
        self._slots.give_back(lease.slot, owner)
        if self._sessions is not None and not lease.held.kept:
            self._hurry(owner)
            later = asyncio.get_running_loop().call_later(self._quiet, self._save_now, owner)
            self._later[owner] = later

    def forget(self, conversation: str) -> None:
        """What was said there was taken away: nothing of it is saved any more, and the next request
        on its slot begins with an empty one."""
        self._hurry(conversation)
        for lease in self._leases.values():
            lease.forgotten |= lease.conversation == conversation
        for held in self._held:
            if held.owner == conversation:
                held.put("", None)

    async def drop(self, conversation: str) -> None:
        """Nothing that was read there before is used again, from the slot or from the disk."""
        self.forget(conversation)
        if self._sessions is not None:
            await self._sessions.forget([conversation])

    def _hurry(self, conversation: str) -> None:
        """It is asked again: what it has now needn't be saved."""
        later = self._later.pop(conversation, None)
        if later is not None:
            later.cancel()

    def _save_now(self, conversation: str) -> None:
        self._later.pop(conversation, None)
        self._begin(self._save(conversation))

    async def _save(self, conversation: str) -> None:
        await self._aside(conversation, Lease.save)

    def can_trim(self, conversation: str) -> bool:
        """Whether it has a slot out of which something could be cut, and had again."""
        running = self._engine.running
        if self._sessions is None or running is None or running.prompter is None:
            return False
        return self._of(conversation) is not None or conversation in self._with_leases(aside=True)

    def trim(self, conversation: str, prompt: Book) -> None:
        """Before the conversation's next request, which will begin with `prompt`, cut out of its
        slot what that won't have; returns at once. To shift what stays takes half a second for
        which nobody waits now. What is being answered has been trimmed."""
        if conversation not in self._with_leases(aside=False):
            self._begin(self._aside(conversation, partial(self._trimmed, prompt)))

    def _with_leases(self, *, aside: bool) -> set[str]:
        return {one.conversation for one in self._leases.values() if one.aside == aside}

    async def _trimmed(self, prompt: Book, lease: Lease) -> bool:
        account = await lease.trim(prompt)
        if account is not None:
            self.noted(lease, account)
        return account is not None

    def noted(self, lease: Lease, account: Account) -> None:
        """Count it where the engine didn't do what the books said. They follow the engine."""
        if account.agrees:
            return
        self.misses += 1
        log.warning(
            "slot %s: %s tokens were expected to be reused, the engine reused %s",
            lease.slot,
            account.expected,
            account.reused,
        )

    async def _aside(self, conversation: str, work: Callable[[Lease], Awaitable[bool]]) -> None:
        """Do something with the conversation's own slot that nobody waits for, unless somebody else
        has got it: who took it has saved it. Pages are told where that changed anything."""
        slot = await self._slots.take_own(conversation)
        if slot is None:
            return
        held, running, changed = self._held[slot], self._engine.running, False
        try:
            if running is not None and self._owns(held, conversation):
                lease = self._leased(slot, conversation, running, aside=True)
                changed = await work(lease)
        except ENGINE_ERRORS as error:
            log.info("slot %s isn't saved or trimmed: %s", slot, type(error).__name__)
        finally:
            if (done := self._leases.pop(slot, None)) is not None:
                done.let_go()
            self._slots.give_back(slot, conversation)
        if changed:
            await self._tell(conversation, held)

    def _begin(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Save what isn't saved, as long as the engine still runs; first requests that were broken
        off have to be written down."""
        await self._rest()
        for later in self._later.values():
            later.cancel()
        self._later.clear()
        for held in self._held:
            if held.owner and not held.kept:
                self._begin(self._save(held.owner))
        await self._rest()

    async def _rest(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_SECONDS)
