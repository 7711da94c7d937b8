"""What doesn't work at the moment: said once in the log, and once when it works again."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping

logger = logging.getLogger("chatsite.channels")
ACCOUNT, SERVER = "account", "server"


class Health:
    """Of one Nextcloud; `key` names what is concerned: the server, the account, a room."""

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
        """The bot's account isn't accepted."""
        self.wrong(ACCOUNT, f"{sentence}; nothing is read or posted")

    def times(self) -> Mapping[str, int]:
        """How often what went wrong so far, for `well`."""
        return Counter(self._times)

    def well(self, key: str, sentence: str, *, before: Mapping[str, int]) -> None:
        """A request was answered that began when it had gone wrong as often as `before` says. Where
        it went wrong since, the answer is older than the trouble, and says nothing."""
        if key not in self._wrong or self._times[key] != before.get(key, 0):
            return
        self._wrong.discard(key)
        logger.info("Talk: %s", sentence)
        self._better.set()
        self._better = asyncio.Event()

    async def wait_for(self, key: str) -> None:
        """Until it works again."""
        while key in self._wrong:
            await self._better.wait()
