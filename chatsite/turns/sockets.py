"""The open sockets of every session, so that signing out leaves no reader behind."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable

Close = Callable[[], Awaitable[None]]
# The page that signs out is on its way to another page by then, and its socket gone.
GRACE_SECONDS = 1.0


class Sockets:
    """How to close what each session has open; made inside the running loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._open: defaultdict[str, set[Close]] = defaultdict(set)
        self._ending: set[asyncio.Future[None]] = set()

    def join(self, session: str, close: Close) -> Callable[[], None]:
        """Returns what takes it out again."""
        self._open[session].add(close)

        def leave() -> None:
            self._open[session].discard(close)
            if not self._open[session]:
                del self._open[session]

        return leave

    def end(self, session: str) -> None:
        """Close all of a session's sockets in a second; may be called from any thread."""
        self._loop.call_soon_threadsafe(
            self._loop.call_later, GRACE_SECONDS, self._end_session, session
        )

    def _end_session(self, session: str) -> None:
        for close in list(self._open.get(session, ())):
            self._ending.add(task := asyncio.ensure_future(close()))
            task.add_done_callback(self._ending.discard)
