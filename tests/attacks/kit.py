"""What the attacks are made of: their size, what they tell, and raw sockets and frames."""

from __future__ import annotations

import asyncio
import json
import struct
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from yarl import URL

from tests.person import Person
from tests.running import Server

TEXT, PING = 0x81, 0x89


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What stands beside the attacked server: its mailbox, its Talk server, an agent. `environment`
    tells the server of it, `parts` give it to the attack, by name."""

    environment: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def nothing() -> Iterator[Surroundings]:
    yield Surroundings()


@dataclass(frozen=True, slots=True)
class Attack:
    """`run` does it once. `refuses`: whether the server has to refuse a part of it. `short` is the
    part of it that is enough to see that; where not `in_ci`, tests of its kind hold what it
    shows."""

    name: str
    what: str
    run: Callable[[Target], Awaitable[None]]
    refuses: bool = True
    short: float = 0.05
    around: Callable[[], AbstractContextManager[Surroundings]] = nothing
    in_ci: bool = True


@dataclass(slots=True)
class Target:
    """The attacked server. `part` is the size of the attack, 1.0 for all of it; `told` counts what
    came back, by a word, and `refused` how much of it was a refusal. `breaches` are sentences that
    say what the attack reached and mustn't have: a stranger's header in our mail, for instance."""

    server: Server
    part: float = 1.0
    surroundings: Surroundings = field(default_factory=Surroundings)
    told: Counter[str] = field(default_factory=Counter)
    breaches: list[str] = field(default_factory=list)

    def times(self, whole: int) -> int:
        return max(1, round(whole * self.part))

    def saw(self, what: object) -> None:
        self.told[str(what)] += 1

    def breached(self, what: str) -> None:
        self.breaches.append(what)

    @property
    def refused(self) -> int:
        return sum(count for what, count in self.told.items() if what in REFUSALS)


# Statuses, codes of refusals, codes of closes.
REFUSALS = {"400", "403", "408", "409", "413", "429", "431", "1008", "1009", "4401", "4429"}
REFUSALS |= {"too_many", "too_slow", "no_session", "too_large", "words_full", "disconnected"}


async def request(
    target: Target, person: Person, method: str, path: str, **options: Any
) -> tuple[int, bytes]:
    """The status and the body of the answer; (0, b"") where the server ended the connection."""
    options.setdefault("headers", person.headers())
    try:
        async with person.http.request(
            method, URL(person.url + path, encoded=True), allow_redirects=False, **options
        ) as answer:
            body = await answer.read()
            target.saw(answer.status)
            return answer.status, body
    except (aiohttp.ClientError, ConnectionError):
        target.saw("disconnected")
        return 0, b""


def conversation_file(messages: int, text: str = "word") -> bytes:
    """A saved conversation of so many messages."""
    said = [
        {"role": "assistant" if number % 2 else "user", "content": f"{text} {number}"}
        for number in range(messages)
    ]
    whole = {"format": "chatsite.conversation", "version": 2, "agent": "demo", "title": "t"}
    return json.dumps(whole | {"messages": said}).encode()


async def restore(target: Target, person: Person, content: bytes) -> bytes:
    form = aiohttp.FormData()
    form.add_field("file", content, filename="saved.json", content_type="application/json")
    return (await request(target, person, "POST", "/conversations/import", data=form))[1]


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


@asynccontextmanager
async def socket_of(person: Person) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    socket = await person.http.ws_connect(f"{person.url}/ws", headers={"Origin": person.url})
    try:
        yield socket
    finally:
        await socket.close()


async def push(socket: aiohttp.ClientWebSocketResponse, data: bytes) -> bool:
    """Write bytes past the client's own protocol; False where the server has closed."""
    transport = socket._writer.transport
    if socket.closed or transport.is_closing():
        return False
    transport.write(data)
    # As a flood does: no further than the operating system takes.
    full = 1_000_000
    while transport.get_write_buffer_size() > full and not transport.is_closing():  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    return not transport.is_closing()


async def listen(target: Target, socket: aiohttp.ClientWebSocketResponse) -> None:
    """Count what the server says until it closes."""
    while True:
        message = await socket.receive()
        if message.type != aiohttp.WSMsgType.TEXT:
            break
        event = json.loads(message.data)
        target.saw(event.get("code") or event["type"])
    if socket.close_code is not None:
        target.saw(socket.close_code)
