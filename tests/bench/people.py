"""Clients that ask one question: through the application, a bare relay, or the provider itself."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise

import aiohttp

from tests.person import Page, Person

PATIENCE = 120.0
# With this aiohttp offers what Chromium does: `permessage-deflate; client_max_window_bits`.
DEFLATE = 15
_STAMP = re.compile(r"@(\d+)")


@dataclass(frozen=True, slots=True)
class TimedAnswer:
    """One answer as it arrived: pieces of text, each with its time of arrival. `first` is the
    seconds from the question to the first piece; `text` is the whole answer."""

    first: float
    pieces: Sequence[tuple[float, str]]
    text: str

    def gaps(self) -> list[float]:
        """Seconds between one piece and the next."""
        times = [when for when, _ in self.pieces]
        return [later - earlier for earlier, later in pairwise(times)]

    def lags(self) -> list[float]:
        """Seconds from the provider's stamp in a token to the token's arrival."""
        return [
            when - int(stamp) / 1e6 for when, text in self.pieces for stamp in _STAMP.findall(text)
        ]

    def wrong(self, tokens: int) -> int:
        """The number of tokens lost or doubled; at least one if the text differs in another way."""
        if _STAMP.sub("", self.text) == expected(tokens):
            return 0
        return max(abs(len(self.text.split()) - tokens), 1)


# Asks one question and reads the whole answer.
Ask = Callable[[str], Awaitable[TimedAnswer]]


def question(
    *,
    tokens: int,
    rate: int = 50,
    first: float = 0.05,
    stamped: bool = False,
    about: str = "the sea",
) -> str:
    """A prompt that sets the fake provider's answer: tokens, tokens a second, seconds to the first.

    With `stamped` each token holds the time at which it was sent.
    """
    options = f"tokens={tokens};rate={rate};first={first};stamp={int(stamped)}"
    return f"Tell me about {about}. [[{options}]]"


def expected(tokens: int) -> str:
    """The fake provider's answer, without stamps."""
    return "".join(f" w{n}" for n in range(tokens))


def page_asker(page: Page) -> Ask:
    """Asks through the application's socket."""

    async def ask(prompt: str) -> TimedAnswer:
        sent_at = time.monotonic()
        await page.send(prompt)
        return await page_answer(page, sent_at)

    return ask


async def page_answer(page: Page, sent_at: float) -> TimedAnswer:
    """Read an answer and assemble it as the page does: pieces at their offsets, then the stored
    message. What is missing before a piece shows in the text, and so do tokens that were doubled;
    text that is sent once more, as to a page that lost its connection, is no other text."""
    pieces, text = [], ""
    while (event := json.loads((await page.socket.receive()).data))["type"] != "turn_ended":
        if event["type"] == "delta":
            pieces.append((time.monotonic(), event["text"]))
            text = text[: event["offset"]].ljust(event["offset"], "?") + event["text"]
        elif event["type"] == "refused":
            raise RuntimeError(event["message"])
    ended = time.monotonic()
    if event["state"] != "complete":
        raise RuntimeError(f"a turn ended {event['state']}: {event['problem']}")
    whole = event["message"]["content"]
    if whole.startswith(text):  # the stored message holds the rest
        pieces += [(ended, whole[len(text) :])] if whole != text else []
        text = whole
    return timed_answer(sent_at, pieces, text)


def relay_asker(socket: aiohttp.ClientWebSocketResponse) -> Ask:
    async def ask(prompt: str) -> TimedAnswer:
        sent_at = time.monotonic()
        await socket.send_str(json.dumps({"text": prompt}))
        pieces = []
        while "delta" in (event := json.loads((await socket.receive()).data)):
            pieces.append((time.monotonic(), event["delta"]))
        return timed_answer(sent_at, pieces)

    return ask


def provider_asker(session: aiohttp.ClientSession, provider: str) -> Ask:
    async def ask(prompt: str) -> TimedAnswer:
        sent_at = time.monotonic()
        body = {
            "model": "gpt-4o-mini",
            "messages": [{"role": "user", "content": prompt}],
            "stream": True,
        }
        pieces = []
        async with session.post(f"{provider}/chat/completions", json=body) as response:
            async for line in response.content:
                if line.startswith(b"data: {"):
                    choice = json.loads(line[6:])["choices"][0]
                    if choice["delta"].get("content"):
                        pieces.append((time.monotonic(), choice["delta"]["content"]))
        return timed_answer(sent_at, pieces)

    return ask


def timed_answer(
    sent_at: float, pieces: list[tuple[float, str]], text: str | None = None
) -> TimedAnswer:
    whole = "".join(piece for _, piece in pieces) if text is None else text
    return TimedAnswer(pieces[0][0] - sent_at, pieces, whole)


@asynccontextmanager
async def people_at(
    url: str, users: int, *, each: int = 1, deflate: bool = True
) -> AsyncIterator[list[Page]]:
    """Yields the pages of `users` guests, each with a session and `each` pages of their own."""
    async with AsyncExitStack() as stack:
        offer = DEFLATE * deflate
        people = await asyncio.gather(
            *(stack.enter_async_context(Person(url, compress=offer)) for _ in range(users))
        )
        yield await asyncio.gather(*(person.page() for person in people for _ in range(each)))


@asynccontextmanager
async def people_on(urls: Sequence[str], users: int) -> AsyncIterator[list[Page]]:
    """The same for several servers: everyone has a page of one of them, in turns."""
    async with AsyncExitStack() as stack:
        groups = [
            await stack.enter_async_context(people_at(url, len(range(number, users, len(urls)))))
            for number, url in enumerate(urls)
        ]
        yield [groups[number % len(urls)][number // len(urls)] for number in range(users)]


@asynccontextmanager
async def relay_sockets(
    url: str, count: int, *, deflate: bool = True
) -> AsyncIterator[list[aiohttp.ClientWebSocketResponse]]:
    async with unlimited_session() as session:
        yield [await session.ws_connect(url, compress=DEFLATE * deflate) for _ in range(count)]


@asynccontextmanager
async def relay_people(url: str, count: int, *, deflate: bool = True) -> AsyncIterator[list[Ask]]:
    async with relay_sockets(f"{url}/ws", count, deflate=deflate) as sockets:
        yield [relay_asker(socket) for socket in sockets]


def unlimited_session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))


async def all_ask(asks: Sequence[Ask], prompt: str, *, seconds: float) -> list[TimedAnswer]:
    """Everybody asks once; the starts are spread evenly over `seconds`."""

    async def later(number: int, ask: Ask) -> TimedAnswer:
        await asyncio.sleep(seconds * number / len(asks))
        return await ask(prompt)

    async with asyncio.timeout(PATIENCE):
        return await asyncio.gather(*(later(n, ask) for n, ask in enumerate(asks)))
