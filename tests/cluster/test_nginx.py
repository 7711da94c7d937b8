"""Several servers behind nginx: people know its address alone."""

from __future__ import annotations

import asyncio
import signal
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from urllib.parse import urlsplit

import aiohttp
import pytest

from chatsite.messages import MAX_ATTACHMENT_BYTES
from tests.cluster.conftest import servers_on
from tests.fakes.openai_server import FakeOpenAI
from tests.nginx import Nginx
from tests.person import Page, Person
from tests.postgres import NAME, Postgres
from tests.running import Server
from tests.web.browser_requests import upload_file

pytestmark = pytest.mark.slow

Serve = Callable[..., Server]
PACED = "Count [[tokens=60;rate=40]]"
LONG = "Count [[tokens=4000;rate=20]]"
WAV = b"RIFF\xff\xff\xff\xffWAVEfmt "
# What deploy/nginx.conf says: how long a server that failed isn't asked.
FAIL_TIMEOUT = 10


def by_address(*servers: Server) -> dict[str, Server]:
    """Each server by its address as nginx calls it."""
    return {urlsplit(server.url).netloc: server for server in servers}


@pytest.fixture(scope="module")
def servers(
    fake: FakeOpenAI, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Server]]:
    """Two servers that no test harms."""
    folder = tmp_path_factory.mktemp("servers")
    url = postgres.new_database("behind_nginx", template=NAME)
    with servers_on(url, fake, folder) as start:
        yield by_address(*(start(TRUSTED_PROXIES="127.0.0.1") for _ in range(2)))


@pytest.fixture
def proxy(servers: dict[str, Server]) -> Iterator[Nginx]:
    with in_front_of(servers) as running:
        yield running


def in_front_of(servers: Mapping[str, Server]) -> Nginx:
    return Nginx([server.url for server in servers.values()])


async def noted(proxy: Nginx, path: str, *, times: int = 1) -> list[str]:
    """The servers that were asked for this path so far, once it was answered so many times: nginx
    notes an answer a moment after it."""
    async with asyncio.timeout(30):
        while True:
            found = [asked for at, asked, _ in proxy.requests if at == path]
            if len(found) >= times:
                return [server for asked in found for server in asked]
            await asyncio.sleep(0.02)


async def asked_for(person: Person, proxy: Nginx, path: str) -> list[str]:
    """The servers that nginx asks until one of them answers this session."""
    own = f"{path}?{uuid.uuid4()}"
    async with person.http.get(proxy.url + own) as answer:
        assert answer.status == 200
    return await noted(proxy, own)


async def home_of(person: Person, proxy: Nginx) -> str:
    """The server to which nginx sends this session."""
    return (await asked_for(person, proxy, "/conversations"))[-1]


async def ended(page: Page) -> None:
    """Read until the socket closes."""
    async with asyncio.timeout(30):
        while (await page.socket.receive()).type is aiohttp.WSMsgType.TEXT:
            pass


async def answer_of(page: Page) -> str:
    """The last answer at its end. A page that missed something meanwhile gets all of it again."""
    shown = page.snapshot
    while shown["type"] == "snapshot" and shown["turn"] is not None:
        shown = await page.until("turn_ended", "snapshot")
    message = shown["messages"][-1] if shown["type"] == "snapshot" else shown["message"]
    return str(message["content"])


async def status_of(url: str, address: str = "127.0.0.1") -> int:
    """What somebody without a session gets, who comes from this address."""
    connector = aiohttp.TCPConnector(local_addr=(address, 0))
    async with aiohttp.ClientSession(connector=connector) as http, http.get(url) as answer:
        return answer.status


async def test_pages_connect_and_follow_through_it_and_a_session_stays_with_its_server(
    proxy: Nginx,
) -> None:
    async with Person(proxy.url) as ada:
        page = await ada.page()
        there = await ada.page(page.conversation)
        ended = await page.say(PACED)
        assert (await there.until("turn_ended"))["message"] == ended["message"]
        deltas = [event for event in page.events if event["type"] == "delta"]
        assert len(deltas) > 10, "as it is written, not at its end"
        await page.close()
        await there.close()
        with_session = [await home_of(ada, proxy) for _ in range(5)]
        with_session += await noted(proxy, "/ws", times=2)
        assert len(with_session) == 7 and len(set(with_session)) == 1


async def test_visitors_are_divided(proxy: Nginx, servers: dict[str, Server]) -> None:
    homes: set[str] = set()
    async with asyncio.timeout(60):
        while homes != set(servers):
            async with Person(proxy.url) as somebody:
                homes.add(await home_of(somebody, proxy))


async def test_without_its_server_a_session_goes_on_at_another_which_isnt_asked_for_long(
    serve: Serve,
) -> None:
    servers = by_address(*(serve(TRUSTED_PROXIES="127.0.0.1") for _ in range(2)))
    with in_front_of(servers) as proxy:
        await leave_a_killed_server(proxy, servers)


async def leave_a_killed_server(proxy: Nginx, servers: Mapping[str, Server]) -> None:
    async with Person(proxy.url) as ada:
        page = await ada.page()
        await page.send(LONG)
        await page.until("delta")
        home = await home_of(ada, proxy)
        servers[home].kill()
        began = time.monotonic()
        await ended(page)
        again = await ada.page(page.conversation)
        await answer_of(again)  # as far as it was written
        assert (await again.say("And now?"))["state"] == "complete"
        asked = [await asked_for(ada, proxy, "/conversations") for _ in range(30)]
        tries = 1 + (time.monotonic() - began) / FAIL_TIMEOUT
        assert sum(servers.count(home) for servers in asked) <= tries


async def test_people_of_a_server_that_stops_read_on_at_another(serve: Serve) -> None:
    servers = by_address(*(serve(TRUSTED_PROXIES="127.0.0.1") for _ in range(2)))
    with in_front_of(servers) as proxy:
        async with Person(proxy.url) as ada:
            page = await ada.page()
            await page.send("Count [[tokens=200;rate=40]]")
            await page.until("delta")
            stopping = servers[await home_of(ada, proxy)].process
            assert stopping is not None
            stopping.send_signal(signal.SIGTERM)
            await ended(page)
            there = await ada.page(page.conversation)
            assert there.snapshot["turn"] is not None, "it is still being written"
            assert "w199" in await answer_of(there)
            assert await asyncio.to_thread(stopping.wait, 30) in (0, -signal.SIGTERM)


async def test_what_changes_something_is_never_sent_twice() -> None:
    """nginx doesn't know how much was done by a server that died over a request."""
    received: list[str] = []

    async def die(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append((await reader.readline()).decode().split()[0])
        writer.close()

    dying = [await asyncio.start_server(die, "127.0.0.1", 0) for _ in range(2)]
    urls = [f"http://127.0.0.1:{one.sockets[0].getsockname()[1]}" for one in dying]
    for method, times in (("POST", 1), ("PATCH", 1), ("GET", 2)):
        received.clear()
        with Nginx(urls) as proxy:
            async with aiohttp.ClientSession() as http, http.request(method, proxy.url) as answer:
                assert answer.status == 502
        assert received == [method] * times
    for one in dying:
        one.close()


async def test_a_server_that_hangs_is_left_when_it_shows_no_page(serve: Serve) -> None:
    servers = by_address(*(serve(TRUSTED_PROXIES="127.0.0.1") for _ in range(2)))
    with in_front_of(servers) as proxy:
        async with Person(proxy.url) as ada:
            home = await home_of(ada, proxy)
            hung = servers[home].process
            assert hung is not None
            hung.send_signal(signal.SIGSTOP)
            asked = [await asked_for(ada, proxy, "/chat") for _ in range(2)]
            (other,) = set(servers) - {home}
            assert asked == [[home, other], [other]]


async def test_servers_are_changed_while_people_talk(
    proxy: Nginx, servers: dict[str, Server]
) -> None:
    async with Person(proxy.url) as ada:
        page = await ada.page()
        home = await home_of(ada, proxy)
        await page.send(PACED)
        await page.until("delta")
        (other,) = set(servers) - {home}
        proxy.serve([servers[other].url])
        there = await ada.page(page.conversation)
        assert await home_of(ada, proxy) == other
        ended = await page.until("turn_ended")
        assert (await answer_of(there)) == ended["message"]["content"]


async def test_a_restart_of_nginx_costs_a_new_connection_and_no_word(proxy: Nginx) -> None:
    async with Person(proxy.url) as ada:
        page = await ada.page()
        await page.send(LONG)
        await page.until("delta")
        proxy.stop()
        await ended(page)
        proxy.start()
        again = await ada.page(page.conversation)
        assert again.snapshot["turn"] is not None
        await again.until("delta")
        await again.command("stop")
        assert (await again.until("turn_ended"))["state"] == "stopped"


async def test_files_of_the_allowed_size_pass_and_larger_ones_get_the_servers_own_words(
    proxy: Nginx,
) -> None:
    async with Person(proxy.url) as ada:
        allowed = WAV + bytes(MAX_ATTACHMENT_BYTES - len(WAV))
        stored = await upload_file(ada, BytesIO(allowed), name="quay.wav")
        assert stored.status == 200, stored.text
        refused = await upload_file(ada, BytesIO(allowed + b"0"), name="quay.wav")
        assert (refused.status, refused.json["code"]) == (413, "too_large")
        assert "A file may have 50 MB." in refused.json["message"]


async def test_visitors_are_told_apart_by_their_addresses(serve: Serve) -> None:
    narrow = serve(TRUSTED_PROXIES="127.0.0.1", LIMITS_FACTOR="1", PEOPLE_PER_ADDRESS="1")
    with Nginx([narrow.url]) as proxy:
        health = f"{proxy.url}/healthz"
        for _ in range(20):  # a slow machine answers one by one as fast as it is allowed
            found = await asyncio.gather(*(status_of(health, "127.0.0.9") for _ in range(40)))
            if 429 in found:
                break
        else:
            pytest.fail("one address may ask without end")
        assert await status_of(health, "127.0.0.10") == 200
