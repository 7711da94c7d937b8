"""What keeps the store in order as long as the server runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import astuple

from chatsite.conversations.database.work import Store, settle
from chatsite.conversations.upkeep.purge import purge

logger = logging.getLogger("chatsite")
PURGE_SECONDS = 3_600.0
SETTLE_SECONDS = 5.0


class Keeping:
    """`sweep` tidies up what is stored beside the database."""

    def __init__(self, run: Store, sweep: Callable[[], Awaitable[None]]) -> None:
        self.run = run
        self.sweep = sweep
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(_again_and_again(self.settle, SETTLE_SECONDS)),
            asyncio.create_task(_again_and_again(self.purge, PURGE_SECONDS)),
        ]

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def settle(self) -> None:
        await self.run(settle)

    async def purge(self) -> None:
        purged = await self.run(purge)
        if any(astuple(purged)):
            logger.info("Removed for good: %s", purged)
        await self.sweep()


async def _again_and_again(doing: Callable[[], Awaitable[None]], seconds: float) -> None:
    """Whatever went wrong the last time."""
    while True:
        try:
            await doing()
        except Exception:
            logger.exception("the store couldn't be kept in order")
        await asyncio.sleep(seconds)
