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
    """Decorates a unit of work that writes: one transaction, run on the writing thread."""
    unit: Callable[P, T] = transaction.atomic(work)
    unit.writes = True  # type: ignore[attr-defined]
    return unit


def is_write(work: Callable[..., object]) -> bool:
    return getattr(work, "writes", False)


def flush_write_log() -> None:
    """Copy SQLite's write-ahead log into the database file, without blocking writers.

    Otherwise SQLite would do it in about every fiftieth turn, which would wait 10 to 20 ms for the
    disk. `wal_autocheckpoint` in the settings is the limit where this task doesn't run.
    """
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")


def answers() -> None:
    """Raises Django's Error where the database doesn't answer."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


class StorageThreads:
    """Runs units of work on a few threads, and closes their connections when they are old.

    Writes share one thread of their own. SQLite allows one writer at a time, and another one polls
    its lock every 1 to 100 ms: with 50 messages a second this took two thirds of all storage time.
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
