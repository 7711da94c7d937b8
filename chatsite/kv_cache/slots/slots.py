"""Which conversation has which of the engine's slots, and a short queue for them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from weakref import WeakValueDictionary

from chatsite.errors import ProviderError
from chatsite.kv_cache import books as kv
from chatsite.kv_cache.books import EMPTY, Book, Place, Reuse
from chatsite.providers.embedded.engine import RunningEngine
from chatsite.wording import say

# In cells. Reading 64 tokens takes a third of a second, restoring a session some milliseconds; for
# fewer tokens neither a file nor restoring pays.
WORTH_RESTORING = 64
NOT_AVAILABLE = (
    "The KV cache's books are not available for this model: its chat template doesn't frame "
    "messages one by one."
)


@dataclass(slots=True)
class SlotContents:
    """Records what the cells of a slot hold; `book` is None where that is unknown.

    `saved`: the slot needn't be saved, because the disk has it as it is, or because it is nobody's.
    `trimmed`: the saved session has more cells than the slot. `shifts` becomes False once the
    engine didn't shift cells as planned: with some models it can't.
    """

    running: RunningEngine | None = None
    owner: str = ""
    book: Book | None = EMPTY
    saved: bool = True
    trimmed: bool = False
    shifts: bool = True

    def plan(self, prompt: Book) -> Reuse:
        """Plan a request of the slot's own conversation."""
        return self.plan_from(self.book or EMPTY, prompt)

    def plan_from(self, live: Book, prompt: Book) -> Reuse:
        return kv.plan(live, prompt) if self.shifts else kv.reuse(live.ids, prompt.ids, chunk=0)

    def put(self, owner: str, book: Book | None, *, saved: bool = False) -> None:
        self.owner, self.book = owner, book
        self.saved = saved or book is None or len(book) < WORTH_RESTORING
        self.trimmed = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheView:
    """Says what of a conversation is in the engine now. `window` and `used` are in cells; `note` is
    the reason where the cache isn't `available`. `places` are those of the messages in the slot.
    `misses` counts how often the engine reused another number of tokens than the books predicted,
    since the server's start."""

    available: bool
    note: str
    window: int
    used: int
    place: Literal["slot", "none"]
    places: Mapping[str, Place]
    misses: int


class SlotQueue:
    """Gives a conversation its former slot, and with it the cells of its prompt, unless another one
    has needed it; otherwise the slot unused for longest. A conversation has one slot at a time: its
    next request waits for the first."""

    def __init__(self, count: int, *, waiting: int = 16) -> None:
        self._idle: OrderedDict[int, str] = OrderedDict((slot, "") for slot in range(count))
        # Each waiter gets a slot, and the conversation that had it last.
        self._queue: deque[asyncio.Future[tuple[int, str]]] = deque()
        self._waiting = waiting
        # A conversation's lock is held with its slot, and removed when nobody has or wants it.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._held: dict[int, asyncio.Lock] = {}

    @property
    def idle(self) -> int:
        return len(self._idle)

    async def take(self, conversation: str) -> int:
        """Wait for a slot; `give_back` returns it. Raises ProviderError ("busy") where the queue is
        full."""
        lock = self._turns.setdefault(conversation, asyncio.Lock())
        await lock.acquire()
        try:
            slot = self._take_idle(conversation)
            if slot is None:
                slot = await self._wait()
        except BaseException:
            lock.release()
            raise
        self._held[slot] = lock
        return slot

    async def take_own(self, conversation: str) -> int | None:
        """Take the slot that this conversation had last, if it is still its own and idle."""
        lock = self._turns.setdefault(conversation, asyncio.Lock())
        await lock.acquire()
        slot = self._find_own(conversation)
        if slot is None:
            lock.release()
            return None
        del self._idle[slot]
        self._held[slot] = lock
        return slot

    def give_back(self, slot: int, conversation: str) -> None:
        self._held.pop(slot).release()
        self._free(slot, conversation)

    def _take_idle(self, conversation: str) -> int | None:
        if not self._idle:
            return None
        slot = self._find_own(conversation)
        if slot is None:
            return self._idle.popitem(last=False)[0]
        del self._idle[slot]
        return slot

    def _find_own(self, conversation: str) -> int | None:
        return next((slot for slot, owner in self._idle.items() if owner == conversation), None)

    async def _wait(self) -> int:
        if len(self._queue) >= self._waiting:
            raise ProviderError(
                say(
                    "Too many people are waiting for the model on this machine. What you wrote is "
                    "kept. Try again in a moment."
                ),
                code="busy",
                retryable=True,
                detail=f"{len(self._queue)} waiting",
            )
        turn: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            return (await turn)[0]
        except asyncio.CancelledError:
            if turn.cancelled():
                if turn in self._queue:
                    self._queue.remove(turn)
            else:
                self._free(*turn.result())
            raise

    def _free(self, slot: int, conversation: str) -> None:
        while self._queue:
            turn = self._queue.popleft()
            # A waiter that was cancelled a moment ago is in the queue until its task runs.
            if not turn.done():
                turn.set_result((slot, conversation))
                return
        self._idle[slot] = conversation
