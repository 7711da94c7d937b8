"""A server that goes on and on, in the words of each dialect."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.fakes.openai_connection import Behaviour, Connection, Seen
from tests.fakes.openai_server import FakeOpenAI

STREAM = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
HALF_A_MILLION = "x" * 500_000

Pieces = Callable[[], Iterable[bytes]]


class Endless(FakeOpenAI):
    """Answers every request with `pieces`, one in `pause` seconds, and then closes. `written` are
    the bytes that it has got rid of."""

    def __init__(self, pieces: Pieces, *, head: str = STREAM, pause: float = 0.0) -> None:
        super().__init__()
        self.pieces, self.head, self.pause = pieces, head, pause
        self.written = 0

    def connection(self) -> Connection:
        return _Endless(self)

    @property
    def root(self) -> str:
        return self.base_url.removesuffix("/v1")


class _Endless(Connection):
    def __init__(self, server: Endless) -> None:
        super().__init__(server.seen, Behaviour())
        self.server = server

    def request(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        self.task = asyncio.get_running_loop().create_task(self.go_on(self.seen))

    async def go_on(self, seen: Seen) -> None:
        seen.in_flight += 1
        try:
            await self.write(f"{self.server.head}connection: close\r\n\r\n".encode())
            for piece in self.server.pieces():
                await self.write(piece)
                self.server.written += len(piece)
                await asyncio.sleep(self.server.pause)
            self.transport.close()
        finally:
            seen.in_flight -= 1


def event(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chat(delta: dict[str, Any], *, finish: str | None = None) -> bytes:
    """A chunk of a chat completion."""
    return event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def chat_call(index: int | None = 0, **function: Any) -> bytes:
    place = {} if index is None else {"index": index}
    return chat({"tool_calls": [place | {"function": function}]})


CHAT_HI = chat({"content": "hi"})
CHAT_END = chat({}, finish="tool_calls") + b"data: [DONE]\n\n"


def begin(index: int, kind: str, **block: Any) -> bytes:
    """A block of Anthropic's begins."""
    block = {"type": kind, **block}
    return event({"type": "content_block_start", "index": index, "content_block": block})


def grow(index: int, kind: str, **delta: Any) -> bytes:
    delta = {"type": kind, **delta}
    return event({"type": "content_block_delta", "index": index, "delta": delta})


def tool(index: int, id: str = "toolu_1", name: str = "clock", **more: Any) -> bytes:
    return begin(index, "tool_use", id=id, name=name, **{"input": {}, **more})


CLAUDE_HI = begin(0, "text", text="") + grow(0, "text_delta", text="hi")
CLAUDE_END = event({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}) + event(
    {"type": "message_stop"}
)


def many(piece: Callable[[int], bytes], *, of: int = 80) -> Iterator[bytes]:
    return (piece(number) for number in range(of))
