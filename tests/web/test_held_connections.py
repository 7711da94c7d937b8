"""Connections that nobody uses: each has a deadline, and of too many the oldest is closed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from chatsite.web.server import connections
from chatsite.web.server.connections import MOST_OF_ADDRESS, UnreadAnswers
from tests.running import Server

pytestmark = pytest.mark.slow

LARGE = "/static/vendor/mermaid/mermaid.min.js"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Its connections are counted."""
    with Server(tmp_path_factory.mktemp("alone"), flags=()) as server:
        yield server
        server.kill()


def _asked(server: Server, path: str, *, method: str = "GET", more: str = "") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n{more}\r\n".encode()


@contextmanager
def _connected(server: Server, sent: bytes, *, buffer: int = 0) -> Iterator[socket.socket]:
    with socket.socket() as one:
        if buffer:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        one.settimeout(10)
        one.connect(("127.0.0.1", server.port))
        one.sendall(sent)
        yield one


def _read_answer(one: socket.socket) -> None:
    """An answer that tells its length."""
    head, _, body = one.recv(65_536).partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += one.recv(65_536)


def _is_closed(one: socket.socket, *, seconds: float = 5) -> bool:
    """Whether it is closed before all of what was asked for has come."""
    one.settimeout(seconds)
    got = 0
    try:
        while block := one.recv(65_536):
            got += len(block)
    except TimeoutError:
        return False
    except OSError:
        return True
    return got < 3_000_000


@pytest.mark.parametrize("then", [b"\r\n", b""], ids=["an empty line", "nothing"])
def test_whoever_goes_on_with_no_request_is_silent(alone: Server, then: bytes) -> None:
    """An empty line stops uvicorn's timer between two requests, and begins no request."""
    with ExitStack() as open_:
        oldest = None
        for _ in range(MOST_OF_ADDRESS + 2):
            one = open_.enter_context(_connected(alone, _asked(alone, "/healthz")))
            _read_answer(one)
            one.sendall(then)
            oldest = oldest or one
        assert oldest is not None and _is_closed(oldest, seconds=3)


@pytest.mark.thorough
async def test_bytes_that_begin_no_request_have_a_deadline(alone: Server) -> None:
    """Whoever sends one every second, too."""

    async def closed(sent: bytes, then: bytes) -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", alone.port)
        writer.write(sent)
        rest = asyncio.create_task(reader.read())
        try:
            for _ in range(20):
                await asyncio.wait([rest], timeout=1)
                if rest.done():
                    return True
                writer.write(then)
            return False
        finally:
            rest.cancel()
            writer.close()

    h2c = "Upgrade: h2c\r\nConnection: Upgrade\r\n"
    found = await asyncio.gather(
        closed(_asked(alone, "/healthz"), b"\r\n"),
        closed(_asked(alone, "/static/nowhere"), b"\r\n"),
        closed(_asked(alone, "/healthz", more=h2c), b"x"),
        _closed_once(alone, b"\r\n"),
    )
    assert all(found), found


async def _closed_once(server: Server, then: bytes) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(_asked(server, "/healthz"))
    await reader.readuntil(b'"ok"}')
    writer.write(then)
    try:
        async with asyncio.timeout(20):
            return not await reader.read()
    except TimeoutError:
        return False
    finally:
        writer.close()


def test_headers_after_a_body_have_the_same_bound(alone: Server) -> None:
    more = "Transfer-Encoding: chunked\r\n"
    sent = _asked(alone, "/accounts/login/", method="POST", more=more) + b"1\r\na\r\n0\r\nx: "
    with _connected(alone, sent) as one:
        try:
            for _ in range(40):
                one.sendall(b"y" * 8_192)
        except OSError:
            return
        assert _is_closed(one, seconds=4)


def test_of_too_many_unread_answers_the_oldest_is_closed(tmp_path: Path) -> None:
    with Server(tmp_path, flags=()) as server, ExitStack() as open_:
        asked = _asked(server, LARGE)
        found = [
            open_.enter_context(_connected(server, asked, buffer=2_048))
            for _ in range(MOST_OF_ADDRESS + 8)
        ]
        with _connected(server, _asked(server, "/healthz")) as other:
            _read_answer(other)
        assert any(_is_closed(one) for one in found[:8])
        # Whoever came last is served.
        assert not _is_closed(found[-1], seconds=3)
        assert "unread answers" in server.log and "Traceback" not in server.log


class TestUnread:
    """Over a real connection, with shorter times."""

    async def test_one_of_which_nothing_is_read_is_closed(self, short: None) -> None:
        async with _writing() as (client, ended):
            async with asyncio.timeout(5):
                await ended.wait()
            client.close()

    async def test_one_that_is_read_slowly_stays(self, short: None) -> None:
        loop = asyncio.get_running_loop()
        async with _writing() as (client, ended):
            for _ in range(40):
                await loop.sock_recv(client, 16_384)
                await asyncio.sleep(0.05)
            assert not ended.is_set()
            client.close()


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 0.6)
    monkeypatch.setattr(connections, "LOOK_SECONDS", 0.1)


class _Writes(asyncio.Protocol):
    def __init__(self, unread: UnreadAnswers) -> None:
        self.unread, self.ended = unread, asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(b"x" * 20_000_000)

    def pause_writing(self) -> None:
        self.unread.add("10.0.0.1", self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.unread.remove(self.transport)
        self.ended.set()


@asynccontextmanager
async def _writing() -> AsyncIterator[tuple[socket.socket, asyncio.Event]]:
    loop = asyncio.get_running_loop()
    protocol = _Writes(UnreadAnswers(by_address=True))
    server = await loop.create_server(lambda: protocol, "127.0.0.1", 0)
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    client.setblocking(False)
    await loop.sock_connect(client, server.sockets[0].getsockname())
    try:
        yield client, protocol.ended
    finally:
        server.close()
        client.close()
