"""Those who ask: the same question through the application, a bare relay, or of the provider."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import aiohttp

from tests.person import Page, Person

PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Heard:
    """One answer as it arrived. `first` is in seconds from asking; `frames` carried text."""

    first: float
    frames: int
    text: str


# Asks one question and hears the answer out.
Ask = Callable[[str], Awaitable[Heard]]


def question(*, tokens: int, rate: int = 50, first: float = 0.05) -> str:
    """Tells the fake provider what to answer: tokens, tokens a second, seconds to the first."""
    return f"Tell me about the sea. [[tokens={tokens};rate={rate};first={first}]]"


def expected(tokens: int) -> str:
    """What the fake provider answers to it."""
    return "".join(f" w{n}" for n in range(tokens))


def asking_page(page: Page) -> Ask:
    """Through the application's socket, put together as the page does it: pieces at their
    offsets, then the stored message. A piece out of place is kept where it came, so that what is
    lost or doubled shows in the text."""

    async def ask(prompt: str) -> Heard:
        asked = time.perf_counter()
        await page.send(prompt)
        first, frames, text = 0.0, 0, ""
        while (event := json.loads((await page.socket.receive()).data))["type"] != "turn_ended":
            if event["type"] == "delta":
                first = first or time.perf_counter()
                frames += 1
                text = text.ljust(event["offset"], "?") + event["text"]
            elif event["type"] == "refused":
                raise RuntimeError(event["message"])
        if event["state"] != "complete":
            raise RuntimeError(f"a turn ended {event['state']}: {event['problem']}")
        whole = event["message"]["content"]
        first = first or time.perf_counter()
        return Heard(first - asked, frames, whole if whole.startswith(text) else text)

    return ask


def asking_relay(socket: aiohttp.ClientWebSocketResponse) -> Ask:
    async def ask(prompt: str) -> Heard:
        asked = time.perf_counter()
        await socket.send_str(json.dumps({"text": prompt}))
        first, pieces = 0.0, []
        while "delta" in (event := json.loads((await socket.receive()).data)):
            first = first or time.perf_counter()
            pieces.append(event["delta"])
        return Heard(first - asked, len(pieces), "".join(pieces))

    return ask


def asking_provider(session: aiohttp.ClientSession, provider: str) -> Ask:
    async def ask(prompt: str) -> Heard:
        asked = time.perf_counter()
        body = {
            "model": "gpt-4o-mini",
            "messages": [{"role": "user", "content": prompt}],
            "stream": True,
        }
        first, pieces = 0.0, []
        async with session.post(f"{provider}/chat/completions", json=body) as response:
            async for line in response.content:
                if line.startswith(b"data: {"):
                    choice = json.loads(line[6:])["choices"][0]
                    if choice["delta"].get("content"):
                        first = first or time.perf_counter()
                        pieces.append(choice["delta"]["content"])
        return Heard(first - asked, len(pieces), "".join(pieces))

    return ask


@asynccontextmanager
async def people_at(url: str, users: int, *, each: int = 1) -> AsyncIterator[list[Page]]:
    """So many guests, each with a session and `each` pages of their own."""
    async with AsyncExitStack() as stack:
        people = [await stack.enter_async_context(Person(url)) for _ in range(users)]
        yield [await person.page() for person in people for _ in range(each)]


@asynccontextmanager
async def relay_sockets(
    url: str, count: int
) -> AsyncIterator[list[aiohttp.ClientWebSocketResponse]]:
    async with unlimited_session() as session:
        yield [await session.ws_connect(url) for _ in range(count)]


def unlimited_session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))


async def all_ask(asks: list[Ask], prompt: str, *, seconds: float) -> list[Heard]:
    """Everybody asks once, the starts spread evenly over so many seconds."""

    async def later(number: int, ask: Ask) -> Heard:
        await asyncio.sleep(seconds * number / len(asks))
        return await ask(prompt)

    async with asyncio.timeout(PATIENCE):
        return await asyncio.gather(*(later(n, ask) for n, ask in enumerate(asks)))
