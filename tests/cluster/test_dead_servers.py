"""Two servers on one PostgreSQL: whose answer it is, and what becomes of it when its server dies or
hangs."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from chatsite.cluster.presence import LOOK_SECONDS, SETTLED_SECONDS
from tests.person import Page, Person
from tests.postgres import Postgres
from tests.running import Server

pytestmark = pytest.mark.slow

SETTLED = SETTLED_SECONDS + LOOK_SECONDS
Serve = Callable[..., Server]
# Slow enough to outlast everything that a test does meanwhile.
LONG = "Count [[tokens=4000;rate=20]]"


def database_of(server: Server) -> str:
    return server.environment["DATABASE_URL"].rpartition("/")[2]


async def begin_answer(page: Page) -> str:
    """Ask for a long answer and read some of it: the turn's id."""
    await page.send(LONG)
    started = await page.until("turn_started")
    await page.until("delta")
    return str(started["turn"])


async def until_settled(postgres: Postgres, database: str) -> None:
    """Until all servers have been connected for so long that a free lock counts: one that has just
    come back gives the others time to do the same."""
    ages = "SELECT min(extract(epoch FROM seen - started)) FROM conversations_server"
    async with asyncio.timeout(30):
        while float(postgres.psql(ages, database=database)) < SETTLED:  # noqa: ASYNC110 - servers
            await asyncio.sleep(0.2)


async def ended_turn(person: Person, server: Server, chat: str, *, within: float) -> dict[str, Any]:
    """Look until no answer is being written there: what a page is shown."""
    async with asyncio.timeout(within):
        while True:
            page = await person.page(chat, at=server.url)
            await page.close()
            if page.snapshot["turn"] is None:
                return page.snapshot
            await asyncio.sleep(0.1)


async def test_a_second_server_and_pages_there_leave_a_running_answer_alone(serve: Serve) -> None:
    first = serve()
    async with Person(first.url) as ada:
        page = await ada.page()
        turn = await begin_answer(page)
        second = serve()
        there = await ada.page(page.conversation, at=second.url)
        assert there.snapshot["turn"]["id"] == turn
        await there.send("And another one?")
        assert (await there.until("refused"))["code"] == "turn_running"
        await page.until("delta")
        await page.command("stop")
        assert (await page.until("turn_ended"))["state"] == "stopped"


async def test_the_answers_of_a_killed_server_end_once_within_seconds(
    serve: Serve, postgres: Postgres
) -> None:
    first, second, third = serve(), serve(), serve()
    async with Person(first.url) as ada:
        pages = [await ada.page() for _ in range(3)]
        for page in pages:
            await begin_answer(page)
        await asyncio.sleep(6)  # the others are settled by then: a free lock counts after 5 s
        await asyncio.sleep(1)
        first.kill()
        for page in pages:
            shown = await ended_turn(ada, second, page.conversation, within=4)
            answer = shown["messages"][-1]
            assert answer["state"] == "interrupted" and answer["content"]
            assert "problem" in shown["messages"][-2] or answer["problem"] is not None
    assert (second.log + third.log).count("is dead") == 1


async def test_a_server_that_hung_is_fenced_when_it_wakes(serve: Serve) -> None:
    first, second = serve(), serve()
    async with Person(first.url) as ada:
        page = await ada.page()
        turn = await begin_answer(page)
        assert first.process is not None
        first.process.send_signal(signal.SIGSTOP)
        shown = await ended_turn(ada, second, page.conversation, within=14)
        stored = shown["messages"][-1]
        first.process.send_signal(signal.SIGCONT)
        # Its page is sent what is stored, and what it wrote meanwhile isn't.
        async with asyncio.timeout(10):
            while (looked := await page.until("snapshot"))["turn"] is not None:
                pass
        assert looked["messages"][-1] == stored
        again = await ada.page(page.conversation)
        assert again.snapshot["turn"] is None and turn
        assert again.snapshot["messages"][-1] == stored
        async with asyncio.timeout(10):
            while "took this one for dead" not in first.log:  # noqa: ASYNC110 - a server
                await asyncio.sleep(0.1)
        assert (await again.say("And now?"))["state"] == "complete", "it goes on as another server"
        # Its pages follow what others write, under its new number.
        there = await ada.page(page.conversation, at=second.url)
        await there.send("Count [[tokens=300;rate=40]]")
        await again.until("delta")
        assert (await again.until("turn_ended"))["state"] == "complete"


async def test_a_server_that_hung_in_a_transaction_keeps_nobody_from_its_conversation(
    serve: Serve, postgres: Postgres
) -> None:
    first, second = serve(), serve()
    waiting = "SELECT count(*) FROM pg_locks WHERE relation IS NOT NULL AND NOT granted"
    async with Person(first.url) as ada:
        page = await ada.page()
        await page.say("Hello")
        there = await ada.page(page.conversation, at=second.url)
        with psycopg.connect(first.environment["DATABASE_URL"]) as held:
            # The next turn holds its conversation, and then waits here to be stored.
            held.execute("LOCK TABLE conversations_turn IN SHARE MODE")
            await page.send("Are you there?")
            async with asyncio.timeout(30):
                while not int(postgres.psql(waiting, database=database_of(first))):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            assert first.process is not None
            first.process.send_signal(signal.SIGSTOP)
        assert (await there.say("And you?"))["state"] == "complete"
        first.process.send_signal(signal.SIGCONT)
        again = await ada.page(page.conversation)
        assert [one["content"] for one in again.snapshot["messages"] if one["role"] == "user"] == [
            "Hello",
            "And you?",
        ]


async def send_unheard(page: Page, text: str, postgres: Postgres, database: str) -> None:
    """What is sent is committed, and the server never hears of it: its commit waits for a copy of
    the database, which isn't there, until its connection is ended."""
    waiting = (
        f"FROM pg_stat_activity WHERE datname = '{database}' AND query = 'COMMIT' "
        "AND wait_event = 'SyncRep'"
    )
    try:
        postgres.psql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        postgres.psql("SELECT pg_reload_conf()")
        await page.send(text)
        async with asyncio.timeout(30):
            while postgres.psql(f"SELECT count(*) {waiting}") == "0":  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        postgres.psql(f"SELECT pg_terminate_backend(pid) {waiting}")
    finally:
        postgres.psql("ALTER SYSTEM RESET synchronous_standby_names")
        postgres.psql("SELECT pg_reload_conf()")


async def test_an_answer_whose_beginning_was_stored_as_its_connection_broke_ends(
    serve: Serve, postgres: Postgres, url: str
) -> None:
    """Its server can't know that the beginning was stored, and writes nothing. But that server
    lives, so that no other one may end the answer."""
    database = url.rpartition("/")[2]
    postgres.psql(f"ALTER DATABASE {database} SET synchronous_commit = on")
    first, second = serve(), serve()
    async with Person(first.url) as ada:
        page = await ada.page()
        there = await ada.page(page.conversation, at=second.url)
        await page.say("Something")
        await send_unheard(page, "And then?", postgres, database)
        async with asyncio.timeout(30):
            while (await page.event())["type"] != "refused":
                pass
        shown = await ended_turn(ada, second, page.conversation, within=30)
        assert [one["content"] for one in shown["messages"] if one["role"] == "user"] == [
            "Something",
            "And then?",
        ]
        while (await there.until("snapshot"))["messages"] != shown["messages"]:
            pass
        assert (await there.say("And now?"))["state"] == "complete"
