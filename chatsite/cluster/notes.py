"""Notes from server to server, over PostgreSQL's LISTEN and NOTIFY.

Notes are hints: rows are the truth. What is told to one server leaves together, numbered, in a
transaction of its own that waits for no disk. Who misses a number, or was not connected for a
moment, knows that something was missed, and asks the rows.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.conf import settings

from chatsite.cluster.presence import LOOK_SECONDS, Presence

logger = logging.getLogger("chatsite.cluster")
Note = Mapping[str, Any]
# A batch leaves at once, and the next one not before.
GAP_SECONDS = 0.01
# PostgreSQL takes less than 8,000 bytes; what is longer goes in parts.
PART = 7_500
# For one server, while the database is away. Above it they are dropped, which the server finds out.
MOST_WAITING = 5_000
# A part: whose, which batch, which part of how many, and the JSON.
_SEPARATOR = "|"
_SEND = "SELECT pg_notify(to_whom, part) FROM unnest(%s::text[], %s::text[]) AS one(to_whom, part)"


def channel_of(server: str) -> str:
    return f"chatsite_{server.replace('-', '')}"


class Notes:
    """`take` gets each note with its sender; `missed` is called with the server of which some are
    missing, None for all."""

    def __init__(
        self,
        presence: Presence,
        *,
        take: Callable[[str, Note], None],
        missed: Callable[[str | None], None],
    ) -> None:
        self.presence = presence
        self._take_note = take
        self._missed = missed
        self._waiting: defaultdict[str, list[Note]] = defaultdict(list)
        self._unsent: list[tuple[str, str]] = []
        self._numbers: defaultdict[str, int] = defaultdict(int)
        self._last: dict[str, int] = {}
        self._parts: dict[str, list[str]] = {}
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Returns once this server hears others."""
        hears = asyncio.Event()
        self._tasks = [
            asyncio.create_task(self._listen(hears)),
            asyncio.create_task(self._send()),
            asyncio.create_task(self._beat()),
        ]
        await hears.wait()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def tell(self, servers: Iterable[str], note: Note) -> None:
        """At the next occasion; never waits."""
        for server in servers:
            waiting = self._waiting[server]
            if len(waiting) >= MOST_WAITING:
                waiting.clear()
                self._numbers[server] += 1
            waiting.append(note)
            self._wake.set()

    # ---- sending -----------------------------------------------------------------------------
    async def _beat(self) -> None:
        """Have everyone look every second whether the last number has come."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for server in self.presence.others:
                self._waiting[server] += ()
            for gone in [one for one in self._waiting if one not in self.presence.others]:
                del self._waiting[gone]
                self._numbers.pop(gone, None)
            self._wake.set()

    async def _send(self) -> None:
        import psycopg

        while True:
            await self._wake.wait()
            self._wake.clear()
            connection = self.presence.connection
            try:
                if connection is not None:
                    self._unsent = self._unsent or self._packed()
                    to = [channel for channel, _ in self._unsent]
                    parts = [part for _, part in self._unsent]
                    await connection.execute(_SEND, [to, parts])
                    self._unsent = []
            except (psycopg.Error, OSError):
                connection = None
            if connection is None:
                # Then they are sent again: who has got them already knows their number.
                self._wake.set()
            await asyncio.sleep(GAP_SECONDS if connection else LOOK_SECONDS)

    def _packed(self) -> list[tuple[str, str]]:
        """What waits, as parts for each server's channel."""
        packed = []
        waiting, self._waiting = self._waiting, defaultdict(list)
        for server, notes in waiting.items():
            self._numbers[server] += 1
            whole = json.dumps(notes, separators=(",", ":"))
            parts = [whole[at : at + PART] for at in range(0, len(whole), PART)]
            for place, part in enumerate(parts):
                head = (self.presence.id, self._numbers[server], place, len(parts))
                text = _SEPARATOR.join([*map(str, head), part])
                packed.append((channel_of(server), text))
        return packed

    # ---- hearing -----------------------------------------------------------------------------
    async def _listen(self, hears: asyncio.Event) -> None:
        """On a connection that does nothing else: others lose notes (psycopg issue 962)."""
        import psycopg

        while True:
            try:
                opened = await psycopg.AsyncConnection.connect(
                    **settings.DIRECT_CONNECTION, autocommit=True
                )
                async with opened as connection:
                    mine = self.presence.id
                    await connection.execute(f"LISTEN {channel_of(mine)}")
                    if hears.is_set():
                        self._last.clear()
                        self._missed(None)
                    hears.set()
                    while mine == self.presence.id:
                        async for notice in connection.notifies(timeout=LOOK_SECONDS):
                            self._hear(notice.payload)
                        # A connection that is dead says nothing, not even that.
                        await connection.execute("")
            except (psycopg.Error, OSError):
                await asyncio.sleep(LOOK_SECONDS)

    def _hear(self, payload: str) -> None:
        sender, number, place, of, part = payload.split(_SEPARATOR, 4)
        if place == "0":
            self._parts[sender] = []
        parts = self._parts.setdefault(sender, [])
        parts.append(part)
        if int(place) + 1 < int(of):
            return
        del self._parts[sender]
        last, self._last[sender] = self._last.get(sender), int(number)
        if last is not None and int(number) <= last:
            self._last[sender] = last
            return
        if last is not None and int(number) > last + 1 or len(parts) < int(of):
            self._missed(sender)
        if len(parts) == int(of):
            for note in json.loads("".join(parts)):
                self._take_note(sender, note)
