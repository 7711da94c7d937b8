"""Units of work, and the threads that run them.

`await end_turn(turn=..., ...)` runs a unit on its threads; `end_turn.here(turn=..., ...)`
runs it on the calling thread: for another unit, a management command or a test.

Writes to SQLite share one thread of their own. SQLite allows one writer at a time, and another one
polls its lock every 1 to 100 ms: with 50 messages a second this took two thirds of all storage
time. PostgreSQL has several writers, which `locks.hold` puts in order.

What every turn asks for is `at_once`: it runs on the event loop's thread where nobody else writes.

The threads are the process's, as Django's connections are: they are made when a unit is first
awaited, and again after `close`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Generic, ParamSpec, TypeVar

from django.db import OperationalError, close_old_connections, connection, transaction

from chatsite.errors import Refused

P = ParamSpec("P")
T = TypeVar("T")
READERS = 5
WRITERS = {"sqlite": 1, "postgresql": 8}
# Rows that one piece of a unit changes: 250 new messages with their nine indexes take 25 to 40 ms.
ROWS = 250
Pieces = Generator[None, None, T]


class Unit(Generic[P, T]):
    """A unit of work. Awaited, it runs in its caller's context: what it tells a person is in that
    person's language. Once it has begun it runs to its end, also when its caller is cancelled."""

    __name__: str

    def __init__(self, work: Callable[P, T], *, writes: bool) -> None:
        functools.update_wrapper(self, work)
        self._work = work
        self.writes = writes
        self.at_once = False

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        if self.at_once and not (self.writes and _writing):
            with contextlib.suppress(_Waits), _event_loop_hidden():
                work = functools.partial(self._work, *args, **kwargs)
                return copy_context().run(_without_waiting, work, writes=self.writes)
        return await _in_thread(functools.partial(self.here, *args, **kwargs), writes=self.writes)

    def here(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run it on the calling thread, in a transaction where it writes."""
        if self.writes:
            with transaction.atomic():
                return self._work(*args, **kwargs)
        return self._work(*args, **kwargs)


class UnitInPieces(Unit[P, T]):
    """A unit of several transactions: `pieces` is the function, which yields between two."""

    def __init__(self, pieces: Callable[P, Pieces[T]]) -> None:
        super().__init__(pieces, writes=True)  # type: ignore[arg-type]  # `here` runs them all
        self.pieces = pieces

    def here(self, *args: P.args, **kwargs: P.kwargs) -> T:
        steps = self.pieces(*args, **kwargs)
        while True:
            ended, result = next_piece(steps)
            if ended:
                return result  # type: ignore[return-value]

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        task = asyncio.create_task(_run_pieces(self.pieces(*args, **kwargs)))
        _in_pieces.add(task)
        task.add_done_callback(_in_pieces.discard)
        return await asyncio.shield(task)


def reading(work: Callable[P, T]) -> Unit[P, T]:
    """Decorates a unit that reads: run on one of the reading threads."""
    return Unit(work, writes=False)


def writing(work: Callable[P, T]) -> Unit[P, T]:
    """Decorates a unit that writes: one transaction, run on a writing thread. It begins with
    `locks.hold`."""
    return Unit(work, writes=True)


def at_once(unit: Unit[P, T]) -> Unit[P, T]:
    """Stands above the decorator of a unit that takes about a millisecond; where it may take more
    it calls `takes_long` as soon as it knows.

    With SQLite it runs on the event loop's thread, unless somebody else is writing: it never waits
    there. Two threads hand Python's lock to each other at every statement and every row; this was
    half of what a turn took (6.6 ms of CPU, 3.5 without).
    """
    unit.at_once = True
    return unit


def in_pieces(work: Callable[P, Pieces[T]]) -> UnitInPieces[P, T]:
    """Decorates a unit whose size grows with one person's data: a generator, whose pieces end at
    each `yield`. A piece is one transaction of at most some `ROWS` rows; between two pieces the
    writing thread does what others wait for, and the data must be whole."""
    return UnitInPieces(work)


def tidying(work: Callable[P, T]) -> Unit[P, T]:
    """Decorates a unit that keeps storage in order in short transactions of its own: run on one of
    the reading threads, so that no write waits for all of it."""
    return Unit(work, writes=False)


def next_piece(steps: Pieces[T]) -> tuple[bool, T | None]:
    """Run one piece in a transaction: whether it was the last one, and then the result."""
    with transaction.atomic():
        try:
            next(steps)
        except StopIteration as end:
            return True, end.value
    return False, None


# ---- the threads -----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Threads:
    readers: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(READERS, thread_name_prefix="store")
    )
    writer: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(
            WRITERS[connection.vendor], thread_name_prefix="store-writer"
        )
    )


_threads: _Threads | None = None
# Held while work is handed to the threads, which another event loop may close.
_changing = threading.Lock()
_in_pieces: set[asyncio.Task[object]] = set()
# How many writes on the threads somebody waits for.
_writing = 0
# Whether a unit has opened a connection on an event loop's thread.
_on_loop = False


async def drain() -> None:
    """Wait for the units in pieces that run on this event loop."""
    loop = asyncio.get_running_loop()
    own = [task for task in _in_pieces if task.get_loop() is loop]
    await asyncio.gather(*own, return_exceptions=True)


def close() -> None:
    """End the threads, once their work is done, and all connections that units opened."""
    global _threads, _on_loop
    if _on_loop:
        _on_loop = False
        with _event_loop_hidden():
            if not connection.in_atomic_block:  # as in a test, whose transaction ends with it
                connection.close()
    with _changing:
        threads, _threads = _threads, None
    if threads is not None:
        threads.readers.shutdown()
        threads.writer.shutdown()


async def _run_pieces(steps: Pieces[T]) -> T:
    while True:
        ended, result = await _in_thread(functools.partial(next_piece, steps), writes=True)
        if ended:
            return result  # type: ignore[return-value]


async def _in_thread(work: Callable[[], T], *, writes: bool) -> T:
    global _writing
    _writing += writes
    try:
        return await asyncio.wrap_future(_submit(work, writes=writes))
    finally:
        _writing -= writes


def _submit(work: Callable[[], T], *, writes: bool) -> Future[T]:
    global _threads
    with _changing:
        _threads = _threads or _Threads()
        threads = _threads.writer if writes else _threads.readers
        return threads.submit(copy_context().run, _with_connection, work)


def _with_connection(work: Callable[[], T]) -> T:
    close_old_connections()  # one that broke in the unit before
    try:
        return work()
    finally:
        if connection.vendor != "sqlite":
            connection.close()  # it goes back to the pool


# ---- the event loop's thread -----------------------------------------------------------------
class _Waits(Exception):
    """The unit would have to wait, so that it takes its turn on the threads."""


def takes_long() -> None:
    """On the event loop's thread: undo what the unit has done here, and do it on the threads."""
    if _is_at_once.get():
        raise _Waits


# Whether a unit runs on the event loop's thread.
_is_at_once: ContextVar[bool] = ContextVar("is_at_once", default=False)


@contextlib.contextmanager
def _event_loop_hidden() -> Iterator[None]:
    """Django refuses to be asked on a thread where a loop runs, for the sake of those who wait."""
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)


def _without_waiting(work: Callable[[], T], *, writes: bool) -> T:
    """Raises _Waits where another thread or program is writing, and for a database that is asked
    over a network."""
    if connection.vendor != "sqlite":
        raise _Waits
    global _on_loop
    _is_at_once.set(True)
    _on_loop = True
    close_old_connections()
    connection.ensure_connection()
    database = connection.connection
    database.execute("PRAGMA busy_timeout = 0")
    # Its log is emptied on a thread.
    database.execute("PRAGMA wal_autocheckpoint = 0")
    try:
        return _in_transaction(work) if writes else work()
    except OperationalError as error:
        if writes or "locked" not in str(error):
            raise
        raise _Waits from None
    finally:
        # As the settings have it, for whoever else asks on this thread.
        seconds = connection.settings_dict["OPTIONS"]["timeout"]
        database.execute(f"PRAGMA busy_timeout = {seconds * 1000}")


def _in_transaction(work: Callable[[], T]) -> T:
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(transaction.atomic())
        except OperationalError:
            raise _Waits from None
        return work()


# ---- the database itself ---------------------------------------------------------------------
@tidying
def flush_write_log() -> None:
    """Copy SQLite's write-ahead log into the database file, without blocking writers.

    Otherwise SQLite would do it in about every fiftieth turn, which would wait 10 to 20 ms for the
    disk. `wal_autocheckpoint` in the settings is the limit where this task doesn't run.
    """
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")


# A reader that takes longer is waited for by trying again: nobody can write meanwhile.
TRUNCATE_MILLISECONDS = 100


@tidying
def empty_write_log() -> bool:
    """As `flush_write_log`, and cut the log to nothing, so that no byte of what was deleted stays
    in it. False where somebody was reading: then another time."""
    if connection.vendor != "sqlite":
        return True
    flush_write_log.here()
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {TRUNCATE_MILLISECONDS}")
        try:
            ((busy, *_),) = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            seconds = connection.settings_dict["OPTIONS"]["timeout"]
            cursor.execute(f"PRAGMA busy_timeout = {seconds * 1000}")
    return not busy


@writing
def takes_writes() -> None:
    """Raises Django's Error where the database doesn't answer, or takes nothing: a disk that is
    full or read-only can still be read. Changes a row into what it is."""
    with connection.cursor() as cursor:
        first = "SELECT min(id) FROM django_content_type"
        cursor.execute(f"UPDATE django_content_type SET model = model WHERE id = ({first})")


def lock(path: Path) -> IO[str]:
    """Raises Refused where another server holds it: that one would have its running turns ended."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a")
    try:
        import fcntl
    except ImportError:  # Windows has no flock: there nothing prevents a second start.
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise Refused(
            f"Another server already uses {path.parent}. Stop it first, or set VAR_DIR."
        ) from None
    return file
