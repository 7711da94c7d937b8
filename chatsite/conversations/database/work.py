"""Units of work, and the threads that run them."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import ParamSpec, TypeVar

from django.db import close_old_connections, connection, transaction

P = ParamSpec("P")
T = TypeVar("T")
READERS = 5
# Rows that one piece of a unit changes: 250 new messages with their nine indexes take 25 to 40 ms.
ROWS = 250
Pieces = Generator[None, None, T]


def writing(work: Callable[P, T]) -> Callable[P, T]:
    """Decorates a unit of work that writes: one transaction, run on the writing thread."""
    unit: Callable[P, T] = transaction.atomic(work)
    unit.writes = True  # type: ignore[attr-defined]
    return unit


def in_pieces(work: Callable[P, Pieces[T]]) -> Callable[P, T]:
    """Decorates a unit whose size grows with one person's data: a generator, whose pieces end at
    each `yield`. A piece is one transaction of at most some `ROWS` rows; between two pieces the
    writing thread does what others wait for, and the data must be whole. Called without
    `StorageThreads` it runs all its pieces.
    """

    @functools.wraps(work)
    def unit(*args: P.args, **kwargs: P.kwargs) -> T:
        steps = work(*args, **kwargs)
        while True:
            ended, result = next_piece(steps)
            if ended:
                return result  # type: ignore[return-value]

    unit.writes, unit.pieces = True, work  # type: ignore[attr-defined]
    return unit


def next_piece(steps: Pieces[T]) -> tuple[bool, T | None]:
    """Run one piece in a transaction: whether it was the last one, and then the result."""
    with transaction.atomic():
        try:
            next(steps)
        except StopIteration as end:
            return True, end.value
    return False, None


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


@writing
def takes_writes() -> None:
    """Raises Django's Error where the database doesn't answer, or takes nothing: a disk that is
    full or read-only can still be read. Changes a row into what it is."""
    with connection.cursor() as cursor:
        first = "SELECT min(id) FROM django_content_type"
        cursor.execute(f"UPDATE django_content_type SET model = model WHERE id = ({first})")


class StorageThreads:
    """Runs units of work on a few threads, and closes their connections when they are old.

    A unit runs in its caller's context: what it tells a person is in that person's language.

    Writes share one thread of their own. SQLite allows one writer at a time, and another one polls
    its lock every 1 to 100 ms: with 50 messages a second this took two thirds of all storage time.
    """

    def __init__(self) -> None:
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="store")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._in_pieces: set[asyncio.Task[object]] = set()

    async def __call__(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        pieces: Callable[P, Pieces[T]] | None = getattr(work, "pieces", None)
        if pieces is not None:
            # As every unit that has begun it runs to its end, also when its caller is cancelled.
            task = asyncio.create_task(self._run_pieces(pieces(*args, **kwargs)))
            self._in_pieces.add(task)
            task.add_done_callback(self._in_pieces.discard)
            return await asyncio.shield(task)
        threads = self._writer if is_write(work) else self._readers
        call = functools.partial(_with_connection, work, *args, **kwargs)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(threads, copy_context().run, call)

    async def _run_pieces(self, steps: Pieces[T]) -> T:
        loop = asyncio.get_running_loop()
        while True:
            call = functools.partial(_with_connection, next_piece, steps)
            ended, result = await loop.run_in_executor(self._writer, copy_context().run, call)
            if ended:
                return result  # type: ignore[return-value]

    async def drain(self) -> None:
        """Wait for the units that run in pieces."""
        await asyncio.gather(*self._in_pieces, return_exceptions=True)

    def close(self) -> None:
        self._readers.shutdown()
        self._writer.shutdown()


def _with_connection(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    close_old_connections()
    try:
        return work(*args, **kwargs)
    finally:
        close_old_connections()
