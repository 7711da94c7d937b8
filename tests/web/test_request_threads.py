"""Requests share a few threads with their database connections, and never a transaction."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import psutil
import pytest
from asgiref.sync import sync_to_async
from django.contrib.sessions.models import Session
from django.core.asgi import get_asgi_application
from django.db import connection, connections, transaction
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import path
from django.utils import timezone

from chatsite.web.server.requests import THREADS, RequestThreads
from tests.person import Person
from tests.running import Server

UNITS = 3


class RolledBack(Exception):
    pass


def rolls_back(number: int) -> bool:
    return number % 3 == 0


def unit_of_work(number: int, unit: int) -> int:
    """Stores a row, which every third request rolls back; returns the thread."""
    assert not connection.in_atomic_block
    try:
        with transaction.atomic():
            Session.objects.create(
                session_key=f"{number}-{unit}", session_data="", expire_date=timezone.now()
            )
            if rolls_back(number):
                raise RolledBack
    except RolledBack:
        pass
    return threading.get_ident()


async def work(request: HttpRequest, number: int) -> HttpResponse:
    threads = [await sync_to_async(unit_of_work)(number, unit) for unit in range(UNITS)]
    return HttpResponse(" ".join(map(str, threads)))


urlpatterns = [path("work/<int:number>", work)]


@pytest.fixture
def site() -> Iterator[RequestThreads]:
    """Django with one view alone, on the threads of the server."""
    with override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[], ALLOWED_HOSTS=["*"]):
        threads = RequestThreads(get_asgi_application())
        yield threads
        for thread in threads._requests:
            thread.submit(connections.close_all).result()


async def threads_of(site: RequestThreads, number: int) -> list[str]:
    """Make a request; the thread of each of its units of work."""
    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": f"/work/{number}",
        "query_string": b"",
        "headers": [(b"host", b"testserver")],
    }
    asked: list[dict[str, Any]] = [{"type": "http.request", "body": b""}]
    answered: list[Mapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        """The request, and then nothing until its answer has been sent."""
        return asked.pop() if asked else await asyncio.Future()

    async def send(event: Mapping[str, Any]) -> None:
        answered.append(event)

    await site(scope, receive, send)
    assert answered[0]["status"] == 200
    return b"".join(event["body"] for event in answered[1:]).decode().split()


@pytest.mark.django_db(transaction=True)
class TestOneSite:
    async def test_transactions_of_requests_that_share_a_thread_never_meet(
        self, site: RequestThreads
    ) -> None:
        count = 5 * THREADS
        used = await asyncio.gather(*(threads_of(site, number) for number in range(count)))
        assert all(len(set(threads)) == 1 for threads in used)
        by_thread = defaultdict(set)
        for number, threads in enumerate(used):
            by_thread[threads[0]].add(rolls_back(number))
        assert len(by_thread) == THREADS
        assert all(kinds == {True, False} for kinds in by_thread.values())
        stored = {one async for one in Session.objects.values_list("session_key", flat=True)}
        kept = [number for number in range(count) if not rolls_back(number)]
        assert stored == {f"{number}-{unit}" for number in kept for unit in range(UNITS)}

    async def test_one_request_after_another_uses_one_thread(self, site: RequestThreads) -> None:
        used = {thread for n in range(20) for thread in await threads_of(site, n)}
        assert len(used) == 1


class TestServer:
    async def test_the_threads_stay_few_over_1000_requests(self, server: Server) -> None:
        assert server.process is not None
        process = psutil.Process(server.process.pid)
        most = 0
        async with Person(server.url) as ada:
            before = process.num_threads()
            for _ in range(10):
                asked = (ada.ask("GET", "/conversations") for _ in range(100))
                await asyncio.gather(*asked)
                most = max(most, process.num_threads())
        # The threads of storage start with their first work, too.
        assert most <= before + THREADS + 6

    async def test_clients_that_never_end_their_requests_hold_up_nobody(
        self, server: Server
    ) -> None:
        host, port = "127.0.0.1", server.port
        begun = (
            f"POST /import HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 100\r\n\r\nhalf"
        ).encode()
        slow = [await asyncio.open_connection(host, port) for _ in range(4 * THREADS)]
        try:
            for _, writer in slow:
                writer.write(begun)
                await writer.drain()
            async with Person(server.url) as ada:
                assert (await ada.ask("GET", "/conversations"))["count"] == 0
        finally:
            for _, writer in slow:
                writer.close()
