"""What one person and one address may ask for, on a running server with its own numbers."""

from __future__ import annotations

import asyncio
import json
import struct
import uuid
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import pytest

from chatsite.limits.table import CONTROL_FRAMES, FRAMES, MESSAGES, PAGES, SOCKETS
from tests.person import Person
from tests.running import Server
from tests.web.test_files import connect_to


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("limits"), LIMITS_FACTOR="1") as running:
        yield running
        assert "Traceback" not in running.log, running.log


async def closed(socket: aiohttp.ClientWebSocketResponse) -> int | None:
    """The code with which the server closes the socket, whatever it says before."""
    async with asyncio.timeout(20):
        while not (await socket.receive()).type & aiohttp.WSMsgType.CLOSE:
            pass
    return socket.close_code


class TestTheSocket:
    async def test_messages_over_the_limit_are_refused_in_words_and_the_socket_stays(
        self, server: Server
    ) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            refused: list[dict[str, Any]] = []
            for _ in range(3 * MESSAGES.burst):  # a busy machine gives some back meanwhile
                await page.command("again", agent="demo", client_id=str(uuid.uuid4()), message=NONE)
                refused.append(await page.until("refused"))
                if refused[-1]["code"] == "too_many":
                    break
            assert len(refused) > MESSAGES.burst
            assert {one["code"] for one in refused[:-1]} == {"not_found"}
            assert refused[-1]["code"] == "too_many" and 1 <= refused[-1]["seconds"] <= 3
            assert refused[-1]["message"].startswith("Too many messages in a short time. Nothing")
            await page.command("open", agent="demo")
            assert (await page.event())["type"] == "snapshot"

    async def test_a_flood_of_frames_is_refused_and_then_closed_with_1008(
        self, server: Server
    ) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            for _ in range(FRAMES.burst * 4):
                await page.socket.send_str("x")
            assert await closed(page.socket) == 1008
            again = await connect(ada)
            await again.send_str("x")
            told = json.loads((await again.receive(20)).data)
            assert told["type"] == "refused", "the person's other sockets stay"

    async def test_pings_without_end_close_the_socket_with_1008(self, server: Server) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            for _ in range(CONTROL_FRAMES.burst + 5):
                await page.socket.ping()
            assert await closed(page.socket) == 1008

    async def test_a_long_frame_may_follow_a_short_one_in_two_parts(self, server: Server) -> None:
        """The rest of it arrives after the short one was read."""
        async with Person(server.url) as ada:
            page = await ada.page()
            draft = "word " * 10_000
            command = {"type": "preview", "agent": "demo", "draft": draft, "ref": "long"}
            long = frame(0x81, json.dumps(command | {"conversation": page.conversation}).encode())
            short = frame(0x81, b"{}")
            transport = page.socket._writer.transport
            for cut in (100, 4_090, 20_000, len(long) - 1):
                transport.write(short * 3 + long[:cut])
                for _ in range(3):
                    assert (await page.event())["type"] == "refused"
                transport.write(long[cut:])
                assert (await page.until("preview"))["ref"] == "long"

    async def test_a_browsers_own_pongs_are_no_flood(self, server: Server) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            for _ in range(CONTROL_FRAMES.burst - 5):
                await page.socket.pong()
            await page.command("open", agent="demo")
            assert (await page.event())["type"] == "snapshot"

    async def test_one_person_has_a_number_of_sockets_and_the_next_says_why(
        self, server: Server
    ) -> None:
        async with Person(server.url) as ada, AsyncExitStack() as open_ones:
            for _ in range(SOCKETS.most):
                socket = await connect(ada)
                await open_ones.enter_async_context(socket)
            late = await connect(ada)
            message = await late.receive(20)
            assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, 4429)
            assert message.extra == (
                "You have as many open connections as one person may have at the same time (32). "
                "Try again when one has ended."
            )
            async with Person(server.url) as bob:
                assert (await bob.page()).snapshot["type"] == "snapshot"

    async def test_a_place_is_free_again_when_a_socket_closes(self, server: Server) -> None:
        async with Person(server.url) as ada:
            for _ in range(SOCKETS.most + 5):
                socket = await connect(ada)
                await socket.close()
            assert (await ada.page()).snapshot["type"] == "snapshot"

    async def test_no_answer_comes_after_a_close_and_no_traceback(self, server: Server) -> None:
        """Frames are still on their way when the server closes: text that isn't UTF-8, a frame that
        is too long, a broken one."""
        bad = [frame(0x81, b"\xff\xfe"), frame(0x81, b"x" * 70_000), b"\xff\xff\xff\xff"]
        async with Person(server.url) as ada:
            for last in bad:
                socket = await connect(ada)
                transport = socket._writer.transport
                transport.write(frame(0x81, b"{}") * 20 + last)
                assert await closed(socket) in (1002, 1007, 1009)


NONE = "00000000-0000-4000-8000-000000000000"


def frame(opcode: int, data: bytes) -> bytes:
    """A client's frame, masked with zeros."""
    size = len(data)
    if size < 126:
        head = bytes([opcode, 0x80 | size])
    elif size < 1 << 16:
        head = bytes([opcode, 0x80 | 126]) + struct.pack("!H", size)
    else:
        head = bytes([opcode, 0x80 | 127]) + struct.pack("!Q", size)
    return head + bytes(4) + data


async def connect(person: Person) -> aiohttp.ClientWebSocketResponse:
    return await person.http.ws_connect(f"{person.url}/ws", headers={"Origin": person.url})


class TestRequests:
    async def test_over_the_limit_the_answer_is_429_with_the_time_to_wait(
        self, server: Server
    ) -> None:
        async with Person(server.url) as ada:
            status, headers, text = await until_refused(ada, "/chat", accept="text/html")
            assert status == 429 and 1 <= int(headers["retry-after"]) <= 2
            assert "<p>Too many pages in a short time. Nothing was lost; try again in " in text
            status, _, text = await until_refused(ada, "/chat", accept="application/json")
            assert status == 429 and json.loads(text)["seconds"] >= 1
            assert (await get(ada, "/conversations"))[0] == 200, "another row of the table"
            async with Person(server.url) as bob:
                assert (await get(bob, "/chat"))[0] == 200

    async def test_an_address_is_counted_whoever_asks(self, tmp_path: Any) -> None:
        with Server(tmp_path, LIMITS_FACTOR="1", PEOPLE_PER_ADDRESS="1") as narrow:
            async with Person(narrow.url) as ada:
                assert (await until_refused(ada, "/chat", as_somebody_new=True))[0] == 429
                # Without a proxy that is named, a forwarded address is the sender's invention.
                forged = {"X-Forwarded-For": "203.0.113.9"}
                async with ada.http.get(f"{narrow.url}/chat", headers=forged) as answer:
                    assert answer.status == 429

    async def test_behind_a_named_proxy_the_forwarded_address_counts(self, tmp_path: Any) -> None:
        with Server(
            tmp_path, LIMITS_FACTOR="1", PEOPLE_PER_ADDRESS="1", TRUSTED_PROXIES="127.0.0.1"
        ) as narrow:
            async with aiohttp.ClientSession() as http:

                async def ask(forwarded: str) -> int:
                    headers = {"X-Forwarded-For": forwarded}
                    async with http.get(f"{narrow.url}/healthz", headers=headers) as answer:
                        return answer.status

                async def ends(forwarded: str) -> bool:
                    """A slow machine answers one by one as fast as it is allowed."""
                    for _ in range(20):
                        if 429 in await asyncio.gather(*(ask(forwarded) for _ in range(40))):
                            return True
                    return False

                assert await ends("203.0.113.9")
                assert await ask("203.0.113.10") == 200
                assert await ends("203.0.113.77, 203.0.113.9"), "the last hop counts"

    async def test_headers_that_never_end_are_refused(self, server: Server) -> None:
        async with connect_to(server) as (reader, writer):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n")
            for _ in range(200):
                writer.write(b"X-Long: " + b"x" * 1_000 + b"\r\n")
            assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 431")


Answer = tuple[int, dict[str, str], str]


async def until_refused(
    person: Person, path: str, *, accept: str = "*/*", as_somebody_new: bool = False
) -> Answer:
    """The first refusal of many requests: a busy machine gives some back meanwhile."""
    for _ in range(3 * PAGES.burst):
        if as_somebody_new:
            person.http.cookie_jar.clear()
        answer = await get(person, path, accept=accept)
        if answer[0] != 200:
            break
    return answer


async def get(person: Person, path: str, *, accept: str = "*/*") -> Answer:
    """Status, headers in lower case, and text."""
    async with person.http.get(person.url + path, headers={"Accept": accept}) as answer:
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return answer.status, headers, await answer.text()
