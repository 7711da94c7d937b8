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
from chatsite.providers.http.endings import ending_of
from chatsite.providers.http.odd_lines import OddLines, is_end_mark
from chatsite.providers.openai.calls import CallCollector
from chatsite.providers.openai.forms import WholeMessages, parts_of

# Some servers write what should be null.
_NO_REASON = frozenset({"null", "none"})


def _read(payload: bytes) -> Any:
    """pydantic reads JSON in half the time, but refuses half a character and line ends in a text,
    which some servers send. Raises ValueError for what is no JSON."""
    try:
        return from_json(payload)
    except ValueError:
        return json.loads(payload.decode(errors="replace"), strict=False)


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
        self._reason: FinishReason = "stop"
        self._usage = Usage()
        self._allowance = Allowance()
        self._calls = CallCollector(self._allowance)
        self._metadata = MetadataCollector(self._allowance, server=server, model=model)
        self._after_tools = after_tools
        self._text, self._thought = TextJoiner(), TextJoiner()
        self._said: list[str] = []
        self._messages = WholeMessages(self._said)
        self._odd = OddLines(self, model=model)

    def take(self, payload: bytes) -> Sequence[Chunk]:
        """Takes the data of one event. Raises ProviderError for an error event, and where a call
        can't be read; anything else that isn't a chunk is passed over."""
        if payload == b"[DONE]":
            self._close()
            return ()
        try:
            chunk = _read(payload)
            if not chunk:
                return ()
            choices = chunk.get("choices")
            if (not choices or chunk.get("error")) and not self.ended:
                self._odd.look_at(chunk)
            if chunk.get("usage"):
                self._usage = read_usage(chunk["usage"])
            return self._choice(choices[0]) if choices else ()
        except TooLong:
            self._too_long = self.ended = self.done = True
            return ()
        except (ValueError, AttributeError, LookupError, TypeError, RecursionError) as error:
            if is_end_mark(payload):
                self._close()
                return ()
            return self._odd.take(payload, error)

    def _close(self) -> None:
        """`[DONE]` is an end, also of servers that never say why; of nothing but nonsense it isn't.
        A body that merely ends is none: that is what a proxy makes of an answer it cuts short."""
        self.done = True
        if self.signs or not self._odd.has_words:
            self.ended = True

    def finished(self) -> Finished:
        """Raises ProviderError ("interrupted") for a stream without an end: that shows that a proxy
        cut the body short. ("malformed") where a part of it couldn't be read."""
        if self._messages.is_document:
            self.ended = True
        if not self.ended:
            raise self._odd.failure("no finish_reason")
        if self._too_long:
            return Finished(reason="length", usage=self._usage)
        reason, calls = self._reason, self._calls.called()
        if reason == "stop":
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
        if not delta:
            self._whole_message(choice, chunks)
        elif len(delta) > 1 or not text:
            chunks += self._reasoning_and_calls(delta)
        if text:
            if isinstance(text, str):
                self._say(text, chunks)
            else:
                self._say_parts(text, chunks)
        finish = choice.get("finish_reason")
        if finish and finish not in _NO_REASON:
            self._end(finish, choice)
        return chunks

    def _say(self, text: str, chunks: list[Chunk]) -> None:
        self.signs += 1
        repaired = self._text.take(text)
        if repaired:
            self._said.append(repaired)
            chunks.append(TextPiece(repaired))

    def _say_parts(self, parts: Any, chunks: list[Chunk]) -> None:
        for text, thought in parts_of(parts):
            if thought:
                chunks += self._reasoning_and_calls({"reasoning_content": thought})
            if text:
                self._say(text, chunks)

    def _whole_message(self, choice: Mapping[str, Any], chunks: list[Chunk]) -> None:
        """What is new in a `message` that a server sends in place of `delta`: the whole answer, the
        answer so far, or a piece. The `text` of the older completions is a piece."""
        message = choice.get("message")
        if not message:
            if isinstance(text := choice.get("text"), str) and text:
                self._say(text, chunks)
            return
        if not self.signs:
            chunks += self._reasoning_and_calls(message)
        elif not self._calls.begun:
            chunks += self._reasoning_and_calls({"tool_calls": message.get("tool_calls")})
        self._messages.count += 1
        for text, thought in parts_of(message.get("content") or message.get("refusal")):
            if thought and not self._said:
                chunks += self._reasoning_and_calls({"reasoning_content": thought})
            if text and (new := self._messages.new_of(text)):
                self._say(new, chunks)

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
            chunks += self._calls.take([pieces] if isinstance(pieces, dict) else pieces)
        elif older := delta.get("function_call"):
            chunks += self._calls.take([{"function": older}])
        if thought or self._allowance.left < left:
            self.signs += 1
        return chunks

    def _end(self, finish: str, choice: Mapping[str, Any]) -> None:
        ending = ending_of(finish)
        if ending is None:
            raise self._odd.failure_for(choice.get("error") or {"type": finish})
        self.signs += not self.ended
        self.ended = True
        self._reason = ending


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Token counts, None where the server leaves them out."""
    details = usage.get("prompt_tokens_details") or {}
    cached = details.get("cached_tokens")
    return Usage(
        prompt=token_count(usage.get("prompt_tokens")),
        cached=token_count(usage.get("prompt_cache_hit_tokens") if cached is None else cached),
        completion=token_count(usage.get("completion_tokens")),
    )
