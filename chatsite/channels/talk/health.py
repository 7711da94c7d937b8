"""What doesn't work at the moment: said once in the log, and once when it works again."""

from __future__ import annotations

import asyncio
import logging

logger = logging.getLogger("chatsite.channels")


class Health:
    """Of one Nextcloud; `key` names what is concerned: the server, the account, a room."""

    def __init__(self) -> None:
        self._wrong: set[str] = set()
        self._better = asyncio.Event()

    def wrong(self, key: str, sentence: str) -> None:
        if key not in self._wrong:
            logger.error("Talk: %s", sentence)
        self._wrong.add(key)

    def well(self, key: str, sentence: str) -> None:
        if key in self._wrong:
            self._wrong.discard(key)
            logger.warning("Talk: %s", sentence)
            self._better.set()
            self._better = asyncio.Event()

    async def wait_for(self, key: str) -> None:
        """Until it works again."""
        while key in self._wrong:
            await self._better.wait()
