"""One connection of the fake provider: requests in, answers and refusals out."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.fakes.openai_answers import FAILURES, SECRET_TEXT, Answer, Plan, Script
from tests.fakes.openai_prompts import cut_silently, newest_user_text, prompt_tokens
from tests.fakes.openai_rules import template_problem
from tests.fakes.openai_uploads import Uploaded, named_files, uploaded

# The answer as JSON, or a function of the request's JSON (None without a body) that gives it.
Page = Any | Callable[[Any], Any]


@dataclass
class Seen:
    """What the server has received, as numbers and bodies."""

    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    files: dict[str, Uploaded] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)
    connections: int = 0
    in_flight: int = 0
    max_in_flight: int = 0
    client_aborts: int = 0


@dataclass
class Behaviour:
    """How one server behaves for all connections."""

    script: Script = field(default_factory=deque)
    keep: int = 0
    pages: dict[str, Page] = field(default_factory=dict)
    models: tuple[str, ...] = ("fake-model",)
    refuses_files: bool = False
    strict: bool = False


class Connection(asyncio.Protocol):
    """One socket, kept alive between requests; hand-written HTTP/1.1, since it must be fast."""

    transport: asyncio.Transport

    def __init__(self, seen: Seen, behaviour: Behaviour) -> None:
        self.seen = seen
        self.behaviour = behaviour
        self.buffer = bytearray()
        self.head: tuple[str, dict[str, str]] | None = None
        self.task: asyncio.Task[None] | None = None
        self.writable = asyncio.Event()
        self.writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.seen.connections += 1

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
        if self.head is None:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            lines = self.buffer[:end].decode("latin-1").split("\r\n")
            pairs = (line.partition(":") for line in lines[1:])
            self.head = lines[0], {k.strip().lower(): v.strip() for k, _, v in pairs}
            del self.buffer[: end + 4]
        first, headers = self.head
        length = int(headers.get("content-length", 0))
        if len(self.buffer) < length:
            return
        body = bytes(self.buffer[:length])
        del self.buffer[:length]
        self.head = None
        method, path, _ = first.split(" ", 2)
        self.request(method, path, headers, body)

    def request(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        self.seen.asked.append(f"{method} {path}")
        if path in self.behaviour.pages:
            page = self.behaviour.pages[path]
            self.whole(200, "OK", page(json.loads(body or b"null")) if callable(page) else page)
        elif method == "POST" and path.endswith("/chat/completions"):
            said = json.loads(body)
            self.seen.requests.append(said)
            self.seen.headers.append(headers)
            self.task = asyncio.get_running_loop().create_task(self.answer(said))
        elif method == "POST" and path.endswith("/files") and self.behaviour.refuses_files:
            self.refuse("413")
        elif method == "POST" and path.endswith("/files"):
            id = f"file-{len(self.seen.asked):024}"
            self.seen.files[id] = uploaded(headers["content-type"], body)
            self.whole(200, "OK", self.seen.files[id].described(id))
        elif path.endswith("/v1/models"):
            listed = [{"id": name, "object": "model"} for name in self.behaviour.models]
            self.whole(200, "OK", {"object": "list", "data": listed})
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
            prompt = prompt_tokens(body)
            if 0 < self.behaviour.keep < prompt:
                prompt = self.behaviour.keep
                body = cut_silently(body, prompt)
            if self.behaviour.strict and (why := template_problem(body["messages"])):
                self.refuse("400", said=why)
                return
            plan = self.plan(body)
            lost = [id for id in named_files(body) if id not in seen.files]
            if lost:
                said = f"No such File object: {lost[0]}"
                self.refuse("400", said=said)
            elif plan.mode == "no_tools" and body.get("tools"):
                self.refuse("400", said=f"{body.get('model')} does not support tools")
            elif plan.mode in FAILURES:
                self.refuse(plan.mode, extra=_waits(plan))
            elif plan.raw:
                await self.send_raw(plan)
            else:
                await Answer(self, body, plan, prompt=prompt).send()
        finally:
            seen.in_flight -= 1

    def plan(self, body: Mapping[str, Any]) -> Plan:
        """The plan for a request; a failure ends after its number of times."""
        plan = Plan.of(body, script=self.behaviour.script)
        if not plan.fails:
            return plan
        text = newest_user_text(body)
        self.seen.failed[text] += 1
        return replace(plan, mode="ok") if self.seen.failed[text] > plan.fails else plan

    async def send_raw(self, plan: Plan) -> None:
        kind = plan.keys.get("type", "text/event-stream")
        await self.send_stream(plan.raw, kind=kind, crumbs=bool(plan.crumbs))

    async def send_stream(
        self, body: bytes, *, kind: str = "text/event-stream", crumbs: bool = False
    ) -> None:
        """A body of a test's own, byte for byte."""
        await self.write(
            f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n"
            "transfer-encoding: chunked\r\n\r\n".encode()
        )
        size = 1 if crumbs else max(len(body), 1)
        for start in range(0, len(body), size):
            piece = body[start : start + size]
            await self.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await asyncio.sleep(0)
        await self.write(b"0\r\n\r\n")

    def refuse(self, mode: str, *, said: str = SECRET_TEXT, extra: str = "") -> None:
        status, reason, kind, code = FAILURES[mode]
        error = {"message": said, "type": kind, "param": None, "code": code}
        self.whole(status, reason, {"error": error}, extra)


def _waits(plan: Plan) -> str:
    after, millis = plan.retry_after, plan.keys.get("retry_ms")
    said = f"retry-after: {after}\r\n" if after else ""
    return said + (f"retry-after-ms: {millis}\r\n" if millis else "")
