"""Which conversation has which of the engine's slots: one at a time in each, a short queue."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from chatsite.errors import ProviderError


class Slots:
    """A conversation gets its own slot back while nobody else needed it, and with it what the
    engine remembers of its prompt; otherwise the slot unused for longest."""

    def __init__(self, count: int, *, waiting: int = 16) -> None:
        self._idle: OrderedDict[int, str] = OrderedDict((slot, "") for slot in range(count))
        self._queue: deque[asyncio.Future[int]] = deque()
        self._waiting = waiting

    @property
    def idle(self) -> int:
        return len(self._idle)

    @property
    def queued(self) -> int:
        return len(self._queue)

    @asynccontextmanager
    async def hold(self, conversation: str) -> AsyncIterator[int]:
        """Wait in line for a slot. Raises ProviderError ("busy") when the line is full."""
        slot = self._take(conversation)
        if slot is None:
            slot = await self._wait()
        try:
            yield slot
        finally:
            self._release(slot, conversation)

    def _take(self, conversation: str) -> int | None:
        if not self._idle:
            return None
        own = next((slot for slot, owner in self._idle.items() if owner == conversation), None)
        if own is None:
            return self._idle.popitem(last=False)[0]
        del self._idle[own]
        return own

    async def _wait(self) -> int:
        if len(self._queue) >= self._waiting:
            raise ProviderError(
                "Too many people are waiting for the model on this machine. What you wrote is "
                "kept. Try again in a moment.",
                code="busy",
                retryable=True,
                detail=f"{len(self._queue)} waiting",
            )
        turn: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                if turn in self._queue:
                    self._queue.remove(turn)
            else:
                self._release(turn.result(), "")
            raise

    def _release(self, slot: int, conversation: str) -> None:
        while self._queue:
            turn = self._queue.popleft()
            # A waiter that was cancelled a moment ago stands in line until its task runs.
            if not turn.done():
                turn.set_result(slot)
                return
        self._idle[slot] = conversation
