from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest

from chatsite.providers.http import transport

Answering = Callable[[bytes], bytes]


@asynccontextmanager
async def serving(answer: Answering) -> AsyncIterator[str]:
    """A server that answers each request by its head, and closes."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        body = await reader.readexactly(int(length[1])) if length else b""
        writer.write(answer(head + body))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def whole(body: bytes, *, status: str = "200 OK", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nconnection: close\r\n{more}content-length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def asked(
    answer: Answering, do: Callable[[httpx2.AsyncClient, str], Awaitable[httpx2.Response]]
) -> httpx2.Response:
    async with serving(answer) as url, transport.ServerClient(url, connect=1) as client:
        return await do(client, url)


async def test_a_compressed_body_is_decoded() -> None:
    packed = whole(gzip.compress(b'{"a": 1}'), more="content-encoding: gzip\r\n")
    response = await asked(lambda _: packed, lambda client, url: client.get(url))
    assert response.json() == {"a": 1}
    assert "content-encoding" not in response.headers


@pytest.mark.parametrize("status", ["500 Error", "307 Moved"])
@pytest.mark.parametrize("packed", [False, True])
async def test_of_an_error_only_the_beginning_is_read(status: str, packed: bool) -> None:
    body, more = b"x" * 50_000_000, ""
    if packed:
        body, more = gzip.compress(body, 1), "content-encoding: gzip\r\n"
    answer = whole(body, status=status, more=more)
    response = await asked(lambda _: answer, lambda client, url: client.get(url))
    assert response.content == b"x" * transport.MOST_OF_ERROR


async def test_a_packed_body_that_grows_too_large_is_none() -> None:
    packed = gzip.compress(b"x" * (transport.MOST_OF_BODY + 1))
    answer = whole(packed, more="content-encoding: gzip\r\n")
    with pytest.raises(httpx2.RemoteProtocolError, match="BodyTooLong"):
        await asked(lambda _: answer, lambda client, url: client.get(url))


async def test_a_redirect_is_not_followed_so_that_the_key_stays_where_it_belongs() -> None:
    seen: list[bytes] = []

    def answer(request: bytes) -> bytes:
        seen.append(request)
        return whole(b"", status="307 Moved", more="location: http://127.0.0.1:9/other\r\n")

    response = await asked(answer, lambda client, url: client.get(f"{url}/a?b=%2Fc"))
    assert (response.status_code, len(seen)) == (307, 1)
    assert seen[0].startswith(b"GET /a?b=%2Fc HTTP/1.1\r\n")


async def test_a_large_body_is_sent_whole() -> None:
    said = b"x" * 3_000_000
    response = await asked(
        lambda request: whole(str(request.count(b"x" * 1000)).encode()),
        lambda client, url: client.post(url, content=said),
    )
    assert response.text == "3000"


async def test_a_cookie_is_not_brought_along_for_another_person() -> None:
    answer = whole(b"", more="set-cookie: who=ada; path=/\r\n")
    seen: list[bytes] = []

    def noted(request: bytes) -> bytes:
        seen.append(request)
        return answer

    async def twice(client: httpx2.AsyncClient, url: str) -> httpx2.Response:
        await client.get(url)
        return await client.get(url)

    await asked(noted, twice)
    assert len(seen) == 2 and b"cookie:" not in seen[1].lower()


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", httpx2.RemoteProtocolError),
        (b"SSH-2.0-OpenSSH\r\n\r\n", httpx2.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhalf", httpx2.RemoteProtocolError),
        (whole(b"no gzip", more="content-encoding: gzip\r\n"), httpx2.RemoteProtocolError),
    ],
)
async def test_errors_are_those_of_httpx2(answer: bytes, error: type[httpx2.RequestError]) -> None:
    with pytest.raises(error) as told:
        await asked(lambda _: answer, lambda client, url: client.get(url))
    assert "127.0.0.1" not in str(told.value)


async def test_a_time_out_of_the_request_holds() -> None:
    left = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        left.set()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server, transport.ServerClient("http://127.0.0.1", connect=1) as client:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(httpx2.ReadTimeout):
            await client.get(f"http://127.0.0.1:{port}/", timeout=httpx2.Timeout(0.1))
        await left.wait()


def test_a_proxy_of_the_environment_is_for_the_world_outside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://ada:secret@proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inside.example")
    found = {
        url: transport.proxy_for(url)
        for url in ("http://127.0.0.1:1/v1", "http://inside.example/", "http://api.example/")
    }
    assert list(found.values()) == [None, None, "http://ada:secret@proxy.example:3128"]
