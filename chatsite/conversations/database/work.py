"""Units of work, and the threads that run them."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import close_old_connections, connection, transaction

P = ParamSpec("P")
T = TypeVar("T")
READERS = 5


def writing(work: Callable[P, T]) -> Callable[P, T]:
    """A unit of work that writes: whole or not at all, and known as such to whoever runs it."""
    unit: Callable[P, T] = transaction.atomic(work)
    unit.writes = True  # type: ignore[attr-defined]
    return unit


def is_write(work: Callable[..., object]) -> bool:
    return getattr(work, "writes", False)


def flush_write_log() -> None:
    """Bring what SQLite has written to its log into its file, beside those who write.

    Left to itself SQLite does so in every fiftieth turn or so, which waits 10 to 20 ms for the
    disk; see `wal_autocheckpoint` in the settings for when this doesn't come about.
    """
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")


class StorageThreads:
    """Runs units of work of the store on a few threads, and hands connections back.

    What writes has a thread of its own. SQLite lets one write at a time; whoever else wants to
    sleeps 1 to 100 ms between two looks, which was two thirds of all the time spent here when 50
    people asked within a second.
    """

    def __init__(self) -> None:
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="store")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="store-writer")

    async def __call__(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        threads = self._writer if is_write(work) else self._readers
        call = functools.partial(_with_connection, work, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(threads, call)

    def close(self) -> None:
        self._readers.shutdown()
        self._writer.shutdown()


def _with_connection(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    close_old_connections()
    try:
        return work(*args, **kwargs)
    finally:
        close_old_connections()
