"""Logs once that something of Talk doesn't work, and once that it works again."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping

logger = logging.getLogger("chatsite.channels")
ACCOUNT, SERVER = "account", "server"


class Health:
    """Keeps what doesn't work with one Nextcloud; a `key` names the server, the account or a
    room."""

    def __init__(self) -> None:
        self._wrong: set[str] = set()
        self._times: Counter[str] = Counter()
        self._better = asyncio.Event()

    def wrong(self, key: str, sentence: str) -> None:
        if key not in self._wrong:
            logger.error("Talk: %s", sentence)
        self._wrong.add(key)
        self._times[key] += 1

    def refused(self, sentence: str) -> None:
        """Notes that the server doesn't accept the bot's account."""
        self.wrong(ACCOUNT, f"{sentence}; nothing is read or posted")

    def times(self) -> Mapping[str, int]:
        """Counts how often each key went wrong so far, for `well`."""
        return Counter(self._times)

    def well(self, key: str, sentence: str, *, before: Mapping[str, int]) -> None:
        """Notes that the server answered a request, which began when `key` had gone wrong as often
        as `before` says. If `key` went wrong since, the answer is older than the trouble and says
        nothing."""
        if key not in self._wrong or self._times[key] != before.get(key, 0):
            return
        self._wrong.discard(key)
        logger.info("Talk: %s", sentence)
        self._better.set()
        self._better = asyncio.Event()

    async def wait_for(self, key: str) -> None:
        """Waits until `key` works again."""
        while key in self._wrong:
            await self._better.wait()
