"""Ends what an account has open when its rights end: its sockets, and the answers it waits for.

A session is read once, when its socket opens. So the accounts with open sockets or running answers
are looked at again every few seconds, all with one query, and at once when this process saves an
account: `manage.py` or another program may change the database too.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.signals import post_delete, post_save

from chatsite.accounts.removal import Rights


def follow_accounts(changed: Callable[[], None]) -> Callable[[], None]:
    """Call `changed` once the change of an account is stored, on the thread that made it. Returns
    what ends this."""

    def receive(update_fields: frozenset[str] | None = None, **signal: Any) -> None:
        if set(update_fields or ()) != {"last_login"}:  # every sign-in
            transaction.on_commit(changed)

    for signal in (post_save, post_delete):
        signal.connect(receive, sender=User, weak=False)

    def end() -> None:
        for signal in (post_save, post_delete):
            signal.disconnect(receive, sender=User)

    return end


Close = Callable[[], Awaitable[None]]
# The page that signs out is on its way to another page by then, and its socket gone.
GRACE_SECONDS = 1.0


def _digest(session: str) -> str:
    return hashlib.sha256(session.encode()).hexdigest()


class Sockets:
    """Knows how to close what each session has open; made inside the running loop. `elsewhere` is
    told of a session that ends, by a digest: whoever knows its key has the session."""

    def __init__(self, *, elsewhere: Callable[[str], None] = lambda digest: None) -> None:
        self._elsewhere = elsewhere
        self._loop = asyncio.get_running_loop()
        self._open: defaultdict[str, set[Close]] = defaultdict(set)
        self._ending: set[asyncio.Future[None]] = set()

    def join(self, session: str, close: Close) -> Callable[[], None]:
        """Keep `close` for the session. Returns what takes it out again."""
        digest = _digest(session)
        self._open[digest].add(close)

        def leave() -> None:
            self._open[digest].discard(close)
            if not self._open[digest]:
                del self._open[digest]

        return leave

    def end(self, session: str) -> None:
        """Close all of a session's sockets in a second; may be called from any thread."""
        digest = _digest(session)
        self._loop.call_soon_threadsafe(self._elsewhere, digest)
        self._loop.call_soon_threadsafe(self.end_here, digest)

    def end_here(self, digest: str) -> None:
        self._loop.call_later(GRACE_SECONDS, self._end_session, digest)

    def _end_session(self, digest: str) -> None:
        for close in list(self._open.get(digest, ())):
            self._ending.add(task := asyncio.ensure_future(close()))
            task.add_done_callback(self._ending.discard)


logger = logging.getLogger("chatsite.accounts")
CHECK_SECONDS = 3.0
# A command waits for a check where the last one is older: the database was busy.
RECENT_SECONDS = 5.0


@dataclass(kw_only=True, eq=False)
class AccountWatch:
    """Closes what accounts have open; made inside the running loop. `rights_of` finds the rights of
    active accounts, `answering` the accounts for which answers are being written; `stop_answers`
    stops those of one."""

    rights_of: Callable[[Collection[int]], Awaitable[Mapping[int, Rights]]]
    answering: Callable[[], Collection[int]]
    stop_answers: Callable[[int], None]

    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._open: defaultdict[int, dict[Close, Rights]] = defaultdict(dict)
        self._changed = asyncio.Event()
        self._checked = 0.0
        self._task: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Future[None]] = set()

    def join(self, user: int, rights: Rights, close: Close) -> Callable[[], None]:
        """Call `close` as soon as the account's rights aren't `rights` any more. Returns what takes
        it out again."""
        self._open[user][close] = rights

        def leave() -> None:
            self._open[user].pop(close, None)
            if not self._open[user]:
                del self._open[user]

        return leave

    def look_now(self) -> None:
        """Check soon, because an account was changed; may be called from any thread."""
        self._loop.call_soon_threadsafe(self._changed.set)

    async def be_recent(self) -> None:
        """Check before a command where the last check is more than some seconds old."""
        if self._open and self._loop.time() - self._checked > RECENT_SECONDS:
            await self.check()

    async def check(self) -> None:
        """Look at all accounts that have something open, with one query."""
        self._changed.clear()
        asked = self._loop.time()
        users = {*self._open, *self.answering()}
        current = await self.rights_of(users) if users else {}
        self._checked = asked
        for user in users:
            if user not in current:
                self.stop_answers(user)
            for close, rights in list(self._open.get(user, {}).items()):
                if current.get(user) != rights:
                    self._open[user].pop(close)
                    # Not awaited: a page that doesn't read would hold up all others.
                    self._ending.add(task := asyncio.ensure_future(close()))
                    task.add_done_callback(self._ending.discard)

    # ---- while the server runs ---------------------------------------------------------------
    def start(self) -> None:
        self._task = asyncio.create_task(self._keep_checking())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _keep_checking(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(CHECK_SECONDS):
                    await self._changed.wait()
            try:
                await self.check()
            except Exception:
                logger.exception("the rights of accounts couldn't be looked at")
