"""Answers as servers stream them, in both dialects, and the odd lines that some send between."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

OPENAI, ANTHROPIC = "openai", "anthropic"
DIALECTS = (OPENAI, ANTHROPIC)


def line(event: object) -> bytes:
    return b"data: " + json.dumps(event, ensure_ascii=False).encode()


def chunk(delta: object, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish} | more]}


def chat(*texts: object, finish: str | None = "stop", done: bool = True) -> list[bytes]:
    """The lines of an answer in OpenAI's dialect, one an event."""
    lines = [line(chunk({"role": "assistant", "content": ""}))]
    lines += [line(chunk({"content": text})) for text in texts]
    lines += [line(chunk({}, finish))] if finish else []
    return [*lines, b"data: [DONE]"] if done else lines


def claude(*texts: object, reason: str | None = "end_turn", done: bool = True) -> list[bytes]:
    """The same in Anthropic's."""
    usage = {"input_tokens": 3, "output_tokens": 1}
    begun = {"type": "message", "role": "assistant", "content": [], "usage": usage}
    block = {"type": "text", "text": ""}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": block},
    ]
    for text in texts:
        delta = {"type": "text_delta", "text": text}
        events.append({"type": "content_block_delta", "index": 0, "delta": delta})
    events.append({"type": "content_block_stop", "index": 0})
    if reason:
        ended = {"stop_reason": reason, "stop_sequence": None}
        events.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 5}})
    events += [{"type": "message_stop"}] if done else []
    return [b"event: %b\n%b" % (event["type"].encode(), line(event)) for event in events]


def answer(dialect: str, *texts: object) -> list[bytes]:
    return chat(*texts) if dialect == OPENAI else claude(*texts)


def body(lines: Sequence[bytes], *, between: bytes = b"\n\n", last: bytes = b"\n\n") -> bytes:
    return between.join(lines) + last


def document(dialect: str, text: str) -> dict[str, Any]:
    """The answer that isn't streamed."""
    if dialect == OPENAI:
        said = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": said, "finish_reason": "stop"}
        usage = {"prompt_tokens": 3, "completion_tokens": 2}
        return {"object": "chat.completion", "choices": [choice], "usage": usage}
    blocks = [{"type": "text", "text": text}]
    usage = {"input_tokens": 3, "output_tokens": 2}
    return {"type": "message", "content": blocks, "stop_reason": "end_turn", "usage": usage}


def directive(sent: bytes, **more: str) -> str:
    """What makes a fake provider send these bytes."""
    keys: Mapping[str, str] = {"raw": base64.urlsafe_b64encode(sent).decode(), **more}
    return "[[" + ";".join(f"{key}={value}" for key, value in keys.items()) + "]]"


# Lines that may stand before, between and after the events of any answer.
ODD_LINES: Mapping[str, bytes] = {
    "an empty line of data": b"data:",
    "blanks": b"data:   ",
    "a tab": b"data:\t",
    "a field without a colon": b"data",
    "null": b"data: null",
    "an empty object": b"data: {}",
    "an empty list": b"data: []",
    "an empty text": b'data: ""',
    "a number": b"data: 7",
    "false": b"data: false",
    "a word": b"data: ping",
    "half an event": b'data: {"choices":[{"delta":{"content":"x',
    "half of the other dialect's": b'data: {"type":"content_block_delta","index":0,"del',
    "a list of nothing": b"data: [null]",
    "another shape": b'data: {"choices":{"delta":1}}',
    "a choice of null": b'data: {"choices":[null]}',
    "no choices": b'data: {"choices":null}',
    "an unknown event": b'data: {"type":"heartbeat","at":1}',
    "a ping": b'event: ping\ndata: {"type":"ping"}',
    "a comment": b": keep-alive",
    "an empty comment": b":",
    "an id": b"id: 7",
    "a wait": b"retry: 3000",
    "a name of an event": b"event: message",
    "an unknown field": b"x-trace: 1",
    "bytes that are no text": b"data: \xff\xfe{",
    "NUL": b"data: \x00",
    "deep nesting": b"data: " + b"[" * 5_000,
    "HTML": b"<p>gateway</p>",
    "two empty lines of data": b"data:\ndata:",
    "lines of data that are no event": b"data: one\ndata: two",
    "a mark of its own": b"data: [PING]",
}
ENDS: Mapping[str, bytes] = {
    "a blank behind": b"data: [DONE] ",
    "blanks around": b"data:   [DONE]  ",
    "no blank": b"data:[DONE]",
    "quoted": b'data: "[DONE]"',
    "lower case": b"data: [done]",
    "with a return": b"data: [DONE]\r",
    "no brackets": b"data: DONE",
    "another word": b"data: [END]",
    "in capitals": b"DATA: [Done]",
    "twice": b"data: data: [DONE]",
    "bare": b"[DONE]",
}
AFTER: Mapping[str, bytes] = {
    "garbage": b"}{ what is this",
    "data that is no event": b"data: <html>502</html>",
    "an error": b'data: {"error":{"message":"late","code":500}}',
    "an error event": b'event: error\ndata: {"type":"error","error":{"type":"api_error"}}',
    "more text": b'data: {"choices":[{"delta":{"content":" MORE"}}]}',
    "another end": b"data: [DONE]",
    "half a call": b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,',
}
