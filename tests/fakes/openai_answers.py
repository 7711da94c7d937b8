"""The fake provider's answers: a plan, read from the directive, and its stream."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.fakes.openai_prompts import newest_user_text
from tests.fakes.openai_wishes import Wishes

_DIRECTIVE = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)
# A word, or the next thousand of a long run: nobody streams more at once.
_WORD = re.compile(r"\s{1000}|\s*\S{1,1000}")
_BATCH = 64
FAILURES = {
    "400": (400, "Bad Request", "invalid_request_error", None),
    "401": (401, "Unauthorized", "invalid_api_key", "invalid_api_key"),
    "403": (403, "Forbidden", "permission_denied", None),
    "404": (404, "Not Found", "invalid_request_error", "model_not_found"),
    "429": (429, "Too Many Requests", "rate_limit_exceeded", "rate_limit_exceeded"),
    "402": (402, "Payment Required", "insufficient_quota", None),
    "408": (408, "Request Timeout", "timeout", None),
    "413": (413, "Request Entity Too Large", "invalid_request_error", None),
    "quota": (429, "Too Many Requests", "insufficient_quota", "insufficient_quota"),
    "too_large": (400, "Bad Request", "invalid_request_error", "context_length_exceeded"),
    "500": (500, "Internal Server Error", "server_error", None),
    "503": (503, "Service Unavailable", "server_error", None),
    "529": (529, "Overloaded", "overloaded_error", None),
}
SECRET_TEXT = "the provider's own words about key sk-secret at http://secret.example"


# Words or directives, one an answer; or a function of the request that stays and answers them all.
Script = deque[str | Callable[[Mapping[str, Any]], str]]


class Wire(Protocol):
    """The socket, as far as an answer needs it."""

    async def write(self, data: bytes) -> None: ...

    async def reset(self) -> None:
        """End with a TCP reset, after all that was written."""
        ...


@dataclass(frozen=True)
class Plan:
    """One answer, as the directive asks for it; `keys` are its keys, word for word."""

    mode: str = "ok"
    at: int = 5
    tokens: tuple[str, ...] = ()
    rate: float = 0.0
    first: float = 0.0
    retry_after: str = ""
    crumbs: bool = False
    fails: int = 0
    keys: Mapping[str, str] = field(default_factory=dict)

    @property
    def raw(self) -> bytes:
        """The whole body of the answer; empty where the other keys make it."""
        return base64.urlsafe_b64decode(self.keys.get("raw", ""))

    @classmethod
    def of(cls, body: Mapping[str, Any], *, script: Script) -> Plan:
        found = _DIRECTIVE.search(newest_user_text(body))
        keys = {"mode": "ok"}
        if not found and script:
            first = script[0]
            answer = first(body) if callable(first) else str(script.popleft())
            found = _DIRECTIVE.fullmatch(answer)
            keys |= {} if found else {"text": answer}
        for part in found.group(1).split(";") if found else ():
            key, _, value = part.partition("=")
            keys[key.strip()] = value
        if "b64" in keys:
            keys["text"] = base64.urlsafe_b64decode(keys["b64"]).decode()
        mode = keys["mode"]
        words = _WORD.findall(keys["text"]) if "text" in keys else None
        count = int(keys.get("tokens", len(words) if words else 24))
        limit = keys.get("over") == "1" and count
        limit = limit or body.get("max_completion_tokens") or body.get("max_tokens") or count
        source = words or [f" w{n}" for n in range(min(count, limit))]
        return cls(
            mode="length" if mode == "ok" and count > limit else mode,
            at=int(keys.get("at", 5)),
            tokens=() if mode == "empty" else tuple(source[:limit]),
            rate=5.0 if mode == "slow" else float(keys.get("rate", 0)),
            first=float(keys.get("first", 0)),
            retry_after=keys.get("retry_after", ""),
            crumbs=keys.get("crumbs") == "1",
            fails=int(keys.get("fails", 0)),
            keys=keys,
        )


class Answer:
    """The stream of one answer, chunked."""

    def __init__(self, wire: Wire, body: Mapping[str, Any], plan: Plan, *, prompt: int) -> None:
        self.wire = wire
        self.plan = plan
        self.usage = bool((body.get("stream_options") or {}).get("include_usage"))
        self.wishes = Wishes.of(plan.keys, body)
        self.prompt = prompt
        self.base = (
            f'"id":"chatcmpl-{id(self)}","object":"chat.completion.chunk","created":1763700000,'
            f'"model":{json.dumps(body.get("model"))},"system_fingerprint":null'
        )

    async def send(self) -> None:
        plan = self.plan
        await self.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        await self.event(self.delta({"role": "assistant", "content": ""}))
        if plan.mode == "hang0":
            await asyncio.Event().wait()
        if plan.first:
            await asyncio.sleep(plan.first)
        for delta in self.wishes.thoughts():
            await self.event(self.delta(delta))
        broken = plan.mode in ("cut", "cleancut", "error_event", "malformed", "hang", "pings")
        tokens = self.wishes.before if self.wishes.calls else plan.tokens
        await self.words(tokens[: plan.at] if broken else tokens)
        if broken:
            await self.break_off()
            return
        for delta in self.wishes.called():
            await self.event(self.delta(delta))
        reason = plan.mode if plan.mode in ("length", "content_filter") else self.wishes.finish
        await self.event(self.delta({}, finish=reason))
        if plan.mode == "no_usage":
            await asyncio.Event().wait()
        if self.usage:
            await self.event(self.tail(len(tokens)))
        await self.event("[DONE]")
        await self.write(b"0\r\n\r\n")

    async def words(self, tokens: tuple[str, ...]) -> None:
        if not self.plan.rate:
            for start in range(0, len(tokens), _BATCH):
                batch = tokens[start : start + _BATCH]
                await self.write(_frame(*(self.word(token) for token in batch)))
            return
        loop = asyncio.get_running_loop()
        due = loop.time()
        for token in tokens:
            await self.event(self.word(token))
            due += 1 / self.plan.rate
            await asyncio.sleep(max(due - loop.time(), 0))

    async def break_off(self) -> None:
        match self.plan.mode:
            case "cut":
                await self.wire.reset()
            case "cleancut":
                await self.write(b"0\r\n\r\n")
            case "pings":
                while True:
                    await self.write(b"8\r\n: ping\n\n\r\n")
                    await asyncio.sleep(0.05)
            case "error_event":
                code = self.plan.keys.get("code")
                error: dict[str, object] = {"message": SECRET_TEXT, "type": "server_error"}
                error["code"] = int(code) if code else None
                await self.event(json.dumps({"error": error}))
                await self.write(b"0\r\n\r\n")
            case "malformed":
                await self.event("{" + self.base + ',"choices":[{"index":0,')
                await self.write(b"0\r\n\r\n")
            case _:
                await asyncio.Event().wait()

    def word(self, token: str) -> str:
        if self.wishes.stamped:
            token += f"@{time.monotonic_ns() // 1000}"
        return (
            f'{{{self.base},"choices":[{{"index":0,"delta":{{"content":'
            f'{json.dumps(token, ensure_ascii=False)}}},"logprobs":null,"finish_reason":null}}]'
            + (',"usage":null}' if self.usage else "}")
        )

    def delta(self, delta: Mapping[str, Any], *, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        tail = ',"usage":null}' if self.usage else "}"
        return f'{{{self.base},"choices":[{json.dumps(choice)}]{tail}'

    def tail(self, completion: int) -> str:
        usage = {
            "prompt_tokens": self.prompt,
            "completion_tokens": completion,
            "total_tokens": self.prompt + completion,
        } | self.wishes.cached()
        return f'{{{self.base},"choices":[],"usage":{json.dumps(usage)}}}'

    async def event(self, payload: str) -> None:
        await self.write(_frame(payload))

    async def write(self, data: bytes) -> None:
        if not self.plan.crumbs:
            await self.wire.write(data)
            return
        for byte in data:
            await self.wire.write(bytes((byte,)))
            await asyncio.sleep(0)


def _frame(*payloads: str) -> bytes:
    """Events, in one chunk of the transfer encoding."""
    data = "".join(f"data: {payload}\n\n" for payload in payloads).encode()
    return b"%x\r\n%b\r\n" % (len(data), data)
