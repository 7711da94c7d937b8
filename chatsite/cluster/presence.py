"""That this server lives, and which others don't any more.

With SQLite a server is alone: the lock of its folder says so. On PostgreSQL each server keeps one
connection of its own, and on it a lock of its number, which PostgreSQL frees as soon as the process
is gone. A process that hangs keeps its lock, but its row stands still. No two clocks are compared:
a server measures by its own how long another one's row hasn't changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import DatabaseError

from chatsite.cluster import servers
from chatsite.conversations.turn.end import end_interrupted

logger = logging.getLogger("chatsite.cluster")
LOOK_SECONDS = 1.0
# Longer than a garbage collection, a snapshot of a virtual machine or a failover takes.
SILENT_SECONDS = 10.0
# For a lock that is free: time to connect again, for a server whose connection alone was cut.
FREE_SECONDS = 2.0
# After this one's connection began: when PostgreSQL is back, the others need a moment, too.
SETTLED_SECONDS = 5.0


@dataclass(kw_only=True, eq=False)
class Presence:
    """This server's number and its watch over the others.

    `fenced` is called where others took this server for dead: whatever it writes has been ended.
    `interrupted` gets the conversations whose answers this one ended for a dead server.
    """

    fenced: Callable[[], None] = lambda: None
    interrupted: Callable[[str], None] = lambda conversation: None

    def __post_init__(self) -> None:
        self.id = str(uuid.uuid4())
        self.is_alone = not settings.ON_POSTGRESQL
        self.address = ""
        # Called with the id, and the address, of another server that came or is gone.
        self.came: Callable[[str, str], None] = lambda server, address: None
        self.went: Callable[[str], None] = lambda server: None
        # This server's own, None while the database is away.
        self.connection: Any = None
        # Whether this server does what one of them does: set, or the other one is.
        self.leads, self.follows = asyncio.Event(), asyncio.Event()
        self.follows.set()
        self._task: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._entered = self._died = self._resigned = False
        # By another server's id: its row's last change, and when this one saw it.
        self._seen: dict[str, tuple[object, float]] = {}

    @property
    def others(self) -> Collection[str]:
        """The ids of the other servers that live."""
        return self._seen.keys()

    async def start(self) -> None:
        """Enter the rows, before anything is written under this number."""
        if not self.is_alone:
            entered = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._live(entered))
            await entered
        else:
            await servers.enter_alone(id=self.id, name=settings.SERVER_NAME)
            self.lead(True)
        await self._end_orphans(died=True)

    async def stop(self) -> None:
        """Leave: nothing runs here any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        with contextlib.suppress(DatabaseError):  # the others find out
            await servers.leave(id=self.id)

    def lead(self, leads: bool) -> None:
        """From now on this server does, or doesn't do, what one of them does."""
        (self.leads if leads else self.follows).set()
        (self.follows if leads else self.leads).clear()

    async def resign(self) -> None:
        """Lead no more, as one that is about to stop."""
        self._resigned = True
        self.lead(False)
        if (connection := self.connection) is not None:
            import psycopg

            with contextlib.suppress(psycopg.Error, OSError):  # then the lock is free
                await connection.execute(servers.RESIGN)

    async def still_leads(self) -> bool:
        """Asked before something is done that another leader would do again: the lock lives as long
        as the connection, which PostgreSQL may have ended without a word."""
        connection = self.connection
        if self.is_alone or connection is None:
            return self.leads.is_set()
        import psycopg

        try:
            await connection.execute("SELECT 1")
        except (psycopg.Error, OSError):
            return False
        return self.leads.is_set() and connection is self.connection

    async def _end_orphans(self, *, died: bool) -> None:
        """What dead servers left; `died` is whether there may be branches of which they put only a
        part on the path."""
        try:
            if died or await servers.orphans():
                for conversation in await end_interrupted():
                    self.interrupted(conversation)
        except DatabaseError:
            logger.exception("the answers of dead servers couldn't be ended")

    # ---- on PostgreSQL -----------------------------------------------------------------------
    async def _live(self, entered: asyncio.Future[None]) -> None:
        """Stay connected and look every second; connect again when the connection breaks."""
        import psycopg

        away = False
        while True:
            try:
                opened = await psycopg.AsyncConnection.connect(
                    **settings.DIRECT_CONNECTION, autocommit=True
                )
                async with opened as connection:
                    await self._enter(connection)
                    if not entered.done():
                        entered.set_result(None)
                    away = False
                    self.connection = connection
                    await self._keep_looking(connection)
            except Exception as error:  # of any kind: a server that isn't seen is taken for dead
                if not entered.done():
                    entered.set_exception(error)
                    return
                if not away:
                    logger.warning("The database is away (%s).", type(error).__name__)
                away = True
            self.connection = None
            self.lead(False)
            await asyncio.sleep(LOOK_SECONDS)

    async def _enter(self, connection: Any) -> None:
        """With the lock first: a row without one is a dead server's. Where the network was cut, an
        older connection of this server may still hold it."""
        if self._entered and not (await connection.execute(servers.LIVE, [self.id])).rowcount:
            self._fence()
        await connection.execute(servers.END_CONNECTION, [self.id])
        await connection.execute(servers.LOCK, [self.id])
        await connection.execute(servers.ENTER, [self.id, settings.SERVER_NAME, self.address])
        self._entered = True
        # Measured from now on: the others may have been away as well.
        self._seen = {id: (None, time.monotonic()) for id in self._seen}
        await self._look(connection, settled=False)

    def _fence(self) -> None:
        """Go on under another number: the others took the former one for dead."""
        logger.warning("Other servers took this one for dead; it goes on as a new one.")
        self._entered = False
        self.id = str(uuid.uuid4())
        self.fenced()

    async def _keep_looking(self, connection: Any) -> None:
        connected = time.monotonic()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if not (await connection.execute(servers.LIVE, [self.id])).rowcount:
                self._fence()
                await self._enter(connection)
            await self._look(connection, settled=time.monotonic() > connected + SETTLED_SECONDS)
            # Beside it: it waits for connections of the pool, and nobody may take that for death.
            if self._ending is None or self._ending.done():
                self._ending = asyncio.create_task(self._end_orphans(died=self._died))
                self._died = False

    async def _look(self, connection: Any, *, settled: bool) -> None:
        """Which servers there are, which of them are dead, and whether this one leads."""
        if not self.leads.is_set() and not self._resigned:
            (leads,) = await (await connection.execute(servers.LEAD)).fetchone()
            self.lead(leads)
        rows = await (await connection.execute(servers.OTHERS, [self.id])).fetchall()
        before, addresses = set(self._seen), {id: address for id, address, *_ in rows}
        for id, seen in self._dead(rows, now=time.monotonic(), settled=settled):
            del self._seen[id]
            buried = await (await connection.execute(servers.BURY, [id, seen])).fetchone()
            if buried is not None:
                logger.warning("The server %s is dead; its answers are ended.", id)
                self._died = True
                await connection.execute(servers.END_CONNECTION, [id])
                await connection.execute(servers.END_CONNECTIONS, buried)
        for id in before - set(self._seen):
            self.went(id)
        for id in set(self._seen) - before:
            self.came(id, addresses[id])

    def _dead(
        self, rows: Sequence[tuple[str, str, object, bool]], *, now: float, settled: bool
    ) -> list[tuple[str, object]]:
        """Which servers stand still for too long: their ids and what their rows said."""
        before, self._seen = self._seen, {}
        dead = []
        for id, _, seen, holds_lock in rows:
            known, since = before.get(id, (None, now))
            self._seen[id] = (seen, since if known == seen else now)
            silent = now - self._seen[id][1]
            free = settled and not holds_lock
            if silent >= (FREE_SECONDS if free else SILENT_SECONDS):
                dead.append((id, seen))
        return dead
