"""What is refused before Django sees a request: by its address, its body, or its pace."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import pytest
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.test import AsyncRequestFactory

from chatsite.limits.limiter import Limiter
from chatsite.limits.table import ROUTES
from chatsite.storage import Unit
from chatsite.web import health
from chatsite.web.server.bodies import BodyLimits
from chatsite.web.server.requests import route_of
from tests.person import Person
from tests.running import Server
from tests.web.test_files import connect_to, read_answer, request


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/chat", "chat"),
        ("/conversations/import", "import"),
        ("/conversations/00000000-0000-4000-8000-000000000000", "conversation"),
        ("/accounts/login/", "login"),
    ],
)
def test_an_address_has_the_row_of_its_route(path: str, name: str) -> None:
    assert route_of(path) is ROUTES[name]


@pytest.mark.parametrize("path", ["/nowhere", "/chat/../../etc", "/conversations/9", "//", "/\0"])
def test_an_unknown_address_takes_no_body(path: str) -> None:
    assert route_of(path).body == 0


class TestBodies:
    @pytest.mark.parametrize("path", ["/nowhere", "/healthz", "/models", "/turns/x/receipt"])
    async def test_where_none_is_taken_it_is_refused_unread(
        self, path: str, server: Server
    ) -> None:
        async with connect_to(server) as (reader, writer):
            writer.write(request(server, path, "Content-Length: 10737418240"))
            status, body = await read_answer(reader)
        assert (status, body["code"]) == (413, "too_large")
        assert body["message"] == "This address takes no content. Nothing of it was kept."

    async def test_a_get_takes_none_either(self, server: Server) -> None:
        async with connect_to(server) as (reader, writer):
            asked = request(server, "/accounts/login/", "Content-Length: 5000")
            writer.write(asked.replace(b"POST", b"GET", 1))
            status, _ = await read_answer(reader)
        assert status == 413

    async def test_a_form_has_a_bound_of_its_own(self, server: Server) -> None:
        async with connect_to(server) as (reader, writer):
            writer.write(request(server, "/accounts/login/", "Content-Length: 200000"))
            status, body = await read_answer(reader)
        assert (status, body["code"]) == (413, "too_large")
        assert "larger than the 128 KB" in body["message"]

    @pytest.mark.parametrize("path", ["/files", "/conversations/import"])
    async def test_without_a_session_a_long_one_is_refused_unread(
        self, path: str, server: Server
    ) -> None:
        for cookie in ("", "Cookie: sessionid=unknown\r\n"):
            async with connect_to(server) as (reader, writer):
                writer.write(request(server, path, f"{cookie}Content-Length: 9000000"))
                status, body = await read_answer(reader)
            assert (status, body["code"]) == (403, "no_session")
            assert "Open the page first" in body["message"]

    async def test_one_that_stops_half_way_is_refused_and_its_place_is_free_again(self) -> None:
        site = _Site()
        answer = await _send(site, [b"{", None], silence=0.05)
        assert answer["status"] == 408 and answer["json"]["code"] == "too_slow"
        assert not site.limiter._there

    async def test_one_address_has_a_few_under_way_and_the_next_is_told_to_wait(self) -> None:
        site = _Site()
        waiting = [asyncio.create_task(_send(site, [b"{", None], silence=0.3)) for _ in range(8)]
        await asyncio.sleep(0)
        answer = await _send(site, [b"{}"], silence=0.3)
        assert answer["status"] == 429 and answer["json"]["code"] == "too_many"
        assert {one["status"] for one in await asyncio.gather(*waiting)} == {408}
        assert (await _send(site, [b"{}"], silence=0.3))["status"] == 200


@pytest.mark.django_db(transaction=True)
async def test_a_nearly_full_disk_takes_no_long_body() -> None:
    session = SessionStore()
    await session.aset("guest", "ada")
    await session.asave()
    mine = f"{settings.SESSION_COOKIE_NAME}={session.session_key}"
    answer = await _send(_Site(), [b"{}"], kept_free=1 << 60, route="import", cookie=mine)
    assert answer["status"] == 507 and answer["json"]["code"] == "disk_full"
    assert "nearly full" in answer["json"]["message"]
    assert (await _send(_Site(), [b"{}"], route="import", cookie=mine))["status"] == 200


class _Site:
    def __init__(self) -> None:
        self.limiter = Limiter(now=time.monotonic, people_per_address=1)


async def _send(
    site: _Site,
    pieces: list[bytes | None],
    *,
    silence: float = 1.0,
    kept_free: int = 0,
    route: str = "message",
    cookie: str = "",
) -> dict[str, Any]:
    """The answer to a body in pieces, of an application that reads it all; None never arrives."""
    left = list(pieces)
    answer: dict[str, Any] = {"body": b""}

    async def receive() -> dict[str, Any]:
        piece = left.pop(0) if left else None
        if piece is None:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": piece, "more_body": bool(left)}

    async def send(event: Mapping[str, Any]) -> None:
        answer["status"] = event.get("status", answer.get("status"))
        answer["body"] += event.get("body", b"")

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        while (event := await receive()).get("more_body"):
            pass
        if event["type"] == "http.request":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"{}"})

    scope = {
        "path": "/somewhere",
        "method": "POST",
        "headers": [(b"content-length", b"10"), (b"cookie", cookie.encode())],
        "client": ("10.0.0.1", 1),
        "state": {"site": site},
        "chatsite.route": ROUTES[route],
    }
    await BodyLimits(app, silence=silence, kept_free=kept_free)(scope, receive, send)
    return answer | {"json": json.loads(answer["body"])}


class TestHealth:
    async def test_both_answer_without_a_session(self, server: Server) -> None:
        async with Person(server.url) as ada:
            ada.http.cookie_jar.clear()
            for path in ("/healthz", "/readyz"):
                async with ada.http.get(server.url + path) as answer:
                    assert answer.status == 200 and await answer.json() == {"status": "ok"}
                    assert "set-cookie" not in answer.headers

    @pytest.mark.slow
    @pytest.mark.thorough
    async def test_a_server_that_can_store_nothing_is_not_ready(self, tmp_path: Path) -> None:
        async def status() -> int:
            async with http.get(f"{narrow.url}/readyz") as answer:
                said.append((await answer.json())["status"])
                return answer.status

        said: list[str] = []
        with (
            Server(tmp_path, flags=()) as narrow,
            closing(sqlite3.connect(tmp_path / "chatsite.sqlite3", isolation_level=None)) as other,
        ):
            async with aiohttp.ClientSession() as http, asyncio.timeout(60):
                other.execute("BEGIN IMMEDIATE")
                assert await status() == 503
                assert said == ["the database doesn't answer, or can't be written"]
                other.execute("ROLLBACK")
                while await status() != 200:  # noqa: ASYNC110 - what was found holds a while
                    await asyncio.sleep(0.2)

    async def test_a_server_whose_disk_is_nearly_full_is_not_ready(
        self, monkeypatch: pytest.MonkeyPatch, async_rf: AsyncRequestFactory
    ) -> None:
        async def stores(unit: object) -> None: ...

        monkeypatch.setattr(Unit, "__call__", stores)
        monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=0))
        monkeypatch.setattr(health, "_known", (0.0, ""))
        request = async_rf.get("/readyz")
        cast(Any, request).scope["state"] = {"site": SimpleNamespace(draining=False)}
        answer = await health.ready(request)
        assert answer.status_code == 503 and b"the disk is nearly full" in answer.content
