"""Which conversation has which of the engine's slots, and a short queue for them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from weakref import WeakValueDictionary

from chatsite.errors import ProviderError
from chatsite.wording import say


class SlotQueue:
    """A conversation gets its former slot, and with it the cells of its prompt, unless another one
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

    @property
    def queued(self) -> int:
        return len(self._queue)

    async def take(self, conversation: str) -> int:
        """Wait for a slot; `give_back` returns it. Raises ProviderError ("busy") where the queue is
        full."""
        lock = self._turns.setdefault(conversation, asyncio.Lock())
        await lock.acquire()
        try:
            slot = self._best(conversation)
            if slot is None:
                slot = await self._wait()
        except BaseException:
            lock.release()
            raise
        self._held[slot] = lock
        return slot

    async def take_own(self, conversation: str) -> int | None:
        """The slot that this conversation had last, if it is still its own and idle."""
        lock = self._turns.setdefault(conversation, asyncio.Lock())
        await lock.acquire()
        own = self._own(conversation)
        if own is None:
            lock.release()
            return None
        del self._idle[own]
        self._held[own] = lock
        return own

    def give_back(self, slot: int, conversation: str) -> None:
        self._held.pop(slot).release()
        self._free(slot, conversation)

    def _best(self, conversation: str) -> int | None:
        if not self._idle:
            return None
        own = self._own(conversation)
        if own is None:
            return self._idle.popitem(last=False)[0]
        del self._idle[own]
        return own

    def _own(self, conversation: str) -> int | None:
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
