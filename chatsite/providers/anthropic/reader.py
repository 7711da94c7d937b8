"""Anthropic's event stream: blocks that begin, grow and end, and how the answer ended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from chatsite.messages import repair_text
from chatsite.providers.anthropic.request import MessagesRequest
from chatsite.providers.anthropic.thinking import pack_thinking
from chatsite.providers.base.provider import (
    CallBegun,
    Chunk,
    Finished,
    ReasoningPiece,
    TextPiece,
    Usage,
    WrittenCall,
)
from chatsite.providers.base.received import (
    LONGEST_NAME,
    PART,
    called_name,
    own_ids,
    size_of,
    string_of,
    token_count,
)
from chatsite.providers.http.odd_lines import AnswerReader

_CACHE = ("cache_read_input_tokens", "cache_creation_input_tokens")
_COUNTS = frozenset({"input_tokens", "output_tokens", *_CACHE})


class AnthropicReader(AnswerReader):
    """Collects one answer. A `ping` is no sign of a model at work: it only shows an open
    connection, and could keep a person waiting for ever; neither is an empty piece. Thinking and
    calls are requested in a form that is streamed, so a model at work isn't silent for long."""

    def __init__(self, request: MessagesRequest) -> None:
        super().__init__(model=request.body["model"])
        self._request = request
        self._blocks: list[dict[str, Any]] = []
        self._places: dict[int | None, dict[str, Any]] = {}
        self._usage: dict[str, Any] = {}
        self._told: dict[str, str] = {}

    def _event(self, event: Any) -> Sequence[Chunk]:
        match event.get("type"):
            case "content_block_delta":
                return self._delta(event.get("index"), event["delta"])
            case "content_block_start":
                return self._begin(event.get("index"), event["content_block"])
            case "message_start":
                self._count(event["message"].get("usage"))
                self._diagnose(event["message"])
            case "message_delta":
                self._count(event.get("usage"))
                self._stop(event["delta"])
            case "message_stop":
                self._close()
            case "message":
                return self._document(event)
            case None if event.get("content"):
                return self._document(event)
            case _ if not self.ended:
                self._look_at(event)
        return ()

    def _document(self, message: Mapping[str, Any]) -> Sequence[Chunk]:
        """The whole answer at once, of a server that doesn't stream."""
        chunks: list[Chunk] = []
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for index, block in enumerate(blocks):
            chunks += self._begin(index, block)
        self._count(message.get("usage"))
        self._diagnose(message)
        self._stop(message)
        self._close()
        return chunks

    def finished(self) -> Finished:
        if self._too_long:
            return Finished(reason="length", usage=_usage(self._usage, self._told))
        if not self.ended:
            raise self._failure("no stop_reason")
        called = [block for block in self._blocks if block["type"] == "tool_use"]
        ids = own_ids(block["id"] for block in called)
        calls = tuple(map(_called, called, ids))
        reason = self._reason
        if reason == "stop":
            reason = "tool_calls" if calls else "stop"
        return Finished(
            reason=reason,
            usage=_usage(self._usage, self._told),
            metadata=pack_thinking(
                [_whole(block) for block in self._blocks],
                by=self._request.by,
                prefix=self._request.prefix,
            ),
            # Of an answer that was cut off, the last call may be half a call.
            calls=calls if reason == "tool_calls" else (),
        )

    def _begin(self, index: int | None, block: dict[str, Any]) -> Sequence[Chunk]:
        """Of text only the length is stored, since the message has the text; the rest in pieces."""
        text = block.pop("text", "") if block["type"] == "text" else ""
        if block["type"] == "text":  # some begin a text before they ask the model
            self._allowance.take(PART + size_of(index) + size_of(block))
        else:
            self._keep(PART + size_of(index) + size_of(block))
        block["pieces"] = []
        self._places[index] = block
        match block["type"]:
            case "text":
                self._blocks.append(block)
                return self._text(block, text)
            case "thinking":
                self._blocks.append(block)
                return self._thought(block, block.get("thinking"))
            case "redacted_thinking":
                self._blocks.append(block)
            case "tool_use":
                self._allowance.take_call()
                name = called_name(repair_text(string_of(block["name"])))[:LONGEST_NAME]
                block |= {"id": string_of(block.get("id")), "name": name}
                self._blocks.append(block)
                return (CallBegun(name),)
        return ()

    def _delta(self, index: int | None, delta: Mapping[str, Any]) -> Sequence[Chunk]:
        if index not in self._places:  # of a block that never began
            kind = next(kind for kind in ("text", "thinking") if kind in delta)
            self._begin(index, {"type": kind, kind: ""})
        block = self._places[index]
        if "text" in delta:
            return self._text(block, delta["text"])
        if "thinking" in delta:
            return self._thought(block, delta["thinking"])
        if "partial_json" in delta:
            self._grow(block, delta["partial_json"])
        elif "signature" in delta:
            self._keep(size_of(delta["signature"]))
            block["signature"] = delta["signature"]
        return ()

    def _text(self, block: dict[str, Any], text: str | None) -> Sequence[Chunk]:
        block["length"] = block.get("length", 0) + len(string_of(text))
        if not text:
            return ()
        self.signs += 1
        return (TextPiece(text),)

    def _thought(self, block: dict[str, Any], thought: str | None) -> Sequence[Chunk]:
        self._grow(block, thought)
        return (ReasoningPiece(thought),) if thought else ()

    def _grow(self, block: dict[str, Any], piece: str | None) -> None:
        if piece := string_of(piece):
            self._keep(len(piece))
            block["pieces"].append(piece)

    def _keep(self, characters: int) -> None:
        """What is kept shows a model at work, too."""
        self._allowance.take(characters)
        self.signs += characters > 0

    def _stop(self, stated: Mapping[str, Any]) -> None:
        if (reason := stated.get("stop_reason")) is not None:
            self._end(reason)

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        """Later counts include the earlier ones."""
        for name, value in (usage or {}).items():
            if name in _COUNTS and (count := token_count(value)) is not None:
                self._usage[name] = count

    def _diagnose(self, message: Mapping[str, Any]) -> None:
        """Where it was asked for: the id by which the next request names this answer, and why less
        of the prompt was in the cache than before. Both may be missing, and then aren't missed."""
        if "diagnostics" not in self._request.body:
            return
        reason = (message.get("diagnostics") or {}).get("cache_miss_reason") or {}
        found = {"response": message.get("id"), "miss": reason.get("type")}
        self._told = {name: string_of(one)[:LONGEST_NAME] for name, one in found.items() if one}


def _whole(block: dict[str, Any]) -> dict[str, Any]:
    """A block as the API returns it without streaming."""
    whole = {name: value for name, value in block.items() if name != "pieces"}
    if block["type"] == "thinking":
        whole["thinking"] = "".join(block["pieces"])
    return whole


def _called(block: Mapping[str, Any], id: str) -> WrittenCall:
    """Arguments arrive in pieces; some compatible servers send them whole at the block's start."""
    pieces = "".join(block["pieces"])
    arguments = pieces or json.dumps(block.get("input") or {}, ensure_ascii=False)
    return WrittenCall(id=id, name=block["name"], arguments=arguments)


def _usage(counts: Mapping[str, int], told: Mapping[str, str] = MappingProxyType({})) -> Usage:
    """`input_tokens` excludes the tokens that were read from the cache or written to it."""
    cached, written = (counts.get(name) for name in _CACHE)
    fresh = counts.get("input_tokens")
    prompt = None if fresh is None else fresh + (cached or 0) + (written or 0)
    completion = counts.get("output_tokens")
    return Usage(prompt=prompt, cached=cached, completion=completion, written=written, **told)
