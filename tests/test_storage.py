"""Where units of work run: their threads are the process's, and are made when they are needed."""

from __future__ import annotations

import asyncio
import threading

from chatsite import storage
from chatsite.storage import Pieces, in_pieces, reading


@reading
def thread() -> threading.Thread:
    """The thread that a unit runs on."""
    return threading.current_thread()


async def test_a_unit_runs_on_its_threads_or_on_the_calling_one() -> None:
    assert thread.here() is threading.current_thread()
    assert await thread() is not threading.current_thread()
    assert (thread.__name__, thread.__doc__) == ("thread", "The thread that a unit runs on.")


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
