"""A server that stops: its answers end, its pages go on elsewhere, and balancers are told."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

import aiohttp
import pytest

from tests.fakes.talk_server import FakeTalk
from tests.person import Person
from tests.running import Server
from tests.story.talk_rooms import ask, follows

pytestmark = pytest.mark.slow

Serve = Callable[..., Server]


# Of a socket. aiohttp's own client leaves the connection of a refused one open.
HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==",
}


async def status_of(person: Person, url: str, path: str, **headers: str) -> int:
    async with person.http.get(url + path, headers={**headers, "Origin": url}) as answer:
        return answer.status


async def test_it_is_not_ready_sends_pages_elsewhere_and_its_answer_ends(serve: Serve) -> None:
    first, second = serve(), serve()
    async with Person(first.url) as ada:
        page = await ada.page()
        await page.send("Count [[tokens=200;rate=40]]")
        await page.until("delta")
        assert await status_of(ada, first.url, "/readyz") == 200
        assert first.process is not None
        first.process.send_signal(signal.SIGTERM)
        while (told := await page.socket.receive()).type == aiohttp.WSMsgType.TEXT:
            pass
        assert page.socket.close_code == 1012, told
        assert await status_of(ada, first.url, "/readyz") == 503
        assert await status_of(ada, first.url, "/healthz") == 200, "it lives, and isn't killed"
        assert await status_of(ada, first.url, "/chat") == 200
        assert await status_of(ada, first.url, "/ws", **HANDSHAKE) == 503
        there = await ada.page(page.conversation, at=second.url)
        assert there.snapshot["turn"] is not None, "it is still being written"
        ended = await there.until("turn_ended")
        assert ended["state"] == "complete" and "w199" in ended["message"]["content"]
        assert await asyncio.to_thread(first.process.wait, 30) in (0, -signal.SIGTERM)
        assert (await there.say("And on?"))["state"] == "complete"
        assert "Traceback" not in first.log


async def test_another_one_leads_while_it_still_writes(
    serve: Serve, talk: FakeTalk, talk_file: dict[str, str]
) -> None:
    leader = serve(**talk_file)
    follows(talk, 1)
    serve(**talk_file)
    async with Person(leader.url) as ada:
        page = await ada.page()
        await page.send("Count [[tokens=4000;rate=40]]")
        await page.until("delta")
        assert leader.process is not None
        leader.process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(ask, talk, "harbour1", "How high is the quay?")
        assert leader.process.poll() is None
        assert len(talk.posts("harbour1")) == 1
