"""Attacks by requests, each from one address."""

from __future__ import annotations

import asyncio
import json
from io import BytesIO

import aiohttp

from tests.attacks.kit import Attack, Target, conversation_file, request, restore
from tests.person import Person


async def strangers(target: Target) -> None:
    """Pages for visitors who bring no cookie."""
    url = f"{target.server.url}/chat"
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:

        async def one() -> None:
            for _ in range(target.times(150)):
                async with http.get(url) as answer:
                    await answer.read()
                    target.saw(answer.status)

        await asyncio.gather(*(one() for _ in range(20)))


async def wrong_passwords(target: Target) -> None:
    """16 visitors guess passwords, each as often as it can."""

    async def one(number: int) -> None:
        async with Person(target.server.url) as eve:
            async with eve.http.get(f"{eve.url}/accounts/login/") as answer:
                await answer.read()
            for guess in range(target.times(20)):
                form = {"username": "ada", "password": f"guess {number} {guess}"}
                await request(target, eve, "POST", "/accounts/login/", data=form)

    await asyncio.gather(*(one(number) for number in range(16)))


async def long_drafts(target: Target) -> None:
    """Comparisons of drafts of 2.4 MB."""
    async with Person(target.server.url) as eve:
        page = await eve.page()
        await page.say("Hello")
        path = f"/conversations/{page.conversation}/compare"
        body = json.dumps({"draft": "a" * 2_400_000}).encode()
        own = eve.headers() | {"Content-Type": "application/json"}
        await asyncio.gather(
            *(
                request(target, eve, "POST", path, data=BytesIO(body), headers=own)
                for _ in range(target.times(8))
            )
        )
        for _ in range(target.times(80)):
            await request(target, eve, "POST", path, json={"draft": "a " * 30_000})


async def bodies_that_stop(target: Target) -> None:
    """Connections that announce 20 MB to routes that take them and to others, and send a half."""
    part = b"x" * 500_000
    writers = []
    for number in range(target.times(200)):
        path = ("/conversations/import", "/nowhere", "/accounts/login/", "/chat")[number % 4]
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", target.server.port)
            head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 20000000\r\n\r\n"
            writer.write(head.encode() + part)
            await asyncio.wait_for(writer.drain(), 5)
            line = await asyncio.wait_for(reader.readline(), 5)
            target.saw(line.split()[1].decode() if line else "disconnected")
        except (ConnectionError, TimeoutError):
            target.saw("still open")
        writers.append(writer)
    for writer in writers:
        writer.close()


async def unfinished_headers(target: Target) -> None:
    """500 connections that never finish their headers; 20 that send headers without end."""
    host = b"GET /chat HTTP/1.1\r\nHost: x\r\n"
    writers = []
    for _ in range(target.times(500)):
        _, writer = await asyncio.open_connection("127.0.0.1", target.server.port)
        writer.write(host)
        writers.append(writer)
    for _ in range(target.times(20)):
        reader, writer = await asyncio.open_connection("127.0.0.1", target.server.port)
        writer.write(host)
        try:
            for _ in range(2_000):
                writer.write(b"X-A: " + b"a" * 8_000 + b"\r\n")
                await writer.drain()
            line = await asyncio.wait_for(reader.readline(), 5)
            target.saw(line.split()[1].decode() if line else "disconnected")
        except (ConnectionError, TimeoutError):
            target.saw("disconnected")
        writers.append(writer)
    for writer in writers:
        writer.close()


async def many_imports(target: Target) -> None:
    """Restores 150,000 tiny messages, and 19 MB ten times."""
    async with Person(target.server.url) as eve:
        await restore(target, eve, conversation_file(target.times(150_000), "x"))
        big = conversation_file(1, "lorem ipsum dolor " * target.times(1_050_000))
        await asyncio.gather(*(restore(target, eve, big) for _ in range(10)))
        await asyncio.sleep(target.times(10))


async def searches(target: Target) -> None:
    """8 searches at once, again and again, in 20,000 messages. All of them also in short: a slow
    machine would answer a few as fast as they are allowed."""
    async with Person(target.server.url) as eve:
        await restore(target, eve, conversation_file(target.times(20_000), "lorem ipsum"))

        async def one() -> None:
            for number in range(60):
                await request(target, eve, "GET", f"/conversations/search?q=zzz{number}")

        await asyncio.gather(*(one() for _ in range(8)))


async def a_million_blanks(target: Target) -> None:
    """Messages and a restored conversation that a tokenizer can't take."""
    async with Person(target.server.url) as eve:
        page = await eve.page()
        for text in (" " * 60_000, "a" * 60_000, "\n" * 30_000):
            event = await page.say(f"x{text}x")
            target.saw(event["state"])
        await restore(target, eve, conversation_file(2, " " * target.times(1_000_000)))


ATTACKS = (
    Attack("strangers", "3,000 pages without a cookie, 20 at once", strangers),
    Attack("wrong_passwords", "320 wrong passwords, 16 at once", wrong_passwords),
    Attack("long_drafts", "comparisons of drafts of 2.4 MB, and 80 of 60 kB", long_drafts),
    Attack("bodies_that_stop", "200 bodies of 20 MB that stop half-way", bodies_that_stop),
    Attack("unfinished_headers", "500 unfinished headers, 20 without end", unfinished_headers),
    Attack("many_imports", "150,000 messages, and ten times 19 MB", many_imports),
    Attack("searches", "480 searches, 8 at once", searches),
    Attack("a_million_blanks", "runs of blanks and letters", a_million_blanks, refuses=False),
)
