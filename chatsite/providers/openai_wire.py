"""Chat completions as JSON: our messages into theirs, their chunks into ours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from chatsite.messages import Message
from chatsite.providers import openai_errors as errors
from chatsite.providers.base import Finished, FinishReason, Text, Usage
from chatsite.providers.text import plain_text

_REASONS: dict[str, FinishReason] = {reason: reason for reason in get_args(FinishReason)} | {
    "function_call": "tool_calls"
}


def wire_messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    return [_wire_message(message) for message in messages]


def _wire_message(message: Message) -> dict[str, Any]:
    text = plain_text(message)
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id or "", "content": text}
    if not message.calls:
        return {"role": message.role, "content": text}
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {
                "name": call.name,
                "arguments": json.dumps(dict(call.arguments), ensure_ascii=False),
            },
        }
        for call in message.calls
    ]
    return {"role": "assistant", "content": text or None, "tool_calls": calls}


class AnswerReader:
    """Collects one streamed answer: gives its text piece by piece and remembers how it ended."""

    def __init__(self) -> None:
        self.signs = 0
        self.done = False
        self.reason: FinishReason | None = None
        self.usage = Usage()

    def take(self, payload: bytes) -> Text | None:
        """One event's data. Raises ProviderError for an error event and for what isn't a chunk.

        `signs` counts what shows the model at work, text or not.
        """
        if payload == b"[DONE]":
            self.done = True
            return None
        try:
            chunk = json.loads(payload.decode())
            if chunk.get("error"):
                raise errors.failed_midway("error event")
            if chunk.get("usage"):
                self.usage = read_usage(chunk["usage"])
            choices = chunk.get("choices")
            return self._choice(choices[0]) if choices else None
        except (ValueError, AttributeError, KeyError, TypeError, RecursionError) as error:
            raise errors.malformed(type(error).__name__) from None

    def _choice(self, choice: Mapping[str, Any]) -> Text | None:
        delta = choice.get("delta") or {}
        text = delta.get("content") or delta.get("refusal")
        if text or delta.get("tool_calls") or delta.get("reasoning_content"):
            self.signs += 1
        finish = choice.get("finish_reason")
        if finish:
            self.signs += 1
            self.reason = _REASONS.get(finish, "stop")
        if text is not None and not isinstance(text, str):
            raise TypeError("content isn't text")
        return Text(text) if text else None

    def finished(self) -> Finished:
        """Raises ProviderError ("interrupted") for a stream that ended without a reason: a body
        that a proxy ends early looks like a proper end otherwise."""
        if self.reason is None:
            raise errors.interrupted("no finish_reason")
        return Finished(reason=self.reason, usage=self.usage)


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Servers leave out what they don't count."""
    details = usage.get("prompt_tokens_details") or {}
    return Usage(
        prompt=usage.get("prompt_tokens"),
        cached=details.get("cached_tokens"),
        completion=usage.get("completion_tokens"),
    )
