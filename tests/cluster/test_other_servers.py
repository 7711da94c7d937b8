"""A conversation on two servers at once: the pages of both show the same, whichever of them
answers, and each may stop, mark and rename."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable

import aiohttp
import pytest
import pytest_asyncio

from tests.person import Page, Person
from tests.postgres import Postgres
from tests.running import Server

pytestmark = pytest.mark.slow

Serve = Callable[..., Server]
PACED = "Count [[tokens=60;rate=40]]"
LONG = "Count [[tokens=4000;rate=20]]"


@pytest.fixture
def pair(serve: Serve) -> tuple[Server, Server]:
    first, second = serve(), serve()
    return first, second


@pytest_asyncio.fixture
async def pages(pair: tuple[Server, Server]) -> AsyncIterator[tuple[Person, Page, Page]]:
    """Ada, her page on the first server, and one of the same conversation on the second."""
    first, second = pair
    async with Person(first.url) as ada:
        page = await ada.page()
        yield ada, page, await ada.page(page.conversation, at=second.url)


class Follower:
    """Puts the text of a running answer together as a page does: by its offsets."""

    def __init__(self, page: Page) -> None:
        self.page = page
        turn = page.snapshot["turn"]
        self.text = turn["text"] if turn else ""

    async def until_end(self) -> str:
        while True:
            event = await self.page.until("delta", "turn_started", "snapshot", "turn_ended")
            if event["type"] == "delta":
                assert event["offset"] <= len(self.text), "a gap"
                self.text = self.text[: event["offset"]] + event["text"]
            elif event["type"] == "snapshot":
                self.text = event["turn"]["text"] if event["turn"] else self.text
            elif event["type"] == "turn_ended":
                return str(event["message"]["content"])


async def test_a_page_on_another_server_follows_an_answer_word_by_word(
    pages: tuple[Person, Page, Page],
) -> None:
    _, page, there = pages
    await page.send(PACED)
    assert (await there.until("turn_started"))["messages"][-1]["content"] == PACED
    following = Follower(there)
    whole = await following.until_end()
    assert following.text == whole == (await page.until("turn_ended"))["message"]["content"]
    deltas = [event for event in there.events if event["type"] == "delta"]
    assert len(deltas) > 10, "as it is written, not at its end"
    assert there.receipt == page.receipt


async def test_a_page_that_opens_in_the_middle_has_the_text_so_far_and_what_follows(
    pair: tuple[Server, Server],
) -> None:
    first, second = pair
    async with Person(first.url) as ada:
        page = await ada.page()
        await page.send(PACED)
        await page.until("delta")
        there = Follower(await ada.page(page.conversation, at=second.url))
        assert there.page.snapshot["turn"] is not None
        later = Follower(await ada.page(page.conversation, at=second.url))
        whole = (await page.until("turn_ended"))["message"]["content"]
        assert await there.until_end() == there.text == whole
        assert await later.until_end() == later.text == whole


async def test_answers_that_follow_each_other_at_once_are_seen_whole(
    pair: tuple[Server, Server],
) -> None:
    """The next one begins before the other server was told the end of the last."""
    first, second = pair
    async with Person(first.url) as ada:
        page = await ada.page()
        there = await ada.page(page.conversation, at=second.url)
        for _ in range(5):
            whole = (await page.say("Count [[tokens=30;rate=200]]"))["message"]["content"]
            following = Follower(there)
            following.text = ""
            assert await following.until_end() == following.text == whole


async def test_stop_reaches_the_server_that_writes(pair: tuple[Server, Server]) -> None:
    first, second = pair
    async with Person(first.url) as ada:
        page = await ada.page()
        await page.send(LONG)
        await page.until("delta")
        there = await ada.page(page.conversation, at=second.url)
        await there.command("stop")
        assert (await page.until("turn_ended"))["state"] == "stopped"
        assert (await there.until("turn_ended"))["state"] == "stopped"


async def test_marks_and_names_are_seen_on_the_other_server(
    pages: tuple[Person, Page, Page],
) -> None:
    ada, page, there = pages
    ended = await page.say("Something")
    await there.until("turn_ended")
    await ada.ask("PATCH", f"/messages/{ended['message']['id']}", {"pinned": True})
    assert (await there.until("marked"))["pinned"]
    await ada.ask("PATCH", f"/conversations/{page.conversation}", {"title": "Harbour"})
    assert (await there.until("renamed"))["title"] == "Harbour"


async def test_a_person_has_as_many_answers_written_on_all_servers_together(serve: Serve) -> None:
    first, second = [serve(MAX_ANSWERS_PER_OWNER="2") for _ in range(2)]
    async with Person(first.url) as ada:
        pages = [await ada.page(at=server.url) for server in (first, second, first, second)]
        for page in pages[:2]:
            await page.send(LONG)
            await page.until("delta")
        for page in pages[2:]:
            await page.send(LONG)
            assert (await page.until("refused"))["code"] == "too_many"
        await pages[0].command("stop")
        await pages[0].until("turn_ended")
        assert (await pages[3].say("Now?"))["state"] == "complete"


async def test_who_signs_out_on_one_server_is_signed_out_on_the_other(
    pair: tuple[Server, Server],
) -> None:
    first, second = pair
    first.add_user("ada", "a long password")
    async with Person(first.url) as ada:
        await ada.sign_in("ada", "a long password")
        there = await ada.page(at=second.url)
        await ada.sign_out()
        closed = await asyncio.wait_for(there.socket.receive(), 10)
        assert closed.type == aiohttp.WSMsgType.CLOSE


async def test_nobody_follows_a_conversation_of_somebody_else(pair: tuple[Server, Server]) -> None:
    first, second = pair
    async with Person(first.url) as ada, Person(second.url) as bob:
        page = await ada.page()
        await page.send(PACED)
        await page.until("delta")
        socket = await bob.page()
        await socket.command("open", agent="demo", conversation=page.conversation)
        assert (await socket.until("refused"))["code"] == "not_found"
        await page.until("turn_ended")
        await socket.say("Mine")
        assert not [one for one in socket.events if one.get("turn") == page.receipt["turn"]]  # type: ignore[index]


async def test_after_the_database_was_away_both_pages_show_what_is_stored(
    pages: tuple[Person, Page, Page], postgres: Postgres
) -> None:
    _, page, there = pages
    await page.send("Count [[tokens=300;rate=40]]")
    await there.until("delta")
    postgres.stop("fast")
    postgres.start()
    ended = await page.until("turn_ended")
    assert ended["state"] == "complete"
    again = await there.until("turn_ended", "snapshot")
    while again["type"] == "snapshot" and again["turn"] is not None:
        again = await there.until("turn_ended", "snapshot")
    shown = again["message"] if again["type"] == "turn_ended" else again["messages"][-1]
    assert shown["content"] == ended["message"]["content"]


async def test_a_page_learns_within_seconds_that_a_hung_server_writes_no_more(
    pages: tuple[Person, Page, Page],
    pair: tuple[Server, Server],
) -> None:
    _, page, there = pages
    first, _ = pair
    await page.send(LONG)
    await there.until("delta")
    assert first.process is not None
    first.process.send_signal(signal.SIGSTOP)
    async with asyncio.timeout(14):
        # First it isn't heard any more: pages get what was saved.
        while (shown := await there.until("snapshot"))["turn"] is not None:
            pass
    assert shown["messages"][-1]["state"] == "interrupted"


async def test_a_page_is_shown_what_a_new_server_wrote_before_it_heard_of_the_page(
    serve: Serve,
) -> None:
    first = serve()
    async with Person(first.url) as ada:
        page = await ada.page()
        await page.say("Something")
        assert first.process is not None
        # Not for so long that it is taken for dead: it comes to know the second one afterwards.
        first.process.send_signal(signal.SIGSTOP)
        async with asyncio.timeout(9):
            second = await asyncio.to_thread(serve)
            there = await ada.page(page.conversation, at=second.url)
            ended = await there.say("And then?")
        first.process.send_signal(signal.SIGCONT)
        shown = await page.until("snapshot")
        assert shown["messages"][-1] == ended["message"]


async def test_a_page_is_shown_what_was_written_while_its_server_was_taken_for_dead(
    pages: tuple[Person, Page, Page], pair: tuple[Server, Server]
) -> None:
    _, page, there = pages
    first, second = pair
    assert first.process is not None
    first.process.send_signal(signal.SIGSTOP)
    async with asyncio.timeout(20):
        while "is dead" not in second.log:  # noqa: ASYNC110 - a server
            await asyncio.sleep(0.1)
    ended = await there.say("And then?")
    first.process.send_signal(signal.SIGCONT)
    shown = await page.until("snapshot")
    assert shown["messages"][-1] == ended["message"]


async def test_a_page_that_opens_while_the_database_is_away_is_told_to_ask_again(
    serve: Serve, postgres: Postgres
) -> None:
    async with Person(serve().url) as ada:
        page = await ada.page()
        postgres.stop("fast")
        try:
            await page.command("open", agent="demo")
            while (refused := await page.event())["type"] != "refused":
                pass
        finally:
            postgres.start()
        assert (refused["code"], refused["seconds"] > 0) == ("internal", True)
        assert await page.open()
