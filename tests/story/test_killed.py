"""The engine and the server killed in the middle of an answer, with the real model: the saved cache
is reused, at most the last second of text is lost, and no process remains."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from tests.person import Page, Person
from tests.running import Server

pytestmark = pytest.mark.engine

STORY = (
    "In the harbour the boats lie close and the wind comes from the sea. A keeper counts the sails "
    "and writes the weather into a book. At dusk the lamp is lit, and who is late sees it from far "
    "away. Say in one sentence what the keeper does."
)
# The model writes on this up to its limit. Asked for less, it ends after one sentence each time.
LONG = "Write a story about the keeper in ten chapters, each with a title and three paragraphs."


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path, CHAT_ENGINE="auto") as server:
        yield server


def engine_of(server: Server) -> psutil.Process:
    assert server.process is not None
    children = psutil.Process(server.process.pid).children(recursive=True)
    [engine] = [one for one in children if "chatsite.providers.embedded.child" in one.cmdline()]
    return engine


def is_gone(process: psutil.Process) -> bool:
    """Ended, or a zombie that its new parent has still to collect."""
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


async def until(condition: Callable[[], object], *, seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)


def saved_cells(server: Server) -> int:
    """How many of the conversation's cells are saved on disk."""
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3")) as stored:
        found = stored.execute(
            "SELECT length(ids) / 4 FROM conversations_kvsession WHERE conversation_id IS NOT NULL"
        ).fetchone()
    return int(found[0]) if found else 0


async def first_turn(server: Server, page: Page) -> None:
    """A turn that is answered and then saved."""
    ended = await page.say(STORY)
    assert ended["state"] == "complete"
    await until(lambda: saved_cells(server))


async def begin_long_answer(page: Page) -> tuple[str, str]:
    """Request a long answer and read it for some seconds; try again if the model ends too soon.
    Return the text so far, and the part older than 1.3 s: the server saves texts once a second."""
    clock = asyncio.get_running_loop().time
    # After some short answers the model gives no other, however often it is asked.
    for _ in range(4):
        await page.send(LONG)
        text, times, old = "", [(clock(), "")], ""
        while clock() < times[0][0] + 2.6 or not old:
            event = await page.until("delta", "turn_ended")
            if event["type"] == "turn_ended":
                break
            text += event["text"]
            times.append((clock(), text))
            old = next((part for moment, part in reversed(times) if moment < clock() - 1.3), "")
        else:
            return text, old
    raise AssertionError("the model wrote for no longer than a second or two")


async def check_reuse(page: Page, cells: int) -> None:
    """The next turn reuses all saved cells. They lack the end token of the saved answer, which the
    model reads with the next turn."""
    again = await page.say("What does the keeper do?")
    assert again["state"] == "complete", again
    cache = again["receipt"]["cache"]
    assert cache["origin"] == "session"
    assert cache["reused"] == cache["expected"] == cells


async def test_after_the_engine_was_killed_the_next_turn_reuses_the_saved_cache(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        page = await ada.ready_page()
        await first_turn(server, page)
        killed = engine_of(server)
        text, _ = await begin_long_answer(page)
        os.kill(killed.pid, signal.SIGKILL)
        cells = saved_cells(server)
        ended = await page.until("turn_ended")
        assert ended["state"] == "interrupted" and ended["message"]["content"].startswith(text)
        await check_reuse(page, cells)
        assert is_gone(killed) and engine_of(server).pid != killed.pid


async def test_after_the_server_was_killed_the_next_turn_reuses_the_saved_cache(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        page = await ada.ready_page()
        await first_turn(server, page)
        engine = engine_of(server)
        text, old = await begin_long_answer(page)
        server.kill()
        cells = saved_cells(server)
        await until(lambda: is_gone(engine))
        server.start()
        page = await ada.page(page.conversation)
        stored = page.snapshot["messages"][-1]
        assert stored["state"] == "interrupted"
        content = stored["content"]
        assert content.startswith(old) and (content.startswith(text) or text.startswith(content))
        await check_reuse(page, cells)
