"""The fake Anthropic server's answers: a directive as the real event stream."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.fakes.anthropic_rules import parting, signature
from tests.fakes.openai_answers import SECRET_TEXT, Plan, Wire

# Status, words of HTTP, and the error's own type and code.
FAILURES = {
    "400": (400, "Bad Request", "invalid_request_error", None),
    "401": (401, "Unauthorized", "authentication_error", None),
    "402": (402, "Payment Required", "billing_error", None),
    "403": (403, "Forbidden", "permission_error", None),
    "404": (404, "Not Found", "not_found_error", None),
    "413": (413, "Request Entity Too Large", "request_too_large", None),
    "429": (429, "Too Many Requests", "rate_limit_error", None),
    "spent": (429, "Too Many Requests", "rate_limit_error", "enforced_spend_limit_reached"),
    "too_large": (400, "Bad Request", "invalid_request_error", None),
    "file_refused": (400, "Bad Request", "invalid_request_error", None),
    "500": (500, "Internal Server Error", "api_error", None),
    "529": (529, "Overloaded", "overloaded_error", None),
}
# What may be found in the provider's own text.
WORDS = {
    "too_large": "prompt is too long: 200001 tokens > 200000 maximum",
    "file_refused": "Could not process file",
}
_REASONS = {
    "length": "max_tokens",
    "content_filter": "refusal",
    "window": "model_context_window_exceeded",
    "pause": "pause_turn",
    "stop_sequence": "stop_sequence",
}
_BROKEN = ("cut", "cleancut", "error_event", "malformed", "hang", "pings")


@dataclass(frozen=True)
class Wishes:
    """What a directive asks for besides words. `calls` are names with the text of their arguments,
    made in `rounds` rounds of a turn; `before` are words that precede them."""

    think: int = 0
    redacted: bool = False
    calls: tuple[tuple[str, str], ...] = ()
    rounds: int = 1
    before: tuple[str, ...] = ()
    cached: int = 0

    @classmethod
    def of(cls, keys: Mapping[str, str]) -> Wishes:
        calls = [call.partition(":")[::2] for call in keys.get("calls", "").split("|") if call]
        return cls(
            think=int(keys.get("think", 0)),
            redacted=keys.get("redacted") == "1",
            calls=tuple((name, arguments or "{}") for name, arguments in calls),
            rounds=int(keys.get("rounds", 1)),
            before=tuple(re.findall(r"\s*\S+", keys.get("before", ""))),
            cached=int(keys.get("cached", 0)),
        )


def asked(body: Mapping[str, Any]) -> str:
    """The newest text of a user."""
    for message in reversed(body["messages"]):
        for block in reversed(message["content"]):
            if message["role"] == "user" and block["type"] == "text":
                return str(block["text"])
    return ""


class Answer:
    """The stream of one answer, chunked."""

    def __init__(
        self,
        wire: Wire,
        body: Mapping[str, Any],
        plan: Plan,
        requests: Sequence[Mapping[str, Any]],
    ) -> None:
        self.wire = wire
        self.requests = requests
        self.plan = plan
        self.body = body
        self.wishes = Wishes.of(plan.keys)
        self.index = 0

    async def send(self) -> None:
        plan = self.plan
        await self.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        if plan.mode == "error_first":
            await self.break_off("error_event")
            return
        await self.event({"type": "message_start", "message": self.message()}, {"type": "ping"})
        if plan.mode == "hang0":
            await asyncio.Event().wait()
        if plan.first:
            await asyncio.sleep(plan.first)
        await self.thoughts()
        broken = plan.mode in _BROKEN
        calls = self.calls()
        tokens = self.wishes.before if calls else plan.tokens
        await self.words(tokens[: plan.at] if broken else tokens, whole=not broken)
        if broken:
            await self.break_off(plan.mode)
            return
        await self.call(calls)
        reason = _REASONS.get(plan.mode) or ("tool_use" if calls else "end_turn")
        usage = {"output_tokens": len(tokens) + self.wishes.think + 10 * len(calls)}
        delta = {"stop_reason": reason, "stop_sequence": None}
        await self.event({"type": "message_delta", "delta": delta, "usage": usage})
        if plan.mode != "no_stop":
            await self.event({"type": "message_stop"})
        await self.write(b"0\r\n\r\n")

    def message(self) -> dict[str, Any]:
        """Some of the prompt's tokens were read from the cache, and some written to it."""
        words = len(json.dumps(self.body["messages"]).split())
        cached = min(self.wishes.cached, words)
        return {
            "id": f"msg_{len(self.requests):02}",
            "type": "message",
            "role": "assistant",
            "model": self.body["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": 5,
                "cache_read_input_tokens": cached,
                "cache_creation_input_tokens": words - cached,
                "output_tokens": 1,
            },
            "diagnostics": self.diagnostics(),
        }

    def diagnostics(self) -> dict[str, Any] | None:
        """Requests that don't ask for it are forgotten."""
        named = self.body.get("diagnostics", {}).get("previous_message_id")
        asked = enumerate(self.requests, start=1)
        kept = {f"msg_{n:02}": body for n, body in asked if "diagnostics" in body}
        reason = parting(self.body, kept.get(named)) if named else None
        return {"cache_miss_reason": reason} if reason else None

    async def thoughts(self) -> None:
        """Thinking before each answer, where the request asks for it."""
        if self.body.get("thinking", {}).get("type") not in ("adaptive", "enabled"):
            return
        said = [f" t{n}" for n in range(self.wishes.think)]
        if said:
            await self.begin({"type": "thinking", "thinking": "", "signature": ""})
            for piece in said:
                await self.grow({"type": "thinking_delta", "thinking": piece})
            signed = signature("".join(said), self.body)
            await self.grow({"type": "signature_delta", "signature": signed})
            await self.end()
        if self.wishes.redacted:
            await self.begin({"type": "redacted_thinking", "data": signature("", self.body)})
            await self.end()

    async def words(self, tokens: Sequence[str], *, whole: bool) -> None:
        if not tokens:
            return
        await self.begin({"type": "text", "text": ""})
        loop = asyncio.get_running_loop()
        due = loop.time()
        for token in tokens:
            await self.grow({"type": "text_delta", "text": token})
            if self.plan.rate:
                due += 1 / self.plan.rate
                await asyncio.sleep(max(due - loop.time(), 0))
        if whole:
            await self.end()

    def calls(self) -> Sequence[tuple[str, str]]:
        """As many rounds of calls as asked for, where the model may call tools."""
        current = 0
        for message in reversed(self.body["messages"]):
            kinds = {block["type"] for block in message["content"]}
            current += "tool_result" in kinds
            if message["role"] == "user" and "text" in kinds:
                break
        may = self.body.get("tools") and "tool_choice" not in self.body
        return self.wishes.calls if may and current < self.wishes.rounds else ()

    async def call(self, calls: Sequence[tuple[str, str]]) -> None:
        for number, (name, arguments) in enumerate(calls):
            id = f"toolu_{len(self.body['messages']):04}_{number}"
            await self.begin({"type": "tool_use", "id": id, "name": name, "input": {}})
            await self.grow({"type": "input_json_delta", "partial_json": ""})
            for start in range(0, len(arguments), 7):
                piece = arguments[start : start + 7]
                await self.grow({"type": "input_json_delta", "partial_json": piece})
            await self.end()

    async def break_off(self, mode: str) -> None:
        match mode:
            case "cut":
                await self.wire.reset()
            case "cleancut":
                await self.write(b"0\r\n\r\n")
            case "error_event":
                error = {"type": "overloaded_error", "message": SECRET_TEXT}
                await self.event({"type": "error", "error": error})
                await self.write(b"0\r\n\r\n")
            case "malformed":
                await self.write(_frame(("content_block_delta", '{"type":"content_block_')))
                await self.write(b"0\r\n\r\n")
            case "pings":
                while True:
                    await self.event({"type": "ping"})
                    await asyncio.sleep(0.05)
            case _:
                await asyncio.Event().wait()

    async def begin(self, block: Mapping[str, Any]) -> None:
        start = {"type": "content_block_start", "index": self.index, "content_block": block}
        await self.event(start)

    async def grow(self, delta: Mapping[str, Any]) -> None:
        await self.event({"type": "content_block_delta", "index": self.index, "delta": delta})

    async def end(self) -> None:
        await self.event({"type": "content_block_stop", "index": self.index})
        self.index += 1

    async def event(self, *events: Mapping[str, Any]) -> None:
        said = ((event["type"], json.dumps(event, ensure_ascii=False)) for event in events)
        await self.write(_frame(*said))

    async def write(self, data: bytes) -> None:
        if not self.plan.crumbs:
            await self.wire.write(data)
            return
        for byte in data:
            await self.wire.write(bytes((byte,)))
            await asyncio.sleep(0)


def _frame(*events: tuple[str, str]) -> bytes:
    """Events by name and data, in one chunk of the transfer encoding."""
    data = "".join(f"event: {name}\ndata: {said}\n\n" for name, said in events).encode()
    return b"%x\r\n%b\r\n" % (len(data), data)
