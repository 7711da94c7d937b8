"""A provider that speaks OpenAI's chat completions on a real socket and fails when told to.

The newest user message may hold a directive: `[[mode=cut;at=5]]`. Keys:

mode         ok, 401, 400, 404, 429, 500, cut (TCP reset), cleancut (proper end, no finish_reason),
             error_event, malformed, hang0 (nothing after the headers), hang (silence mid-way),
             slow (5 tokens a second), length, content_filter, empty
at           how many tokens come before the failure (5)
tokens, text how many tokens to answer, or which words (24 tokens)
b64          the words in URL-safe base64, for texts that hold `;` or `]]`
rate         tokens a second; 0 is as fast as the socket takes them (0)
first        seconds before the first token (0)
retry_after  seconds, a header of 429
crumbs       1: every byte is its own write

Without a directive the next answer of `FakeOpenAI.script` comes, as long as there is one: words,
or a directive. A function in it is given the request, stays, and answers all that follow.

`with FakeOpenAI() as fake:` runs it in a thread; `python -m tests.fakes.openai_server --port 8199`
runs it alone, then `GET /_stats` and `GET /_requests` tell what it saw.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from tests.fakes.openai_answers import FAILURES, SECRET_TEXT, Answer, Plan, Script


@dataclass
class Seen:
    """What happened, as numbers and bodies."""

    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    in_flight: int = 0
    max_in_flight: int = 0
    client_aborts: int = 0


class Connection(asyncio.Protocol):
    """One socket, kept alive between requests; plain HTTP/1.1 by hand, since it must be fast."""

    transport: asyncio.Transport

    def __init__(self, seen: Seen, script: Script) -> None:
        self.seen = seen
        self.script = script
        self.buffer = bytearray()
        self.task: asyncio.Task[None] | None = None
        self.writable = asyncio.Event()
        self.writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self.task is not None and not self.task.done():
            self.seen.client_aborts += 1
            self.task.cancel()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, blank, rest = bytes(self.buffer).partition(b"\r\n\r\n")
        if not blank:
            return
        lines = head.decode("latin-1").split("\r\n")
        headers = {
            k.strip().lower(): v.strip() for k, _, v in (x.partition(":") for x in lines[1:])
        }
        length = int(headers.get("content-length", 0))
        if len(rest) < length:
            return
        self.buffer = bytearray(rest[length:])
        method, path, _ = lines[0].split(" ", 2)
        if method == "POST" and path.endswith("/chat/completions"):
            body = json.loads(rest[:length])
            self.seen.requests.append(body)
            self.seen.headers.append(headers)
            self.task = asyncio.get_running_loop().create_task(self.answer(body))
        elif path == "/_requests":
            self.whole(200, "OK", self.seen.requests)
        elif path == "/_stats":
            stats = {k: v for k, v in vars(self.seen).items() if isinstance(v, int)}
            self.whole(200, "OK", stats | {"requests": len(self.seen.requests)})
        else:
            self.whole(404, "Not Found", {"error": {"message": "no such path"}})

    def whole(self, status: int, reason: str, value: object, extra: str = "") -> None:
        body = json.dumps(value).encode()
        self.transport.write(
            f"HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\n{extra}"
            f"content-length: {len(body)}\r\n\r\n".encode()
            + body
        )

    async def write(self, data: bytes) -> None:
        await self.writable.wait()
        self.transport.write(data)

    async def reset(self) -> None:
        self.transport.set_write_buffer_limits(0)
        await self.writable.wait()
        self.task = None
        self.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        self.transport.abort()

    async def answer(self, body: Mapping[str, Any]) -> None:
        seen = self.seen
        seen.in_flight += 1
        seen.max_in_flight = max(seen.max_in_flight, seen.in_flight)
        try:
            plan = Plan.of(body, script=self.script)
            if plan.mode in FAILURES:
                status, reason, kind, code = FAILURES[plan.mode]
                error = {"message": SECRET_TEXT, "type": kind, "param": None, "code": code}
                extra = f"retry-after: {plan.retry_after}\r\n" if plan.retry_after else ""
                self.whole(status, reason, {"error": error}, extra)
            else:
                await Answer(self, body, plan).send()
        finally:
            seen.in_flight -= 1


class FakeOpenAI:
    """The server in a thread of its own, for as long as the `with` block runs."""

    def __init__(self, *, port: int = 0, script: Iterable[str] = ()) -> None:
        self.seen = Seen()
        self.script: Script = deque(script)
        self.port = port
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fake-openai", daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """Bodies as received, oldest first."""
        return self.seen.requests

    @property
    def headers(self) -> list[dict[str, str]]:
        return self.seen.headers

    @property
    def in_flight(self) -> int:
        return self.seen.in_flight

    @property
    def client_aborts(self) -> int:
        return self.seen.client_aborts

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._started.wait(10):
            raise RuntimeError("the fake provider didn't start")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        server = loop.run_until_complete(_listen(self.seen, self.script, port=self.port))
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.close()


async def _listen(seen: Seen, script: Script, *, port: int) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    return await loop.create_server(
        lambda: Connection(seen, script), "127.0.0.1", port, backlog=1024
    )


async def _serve(port: int) -> None:
    server = await _listen(Seen(), deque(), port=port)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description="A fake OpenAI-compatible provider")
    parser.add_argument("--port", type=int, default=8199, help="0 takes a free one")
    asyncio.run(_serve(parser.parse_args().port))


if __name__ == "__main__":
    main()
