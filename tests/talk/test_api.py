"""The requests to Nextcloud, and what is made of its refusals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from chatsite.messages import MAX_ATTACHMENT_BYTES
from chatsite.talk.api import TalkApi
from chatsite.talk.contents import LARGEST_ANSWER, MOST_PATIENCE, PATIENCE, Page, TalkTrouble
from chatsite.talk.records import RoomFile
from tests.fakes.talk_server import BOT, PASSWORD, FakeTalk
from tests.talk.harness import TOKEN

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@pytest.fixture
async def api(talk: FakeTalk) -> AsyncIterator[TalkApi]:
    found = TalkApi(server=talk.url, user=BOT, password=PASSWORD)
    yield found
    await found.close()


async def test_a_poll_gives_what_is_new_and_waits_where_nothing_is(
    api: TalkApi, talk: FakeTalk
) -> None:
    newest = await api.newest(TOKEN)
    empty = await api.poll(TOKEN, after=newest, seconds=0)
    assert (list(empty.messages), empty.last_given) == ([], newest)
    waiting = asyncio.create_task(api.poll(TOKEN, after=newest, seconds=30))
    while not talk.polling:  # noqa: ASYNC110 - another thread
        await asyncio.sleep(0.01)
    said = talk.say(TOKEN, "ada", "Hello")
    page = await waiting
    assert [one["message"] for one in page.messages] == ["Hello"]
    assert page.last_given == said["id"]
    asked = talk.asked[-1]
    for part in ("lookIntoFuture=1", "timeout=30", f"lastKnownMessageId={newest}", "limit=20"):
        assert part in asked
    assert "includeLastKnown=0" in asked and "noStatusUpdate=1" in asked


async def test_a_post_has_its_reference_and_its_reply_and_comes_back_whole(
    api: TalkApi, talk: FakeTalk
) -> None:
    said = talk.say(TOKEN, "ada", "Hello")
    raw = await api.post(TOKEN, "Hello, Ada.", reference="chatsite:x:ack", reply_to=said["id"])
    assert (raw["referenceId"], raw["parent"]["id"]) == ("chatsite:x:ack", said["id"])


async def test_the_longest_message_is_the_one_that_the_server_names(
    api: TalkApi, talk: FakeTalk
) -> None:
    talk.longest = 1000
    assert await api.longest_message() == 1000
    talk.says_text = True
    assert await api.longest_message() == 1000
    talk.features = []
    assert await api.longest_message() == 32_000


async def test_no_password_is_in_a_repr(api: TalkApi) -> None:
    assert PASSWORD not in repr(api)


# ---- servers of another kind ---------------------------------------------------------------------
async def asking(answer: Answer, ask: Callable[[TalkApi], Awaitable[object]]) -> TalkTrouble:
    """The trouble that a server with this answer makes."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app) as server:
        api = TalkApi(server=str(server.make_url("")).rstrip("/"), user=BOT, password=PASSWORD)
        try:
            with pytest.raises(TalkTrouble) as raised:
                await ask(api)
        finally:
            await api.close()
    assert PASSWORD not in str(raised.value)
    return raised.value


@pytest.mark.parametrize(
    ("status", "concern"),
    [
        (401, "account"),
        (403, "account"),
        (404, "room"),
        (412, "room"),
        (400, "request"),
        (429, "busy"),
        (500, "busy"),
        (503, "busy"),
    ],
)
async def test_what_a_status_concerns(status: int, concern: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=status)

    trouble = await asking(answer, lambda api: api.poll(TOKEN, after=1, seconds=0))
    assert trouble.concern == concern


@pytest.mark.parametrize(
    ("code", "concern"),
    [(997, "account"), ("403", "room"), (998, "room"), ("413", "request"), (996, "busy")],
)
async def test_a_status_within_an_answer_concerns_the_same(code: int | str, concern: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"ocs": {"meta": {"statuscode": code}, "data": []}})

    trouble = await asking(answer, lambda api: api.post(TOKEN, "Hello", reference="x"))
    assert trouble.concern == concern


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7), ("", PATIENCE), ("soon", PATIENCE), ("99999999", MOST_PATIENCE)],
)
async def test_a_server_says_how_long_to_wait(header: str, seconds: float) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=429, headers={"Retry-After": header})

    trouble = await asking(answer, lambda api: api.poll(TOKEN, after=1, seconds=0))
    assert trouble.seconds == seconds


async def test_no_redirect_is_followed_so_that_the_password_goes_nowhere_else() -> None:
    asked = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=302, headers={"Location": "/elsewhere"})

    trouble = await asking(answer, lambda api: api.newest(TOKEN))
    assert "sends to another address" in trouble.message
    assert len(asked) == 1


@pytest.mark.parametrize("text", ["<html>", "[]", '{"ocs": 3}', '{"ocs": {"data": 7}}', "[" * 5000])
async def test_what_is_not_talk_is_told(text: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=text)

    trouble = await asking(answer, lambda api: api.newest(TOKEN))
    assert trouble.message == "the server's answer isn't Talk's"


async def test_an_endless_answer_is_cut_off() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(LARGEST_ANSWER // 1_000_000 + 8):
            await response.write(b" " * 1_000_000)
        return response

    trouble = await asking(answer, lambda api: api.newest(TOKEN))
    assert trouble.message == "the server's answer is too long"


# ---- pages that are too long ---------------------------------------------------------------------
async def read_up(api: TalkApi, after: int) -> tuple[list[int], int]:
    """The numbers of all that comes after a message, and how many were passed."""
    found: list[int] = []
    passed = 0
    while True:
        page = await api.poll(TOKEN, after=after, seconds=0)
        if page.last_given == after:
            return found, passed
        assert page.last_given > after and bool(page.messages) != page.passed
        found += [one["id"] for one in page.messages]
        passed, after = passed + page.passed, page.last_given


async def test_of_a_page_that_is_too_long_fewer_messages_are_asked_for(
    api: TalkApi, talk: FakeTalk
) -> None:
    """An emoji is twelve bytes of JSON, and each reply carries the message that it replies to."""
    newest = await api.newest(TOKEN)
    first = talk.say(TOKEN, "eve", "\U0001f600" * 32_000)
    replies = [
        talk.say(TOKEN, "eve", "\U0001f600" * 32_000, reply_to=first["id"])["id"] for _ in range(14)
    ]
    last = talk.say(TOKEN, "ada", "Hello")
    assert await read_up(api, newest) == ([first["id"], *replies, last["id"]], 0)


@pytest.mark.parametrize("beside", [0, 3, 25])
async def test_a_message_that_is_too_long_alone_is_passed(
    api: TalkApi, talk: FakeTalk, beside: int
) -> None:
    newest = await api.newest(TOKEN)
    before = [talk.say(TOKEN, "ada", f"{number}")["id"] for number in range(beside)]
    long = talk.say(TOKEN, "eve", "x" * (LARGEST_ANSWER + 1))
    assert await api.newest(TOKEN) == long["id"], "a room may begin with one"
    after = [talk.say(TOKEN, "ada", f"{number}")["id"] for number in range(beside)]
    assert await read_up(api, newest) == ([*before, *after], 1)


async def test_the_number_of_a_message_that_is_too_long_stands_in_it_too() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"ocs": {"data": [{"id": 9, "message": "x" * LARGEST_ANSWER}]}})

    assert await polled(answer) == Page((), 9, passed=True)


async def test_what_is_too_long_and_no_page_of_talk_passes_nothing() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text="<p>Sign in" * LARGEST_ANSWER)

    trouble = await asking(answer, lambda api: api.poll(TOKEN, after=1, seconds=0))
    assert trouble.message == "the server's answer is too long"


async def test_a_file_of_too_many_shares_is_not_fetched_and_nobody_waits_for_it() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"ocs": {"data": [{"id": "x" * LARGEST_ANSWER}]}})

    file = RoomFile(id=7, name="a", path="Talk/a")
    trouble = await asking(answer, lambda api: api.is_shared(TOKEN, file))
    assert trouble.concern == "request"


async def test_a_download_ends_behind_what_is_allowed(talk: FakeTalk, api: TalkApi) -> None:
    talk.files["Talk/large.bin"] = b"x" * (MAX_ATTACHMENT_BYTES + 5_000_000)
    async with aclosing(api.download("Talk/large.bin")) as blocks:
        size = sum([len(block) async for block in blocks])
    assert MAX_ATTACHMENT_BYTES < size < MAX_ATTACHMENT_BYTES + 5_000_000


@pytest.mark.parametrize("given", ["9" * 19, "9" * 5_000, "-1", "1e9", "\u0663", ""])
async def test_a_number_that_no_message_can_have_is_not_believed(given: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        headers = {"X-Chat-Last-Given": given}
        return web.json_response({"ocs": {"data": [{"id": 5}]}}, headers=headers)

    assert (await polled(answer)).last_given == 0


async def polled(answer: Answer) -> Page:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app) as server:
        api = TalkApi(server=str(server.make_url("")).rstrip("/"), user=BOT, password=PASSWORD)
        try:
            return await api.poll(TOKEN, after=0, seconds=0)
        finally:
            await api.close()
