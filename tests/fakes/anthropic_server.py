"""A provider that speaks Anthropic's messages API on a real socket and fails on demand.

The newest text of a user may hold a directive: `[[mode=cut;at=5]]`. Its keys are those of
`openai_server` (calls, rounds, before, think, cached and fails among them), and:

mode         spent (429: a limit of money), file_refused, error_first (an error event instead of
             an answer), pings (signs of life, but no answer), window, pause, stop_sequence,
             no_stop (no message_stop)
redacted     1: also sends a block of encrypted thinking

Thinking is sent where the request asks for it, and is signed. A request against Anthropic's rules
(see `anthropic_rules`) is refused with 400 and added to `problems`; a file that wasn't uploaded, or
was removed from `files`, is refused with 404.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

from tests.fakes.anthropic_answers import FAILURES, WORDS, Answer, asked
from tests.fakes.anthropic_rules import problems
from tests.fakes.openai_answers import SECRET_TEXT, Plan
from tests.fakes.openai_connection import Behaviour, Connection, Seen
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.openai_uploads import Uploaded


class AnthropicConnection(Connection):
    def __init__(self, seen: Seen, behaviour: Behaviour, problems: list[str]) -> None:
        super().__init__(seen, behaviour)
        self.problems = problems

    def request(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        if (method, path) == ("POST", "/v1/messages"):
            self.seen.asked.append(f"{method} {path}")
            said = json.loads(body)
            self.seen.requests.append(said)
            self.seen.headers.append(headers)
            self.task = asyncio.get_running_loop().create_task(self.answer(said))
        elif (method, path) == ("POST", "/v1/files"):
            self.seen.asked.append(f"{method} {path}")
            self.keep(headers["content-type"], body)
        else:
            super().request(method, path, headers, body)

    def keep(self, content_type: str, body: bytes) -> None:
        head = f"content-type: {content_type}\r\n\r\n".encode()
        parts = list(BytesParser(policy=HTTP).parsebytes(head + body).iter_parts())
        file = next(part for part in parts if part.get_filename())
        data = file.get_payload(decode=True)
        assert isinstance(data, bytes)
        number = sum(one.endswith("/files") for one in self.seen.asked)
        id, kind = f"file_{number:03}", file.get_content_type()
        self.seen.files[id] = Uploaded(file.get_filename() or "", kind, "", data)
        described = {"id": id, "type": "file", "filename": "file", "mime_type": kind}
        times = {"created_at": "2026-11-22T05:00:00Z"}
        self.whole(200, "OK", described | times | {"size_bytes": len(data)})

    async def answer(self, body: Mapping[str, Any]) -> None:
        seen = self.seen
        seen.in_flight += 1
        seen.max_in_flight = max(seen.max_in_flight, seen.in_flight)
        try:
            plan = self.plan(_as_chat(body))
            version = seen.headers[-1].get("anthropic-version", "")
            wrong = problems(body, version=version)
            self.problems += wrong
            lost = [id for id in _named_files(body) if id not in seen.files]
            if plan.mode in FAILURES:
                said = WORDS.get(plan.mode, SECRET_TEXT)
                self.refuse(plan.mode, said=said, extra=_wait(plan))
            elif wrong:
                self.refuse("400", said="; ".join(wrong))
            elif lost:
                self.refuse("404", said=f"File not found: {lost[0]}")
            elif plan.raw:
                await self.send_raw(plan)
            else:
                await Answer(self, body, plan, seen.requests).send()
        finally:
            seen.in_flight -= 1

    def refuse(self, mode: str, *, said: str = SECRET_TEXT, extra: str = "") -> None:
        status, reason, kind, code = FAILURES[mode]
        details = {"error_code": code} if code else None
        error = {"type": kind, "message": said, "details": details}
        self.whole(status, reason, {"type": "error", "error": error, "request_id": "req_1"}, extra)


def _as_chat(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of the request from which a directive is read. Thinking raises the limit above the
    answer's own."""
    bound = body["max_tokens"] if "thinking" not in body else None
    return {"messages": [{"role": "user", "content": asked(body)}], "max_tokens": bound}


def _wait(plan: Plan) -> str:
    return f"retry-after: {plan.retry_after}\r\n" if plan.retry_after else ""


def _named_files(body: Mapping[str, Any]) -> list[str]:
    blocks = [block for message in body["messages"] for block in message["content"]]
    sources = [block.get("source", {}) for block in blocks]
    return [source["file_id"] for source in sources if source.get("type") == "file"]


class FakeAnthropic(FakeOpenAI):
    """The server in a thread of its own, for as long as the `with` block runs."""

    def __init__(self, *, port: int = 0, script: Iterable[str] = ()) -> None:
        super().__init__(port=port, script=script)
        self.problems: list[str] = []

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connection(self) -> AnthropicConnection:
        return AnthropicConnection(self.seen, self.behaviour, self.problems)
