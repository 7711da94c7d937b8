"""Reads streamed chat completions: their chunks become ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chatsite.providers.base.provider import (
    Chunk,
    Finished,
    ReasoningPiece,
    TextPiece,
    Usage,
)
from chatsite.providers.base.provider_metadata import MetadataCollector
from chatsite.providers.base.received import TextJoiner, token_count
from chatsite.providers.http.odd_lines import AnswerReader
from chatsite.providers.openai.forms import CallCollector, WholeMessages, parts_of

# Some servers write what should be null.
_NO_REASON = frozenset({"null", "none"})


class ChatReader(AnswerReader):
    """Collects one streamed answer, and how it ended.

    The answer's metadata is stored under the name of the `server`. `after_tools`: the request ends
    with a tool's result, so the reasoning belongs to a tool round.
    """

    def __init__(self, *, server: str = "", model: str = "", after_tools: bool = False) -> None:
        super().__init__(model=model)
        self._usage = Usage()
        self._calls = CallCollector(self._allowance)
        self._metadata = MetadataCollector(self._allowance, server=server, model=model)
        self._after_tools = after_tools
        self._text, self._thought = TextJoiner(), TextJoiner()
        self._said: list[str] = []
        self._messages = WholeMessages(self._said)

    def _event(self, chunk: Any) -> Sequence[Chunk]:
        choices = chunk.get("choices")
        if (not choices or chunk.get("error")) and not self.ended:
            self._look_at(chunk)
        if chunk.get("usage"):
            self._usage = read_usage(chunk["usage"])
        return self._choice(choices[0]) if choices else ()

    def finished(self) -> Finished:
        if self._messages.is_document:
            self.ended = True
        if not self.ended:
            raise self._failure("no finish_reason")
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
            self._end(finish, choice.get("error"))
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


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Token counts, None where the server leaves them out. Gemini counts its thinking, which is
    paid for as the answer is, only in the total."""
    details = usage.get("prompt_tokens_details") or {}
    cached = details.get("cached_tokens")
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    prompt, completion, total = (token_count(usage.get(name)) for name in names)
    if prompt is not None and completion is not None and total is not None:
        completion = max(completion, total - prompt)
    return Usage(
        prompt=prompt,
        cached=token_count(usage.get("prompt_cache_hit_tokens") if cached is None else cached),
        completion=completion,
        written=token_count(details.get("cache_write_tokens")),
    )
