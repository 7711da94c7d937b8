"""Reads streamed chat completions: their chunks become ours."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from chatsite.providers.base.bounds import Allowance, TooLong, token_count
from chatsite.providers.base.provider import (
    Chunk,
    Finished,
    FinishReason,
    ReasoningPiece,
    TextPiece,
    Usage,
)
from chatsite.providers.base.provider_metadata import MetadataCollector
from chatsite.providers.base.text import TextJoiner
from chatsite.providers.http import failures
from chatsite.providers.openai.calls import CallCollector

_REASONS: dict[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}
# OpenRouter and DeepSeek end an answer that failed with a reason instead of an error.
_FAILED = frozenset({"error", "insufficient_system_resource"})


def _read(payload: bytes) -> Any:
    """pydantic reads JSON in half the time, but refuses half a character, which some providers
    send. Raises ValueError for what is no JSON."""
    try:
        return from_json(payload)
    except ValueError:
        return json.loads(payload.decode())


class ChatReader:
    """Collects one streamed answer, and how it ended.

    The answer's metadata is stored under the name of the `server`. `after_tools`: the request ends
    with a tool's result, so the reasoning belongs to a tool round.
    """

    def __init__(self, *, server: str = "", model: str = "", after_tools: bool = False) -> None:
        self.signs = 0
        self.ended = False
        self.done = False
        self._too_long = False
        self._model = model
        self._reason: FinishReason = "stop"
        self._usage = Usage()
        self._allowance = Allowance()
        self._calls = CallCollector(self._allowance)
        self._metadata = MetadataCollector(self._allowance, server=server, model=model)
        self._after_tools = after_tools
        self._text, self._thought = TextJoiner(), TextJoiner()

    def take(self, payload: bytes) -> Sequence[Chunk]:
        """Takes the data of one event. Raises ProviderError for an error event and for anything
        that isn't a chunk."""
        if payload == b"[DONE]":
            self.done = True
            return ()
        try:
            chunk = _read(payload)
            if chunk.get("error"):
                raise self._failure(chunk["error"])
            if chunk.get("usage"):
                self._usage = read_usage(chunk["usage"])
            choices = chunk.get("choices")
            return self._choice(choices[0]) if choices else ()
        except TooLong:
            self._too_long = self.ended = self.done = True
            return ()
        except (ValueError, AttributeError, KeyError, TypeError, RecursionError) as error:
            raise failures.malformed(type(error).__name__) from None

    def finished(self) -> Finished:
        """Raises ProviderError ("interrupted") for a stream without a finish reason: that shows
        that a proxy cut the body short."""
        if not self.ended:
            raise failures.interrupted("no finish_reason")
        if self._too_long:
            return Finished(reason="length", usage=self._usage)
        reason, calls = self._reason, self._calls.called()
        if reason in ("stop", "tool_calls"):
            # Gemini, Ollama and others report "stop" for calls of tools.
            reason = "tool_calls" if calls else "stop"
        else:
            # Of an answer that was cut off, the last call may be half a call.
            calls = ()
        in_round = bool(calls) or self._after_tools
        extras = self._calls.extras() if calls else {}
        return Finished(
            reason=reason,
            usage=self._usage,
            metadata=self._metadata.to_json(extras=extras, in_round=in_round),
            calls=calls,
        )

    def _choice(self, choice: Mapping[str, Any]) -> Sequence[Chunk]:
        delta = choice.get("delta") or {}
        text = delta.get("content") or delta.get("refusal")
        chunks: list[Chunk] = []
        if len(delta) > 1 or not text:
            chunks += self._reasoning_and_calls(delta)
        if text:
            self.signs += 1
            repaired = self._text.take(text)
            if repaired:
                chunks.append(TextPiece(repaired))
        finish = choice.get("finish_reason")
        if finish:
            self._end(finish, choice)
        return chunks

    def _reasoning_and_calls(self, delta: Mapping[str, Any]) -> list[Chunk]:
        """The reasoning and the calls in a delta. A sign of work is only what grows: a server could
        repeat an empty call for ever."""
        chunks: list[Chunk] = []
        left = self._allowance.left
        thought = self._metadata.reasoning(delta)
        repaired = self._thought.take(thought)
        if repaired:
            chunks.append(ReasoningPiece(repaired))
        pieces = delta.get("tool_calls")
        if pieces:
            chunks += self._calls.take(pieces)
        if thought or self._allowance.left < left:
            self.signs += 1
        return chunks

    def _end(self, finish: str, choice: Mapping[str, Any]) -> None:
        if finish in _FAILED:
            raise self._failure(choice.get("error") or {})
        self.signs += not self.ended
        self.ended = True
        self._reason = _REASONS.get(finish.lower(), "stop")

    def _failure(self, error: Any) -> Exception:
        """OpenRouter answers 200 and sends the real status as an event, mostly before the first
        token; such an event counts as that status."""
        code = error.get("code") if isinstance(error, dict) else None
        if not self.signs and isinstance(code, int) and 400 <= code < 600:
            said = json.dumps(error)
            return failures.refused(code, model=self._model, name="error event", said=said)
        return failures.failed_midway("error event")


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Token counts, None where the server leaves them out."""
    details = usage.get("prompt_tokens_details") or {}
    cached = details.get("cached_tokens")
    return Usage(
        prompt=token_count(usage.get("prompt_tokens")),
        cached=token_count(usage.get("prompt_cache_hit_tokens") if cached is None else cached),
        completion=token_count(usage.get("completion_tokens")),
    )
