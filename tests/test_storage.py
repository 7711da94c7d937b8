"""Where units of work run: their threads are the process's, and are made when they are needed."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing

import pytest
from django.db import connection

from chatsite import storage
from chatsite.conversations.models import OwnerTotal
from chatsite.storage import Pieces, at_once, in_pieces, reading, takes_long, writing


@reading
def thread() -> threading.Thread:
    """The thread that a unit runs on."""
    return threading.current_thread()


async def test_a_unit_runs_on_its_threads_or_on_the_calling_one() -> None:
    assert thread.here() is threading.current_thread()
    assert await thread() is not threading.current_thread()
    assert (thread.__name__, thread.__doc__) == ("thread", "The thread that a unit runs on.")


@at_once
@writing
def note(name: str) -> threading.Thread:
    """Write a row; the thread that did it."""
    OwnerTotal.objects.create(owner=name, characters=1)
    return threading.current_thread()


@at_once
@reading
def noted() -> set[str]:
    return set(OwnerTotal.objects.values_list("owner", flat=True))


class TestAtOnce:
    """On a database of its own: other connections see what is stored."""

    pytestmark = pytest.mark.django_db(transaction=True)

    async def test_such_a_unit_runs_on_the_event_loops_own_thread(self) -> None:
        assert await note("one") is threading.current_thread()
        assert await noted() == {"one"}
        assert asyncio.get_running_loop().is_running(), "it is hidden from Django alone"

    async def test_while_the_threads_write_it_takes_its_turn_there(self) -> None:
        begun, may_end = threading.Event(), threading.Event()

        @writing
        def takes_long() -> None:
            begun.set()
            assert may_end.wait(20)

        long = asyncio.create_task(takes_long())
        assert await asyncio.to_thread(begun.wait, 20)
        later = asyncio.create_task(note("two"))
        await asyncio.sleep(0)
        assert await noted() == set(), "readers never wait"
        may_end.set()
        await long
        assert await later is not threading.current_thread()
        assert await noted() == {"two"}

    async def test_while_another_program_writes_the_loop_goes_on(self) -> None:
        path = connection.settings_dict["NAME"]
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            waiting = asyncio.create_task(note("three"))
            done, _ = await asyncio.wait({waiting}, timeout=0.1)
            assert not done
            other.execute("COMMIT")
        assert await waiting is not threading.current_thread()
        assert await note("four") is threading.current_thread()
        assert await noted() == {"three", "four"}

    async def test_one_that_takes_long_is_undone_and_done_on_the_threads(self) -> None:
        @at_once
        @writing
        def is_long(name: str) -> threading.Thread:
            wrote = note.here(name)
            takes_long()
            return wrote

        assert await is_long("one") is not threading.current_thread()
        assert await noted() == {"one"}

    async def test_what_fails_leaves_nothing_and_the_next_one_works(self) -> None:
        @at_once
        @writing
        def fails() -> None:
            OwnerTotal.objects.create(owner="five", characters=1)
            raise OSError("the disk is full")

        with pytest.raises(OSError, match="disk"):
            await fails()
        assert not connection.in_atomic_block
        await note("six")
        assert await noted() == {"six"}


async def test_closed_threads_have_ended_and_the_next_unit_makes_new_ones() -> None:
    first = await thread()
    storage.close()
    assert not first.is_alive()
    storage.close()
    assert (await thread()).is_alive()


async def test_a_server_that_stops_waits_for_its_own_pieces_only(transactional_db: None) -> None:
    """In a process with two event loops, another one's tasks can't be awaited."""
    begun, may_end, done = threading.Event(), threading.Event(), []

    @in_pieces
    def waits() -> Pieces[None]:
        begun.set()
        assert may_end.wait(20)
        yield
        done.append("another loop's")

    other = threading.Thread(target=lambda: asyncio.run(waits()))
    other.start()
    assert await asyncio.to_thread(begun.wait, 20)
    await asyncio.wait_for(storage.drain(), 20)
    assert not done
    may_end.set()
    await asyncio.to_thread(other.join, 20)
    assert done == ["another loop's"]
