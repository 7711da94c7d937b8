"""A provider that speaks Anthropic's messages API on a real socket and fails when told to.

The newest text of a user may hold a directive: `[[mode=cut;at=5]]`. Its keys are those of
`openai_server`, and:

mode         402, 413, 529, spent (a limit of money), error_first (an error event instead of an
             answer), pings (signs of life, but no answer), window, pause, stop_sequence, no_stop
             (no message_stop)
think        how many tokens of thinking come first, where thinking is asked for; they are signed
redacted     1: a block of encrypted thinking comes too
calls        calls at the end: `clock:{"zone":"UTC"}|sum:{}`
rounds       in how many rounds of a turn (1)
cached       how many tokens of the prompt come from the cache

It refuses, with 400, what Anthropic's rules don't allow (see `anthropic_rules`), and 404 for a file
that it wasn't given or that `forget_files` made it forget.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.anthropic_answers import FAILURES, TOO_LONG, Answer, plan_of
from tests.fakes.anthropic_rules import problems
from tests.fakes.openai_answers import SECRET_TEXT, Script
from tests.fakes.openai_server import Connection, FakeOpenAI, Seen


@dataclass
class SeenHere(Seen):
    """`files` are the contents that it was given, by the names that it gave them; `problems` is
    what was wrong with requests."""

    files: dict[str, bytes] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    uploads: int = 0


class AnthropicConnection(Connection):
    seen: SeenHere

    def __init__(self, seen: SeenHere, script: Script) -> None:
        super().__init__(seen, script)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, blank, rest = bytes(self.buffer).partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines[1:])
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        length = int(headers.get("content-length", 0))
        if not blank or len(rest) < length:
            return
        self.buffer = bytearray(rest[length:])
        method, path, _ = lines[0].split(" ", 2)
        self.handle(method, path, headers, rest[:length])

    def handle(self, method: str, path: str, headers: dict[str, str], content: bytes) -> None:
        if method == "POST" and path == "/v1/messages":
            body = json.loads(content)
            self.seen.requests.append(body)
            self.seen.headers.append(headers)
            self.task = asyncio.get_running_loop().create_task(self.answer(body))
        elif method == "POST" and path == "/v1/files":
            self.keep(headers, content)
        else:
            self.fail(404, "Not Found", "not_found_error", "no such path")

    def keep(self, headers: Mapping[str, str], content: bytes) -> None:
        """The first part named `file` of a form."""
        boundary = headers["content-type"].partition("boundary=")[2].encode()
        part = next(p for p in content.split(b"--" + boundary) if b'name="file"' in p)
        head, _, data = part.partition(b"\r\n\r\n")
        kind = head.lower().partition(b"content-type: ")[2].partition(b"\r\n")[0].decode()
        self.seen.uploads += 1
        name = f"file_{self.seen.uploads:03}"
        self.seen.files[name] = data.removesuffix(b"\r\n")
        self.whole(
            200,
            "OK",
            {
                "id": name,
                "type": "file",
                "filename": "file",
                "mime_type": kind,
                "size_bytes": len(data) - 2,
                "created_at": "2026-11-22T05:00:00Z",
            },
        )

    async def answer(self, body: Mapping[str, Any]) -> None:
        seen = self.seen
        seen.in_flight += 1
        seen.max_in_flight = max(seen.max_in_flight, seen.in_flight)
        try:
            plan = plan_of(body, script=self.script)
            version = seen.headers[-1].get("anthropic-version", "")
            wrong = problems(body, version=version)
            lost = [name for name in named_files(body) if name not in seen.files]
            if plan.mode in FAILURES:
                status, reason, kind, code = FAILURES[plan.mode]
                said = TOO_LONG if plan.mode == "too_large" else SECRET_TEXT
                self.fail(status, reason, kind, said, code=code, wait=plan.retry_after)
            elif wrong:
                seen.problems += wrong
                self.fail(400, "Bad Request", "invalid_request_error", "; ".join(wrong))
            elif lost:
                self.fail(404, "Not Found", "not_found_error", f"File not found: {lost[0]}")
            else:
                await Answer(self, body, plan).send()
        finally:
            seen.in_flight -= 1

    def fail(
        self,
        status: int,
        reason: str,
        kind: str,
        said: str,
        *,
        code: str | None = None,
        wait: str = "",
    ) -> None:
        details = {"error_code": code} if code else None
        error = {"type": kind, "message": said, "details": details}
        extra = f"retry-after: {wait}\r\n" if wait else ""
        self.whole(status, reason, {"type": "error", "error": error, "request_id": "req_1"}, extra)


def named_files(body: Mapping[str, Any]) -> list[str]:
    return [
        block["source"]["file_id"]
        for message in body["messages"]
        for block in message["content"]
        if block.get("source", {}).get("type") == "file"
    ]


class FakeAnthropic(FakeOpenAI):
    """The server in a thread of its own, for as long as the `with` block runs."""

    seen: SeenHere

    def __init__(self, *, port: int = 0, script: Iterable[str] = ()) -> None:
        super().__init__(port=port, script=script)
        self.seen = SeenHere()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def problems(self) -> list[str]:
        return self.seen.problems

    def forget_files(self) -> None:
        self.seen.files.clear()

    def _run(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        listening = loop.create_server(
            lambda: AnthropicConnection(self.seen, self.script), "127.0.0.1", self.port
        )
        server = loop.run_until_complete(listening)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.close()
