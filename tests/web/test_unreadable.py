"""What no program of a person sends gets a sentence, and a line in the log without a traceback."""

from __future__ import annotations

import socket
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest

from chatsite.web.server.requests import unreadable
from tests.person import Person
from tests.running import Server
from tests.web.browser_requests import ask_from_page

pytestmark = pytest.mark.slow

FORM = "application/x-www-form-urlencoded"
PARTS = "multipart/form-data; boundary=B"
SOCKET = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Its log holds what these tests do, and nothing else."""
    with Server(tmp_path_factory.mktemp("plain"), flags=()) as server:
        yield server
        assert "Traceback" not in server.log
        assert "Internal Server Error" not in server.log


def _scope(*types: str, query: bytes = b"") -> dict[str, Any]:
    headers = [(b"content-type", one.encode("latin-1")) for one in types]
    return {"query_string": query, "headers": headers}


@pytest.mark.parametrize(
    "type",
    [
        "",
        "application/json",
        "application/json; charset=UTF-8",
        'text/plain;charset="utf-8"',
        "application/json; charset=utf8",
        "text/plain; format=flowed; delsp=yes",
        'x/y; title="a; b"',
        FORM,
        "multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW",
        "multipart/form-data; boundary=----geckoformboundary6d3d6bd0a4f3f3",
        'multipart/form-data; boundary="===============7330845974216740156=="',
        f"multipart/form-data; boundary={'x' * 70}; charset=utf-8",
    ],
)
def test_what_browsers_and_programs_send_can_be_read(type: str) -> None:
    assert unreadable(_scope(type)) == ""


@pytest.mark.parametrize(
    "type",
    [
        "x",
        "x/y; z*=foo''%41",
        "text/plain; charset*=utf-8''a%00b",
        "text/plain; charset=latin-1",
        "text/plain; charset=idna",
        "text/plain; charset=utf-8; charset=rot13",
        'text/plain; charset="rot\\13"',
        "text/plain; Charset =undefined",
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=ä",
        f"multipart/form-data; boundary={'x' * 71}",
        "multipart/form-data; boundary*=utf-8''%ff",
    ],
)
async def test_any_other_type_is_refused_everywhere(type: str, plain: Server) -> None:
    assert unreadable(_scope(type))
    for path in ("/healthz", "/chat", "/static/chat/main.js", "/nowhere"):
        sent = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{plain.port}\r\nConnection: close\r\n"
        assert _answer(plain, f"{sent}Content-Type: {type}\r\n\r\n").startswith(b"HTTP/1.1 400")


def test_only_one_type_is_read() -> None:
    assert unreadable(_scope("text/plain", "text/plain"))


def _answer(server: Server, sent: str) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as one:
        one.sendall(sent.encode("latin-1"))
        got = b""
        while block := one.recv(65_536):
            got += block
    return got


async def test_an_address_with_too_many_fields_is_told(plain: Server) -> None:
    async with aiohttp.ClientSession() as http:
        for path in ("/chat", "/conversations", "/admin/login/"):
            async with http.get(f"{plain.url}{path}?{'a&' * 1001}") as answer:
                assert (answer.status, (await answer.json())["code"]) == (400, "unreadable")
                assert answer.headers["Cache-Control"] == "private, no-store"
    assert unreadable(_scope(query=b"a=%ff&" * 999)) == ""
    assert unreadable(_scope(query=b"\xff"))


def _part(head: str, content: str = "A") -> str:
    return f"--B\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n"


@pytest.mark.parametrize(
    "body",
    [
        _part("name=\"a\"; filename*=foo''%41"),
        _part("name*=foo''%41"),
        _part('name="a"; filename="b"') * 101,
        _part('name="a"') * 1001,
        _part('name="a"', "A" * 3_000_000),
        _part('name="file"'),
        "",
    ],
    ids=lambda body: f"{body[:60]!r} {len(body)}",
)
async def test_a_form_that_cant_be_read_is_its_senders_mistake(body: str, plain: Server) -> None:
    async with Person(plain.url) as ada:
        headers = ada.headers() | {"Content-Type": PARTS}
        for path in ("/conversations/import", f"/conversations/{uuid.uuid4()}/compare"):
            async with ada.http.post(
                plain.url + path, data=BytesIO(f"{body}--B--\r\n".encode()), headers=headers
            ) as answer:
                assert answer.status in (400, 404, 413), await answer.text()


async def test_an_import_without_a_file_says_so(plain: Server) -> None:
    async with Person(plain.url) as ada:
        form = aiohttp.FormData()
        form.add_field("other", b"x", filename="a.json")
        async with ada.http.post(
            f"{plain.url}/conversations/import", data=form, headers=ada.headers()
        ) as answer:
            assert answer.status == 400
            said = (await answer.json())["message"]
            assert said == "The request holds no file. Nothing was imported."


@pytest.mark.parametrize("when", ["0001-01-01T00:00:00%2B23:59", "9999-12-31T23:59:59-23:59"])
async def test_a_time_at_the_edge_of_the_calendar_is_refused(when: str, plain: Server) -> None:
    async with Person(plain.url) as ada:
        found = await ask_from_page(ada, "GET", f"/conversations?after={when},{uuid.uuid4()}")
        assert found.status == 400


@pytest.mark.parametrize("path", ["/nope", "/", "/ws/x", "/ws%0a", "/%ff"])
def test_where_no_socket_is_the_handshake_is_refused(path: str, plain: Server) -> None:
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{plain.port}\r\nOrigin: {plain.url}\r\n"
    assert _answer(plain, f"{head}{SOCKET}\r\n").startswith(b"HTTP/1.1 403")


async def test_a_refused_body_is_kept_nowhere(plain: Server) -> None:
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{plain.url}/nowhere", data=b"x") as answer,
    ):
        assert answer.status == 413
        assert answer.headers["Cache-Control"] == "private, no-store"


@pytest.mark.slow
class TestReadiness:
    """It is no more said once something that every message needs is gone."""

    async def test_without_a_free_file(self, tmp_path: Path) -> None:
        with Server(tmp_path, flags=()) as server:
            async with aiohttp.ClientSession() as http:
                async with http.get(f"{server.url}/healthz") as answer:
                    assert await answer.json()  # read, so that the connection is used again
                assert server.process is not None
                process = psutil.Process(server.process.pid)
                _, most = process.rlimit(psutil.RLIMIT_NOFILE)
                process.rlimit(psutil.RLIMIT_NOFILE, (1, most))  # what is open stays so
                try:
                    assert await _said(http, server) == (503, "no file can be opened")
                finally:
                    process.rlimit(psutil.RLIMIT_NOFILE, (most, most))

    async def test_without_its_database(self, tmp_path: Path) -> None:
        with Server(tmp_path, flags=()) as server:
            path = tmp_path / "chatsite.sqlite3"
            path.rename(tmp_path / "elsewhere")
            path.write_bytes((tmp_path / "elsewhere").read_bytes())
            async with aiohttp.ClientSession() as http:
                said = await _said(http, server)
            assert said == (503, "the database's file was removed or replaced")

    async def test_without_a_table(self, tmp_path: Path) -> None:
        with Server(tmp_path, flags=()) as server:
            with closing(sqlite3.connect(tmp_path / "chatsite.sqlite3", timeout=20)) as other:
                other.execute("PRAGMA foreign_keys = off")
                other.execute("DROP TABLE conversations_turn")
                other.commit()
            async with aiohttp.ClientSession() as http:
                status, said = await _said(http, server)
            assert status == 503 and "the database" in said


async def _said(http: aiohttp.ClientSession, server: Server) -> tuple[int, str]:
    async with http.get(f"{server.url}/readyz") as answer:
        return answer.status, (await answer.json())["status"]
