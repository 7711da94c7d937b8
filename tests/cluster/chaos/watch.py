"""Watches the rows for answers that killed servers left running."""

from __future__ import annotations

import asyncio
import re

import psycopg

from tests.cluster.chaos.record import Record, now
from tests.cluster.chaos.site import Site

LOOK_SECONDS = 0.5
SERVERS = "SELECT id, name FROM conversations_server"
RUNNING = "SELECT id::text, server FROM conversations_turn WHERE state = 'running'"
_PID = re.compile(r"\((\d+)\)$")


async def watch(site: Site, record: Record) -> None:
    """Note how long each such answer was seen. While the database is away nothing is seen."""
    pids: dict[object, int] = {}
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(
                site.postgres.url, autocommit=True, connect_timeout=5
            ) as connection:
                while True:
                    for id, name in await (await connection.execute(SERVERS)).fetchall():
                        found = _PID.search(name)
                        assert found is not None
                        pids[id] = int(found[1])
                    for turn, server in await (await connection.execute(RUNNING)).fetchall():
                        killed = record.killed.get(pids.get(server, 0))
                        if killed is not None:
                            record.left[turn] = now() - killed
                    await asyncio.sleep(LOOK_SECONDS)
        except (psycopg.Error, OSError):
            await asyncio.sleep(LOOK_SECONDS)
