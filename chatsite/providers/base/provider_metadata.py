"""Parts of an answer that only its server understands: stored with the message, sent back to it.

They are signed or encrypted reasoning (OpenRouter's `reasoning_details`, Gemini's
`thought_signature`), and the reasoning of a tool round, which DeepSeek, Kimi and gpt-oss want back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chatsite.messages import Message
from chatsite.providers.base.received import PART, Allowance, repair_json, size_of

# DeepSeek, llama-server, LM Studio and vLLM before 0.11; OpenRouter, Ollama, Groq and vLLM after.
_FIELDS = ("reasoning_content", "reasoning")
# Fields of a block that arrive in pieces; of other fields the last value counts.
_GROWING = ("text", "summary")
# What `MetadataCollector.to_json` writes.
_SHAPES = {"model": str, "reasoning_details": list, "calls": dict} | dict.fromkeys(_FIELDS, str)
# What Google documents for calls that Gemini didn't make; without a signature it refuses a request:
# https://ai.google.dev/gemini-api/docs/thought-signatures
_NOT_SIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}
_UNSIGNED_MODELS = ("gemini-1", "gemini-2")


@dataclass(slots=True)
class _Detail:
    """One block of reasoning: `said` are its fields, `grown` the pieces of those that grow."""

    said: dict[str, Any] = field(default_factory=dict)
    grown: dict[str, list[str]] = field(default_factory=dict)

    def is_continued(self, piece: Mapping[str, Any]) -> bool:
        grows = any(name in piece or "signature" in piece for name in _GROWING)
        return grows and all(self.said.get(key) == piece.get(key) for key in ("type", "index"))

    def take(self, piece: Mapping[str, Any], allowance: Allowance) -> None:
        for key, value in piece.items():
            if key in _GROWING and isinstance(value, str):
                allowance.take(len(value))
                self.said.setdefault(key, "")
                self.grown.setdefault(key, []).append(value)
            elif key not in self.said or (value is not None and value != self.said[key]):
                allowance.take(len(key) + size_of(value))
                self.said[key] = value

    def whole(self) -> dict[str, Any]:
        return self.said | {key: "".join(pieces) for key, pieces in self.grown.items()}


class MetadataCollector:
    """Collects the metadata of one answer, as much as the allowance has room for."""

    def __init__(self, allowance: Allowance, *, server: str, model: str) -> None:
        self._allowance = allowance
        self._server = server
        self._model = model
        self._field = ""
        self._thoughts: list[str] = []
        self._details: list[_Detail] = []

    def reasoning(self, delta: Mapping[str, Any]) -> str:
        """The piece of visible reasoning in `delta`, "" where there is none. Raises TooLong."""
        details = delta.get("reasoning_details")
        if details:
            for piece in details:
                self._add(piece)
        for name in _FIELDS:
            thought = delta.get(name)
            if thought and isinstance(thought, str):
                self._field = name
                if not self._details:  # they have the same thought, and are what is sent back
                    self._allowance.take(len(thought))
                    self._thoughts.append(thought)
                return thought
        return ""

    def to_json(self, *, extras: Mapping[str, object], in_round: bool) -> str:
        """The metadata as JSON, "" where there is none."""
        kept: dict[str, object] = {}
        if self._details:
            kept["reasoning_details"] = [detail.whole() for detail in self._details]
        elif self._thoughts and in_round:
            kept[self._field] = "".join(self._thoughts)
        if extras:
            kept["calls"] = dict(extras)
        if not kept or not self._server:
            return ""
        said = {self._server: {"model": self._model, **repair_json(kept)}}
        return json.dumps(said, ensure_ascii=False)

    def _add(self, piece: dict[str, Any]) -> None:
        if not self._details or not self._details[-1].is_continued(piece):
            self._allowance.take(PART)
            self._details.append(_Detail())
        self._details[-1].take(piece, self._allowance)


def returned_fields(message: Message, *, server: str, model: str, in_round: bool) -> dict[str, Any]:
    """The fields that an assistant message sends back to its server; `calls` by their ids.

    Signed parts are sent only to the model that signed them. `in_round`: the message belongs to a
    turn with tools; DeepSeek refuses such a request without reasoning, which may be empty.
    """
    if not (message.metadata or message.calls or in_round):
        return {}  # nearly every answer
    kept = _known(_own(message.metadata, server))
    if kept.pop("model", None) != model:
        kept.pop("reasoning_details", None)
        kept.pop("calls", None)
    if not in_round:
        for field in _FIELDS:
            kept.pop(field, None)
    elif server == "deepseek":
        kept.setdefault("reasoning_content", "")
    if server == "gemini" and message.calls and not model.startswith(_UNSIGNED_MODELS):
        kept.setdefault("calls", {message.calls[0].id: _NOT_SIGNED})
    return kept


def stored_reasoning(metadata: str) -> list[str]:
    """The reasoning that may be sent back; its tokens are counted."""
    try:
        entries = [kept for kept in json.loads(metadata).values() if isinstance(kept, dict)]
    except (ValueError, AttributeError):
        return []
    found: list[object] = []
    for kept in map(_known, entries):
        found += [kept[field] for field in _FIELDS if field in kept]
        details = [one for one in kept.get("reasoning_details", ()) if isinstance(one, dict)]
        found += [value for detail in details for value in detail.values()]
    return [text for text in found if isinstance(text, str)]


def _known(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Only what was written here: it becomes a part of the message."""
    return {
        name: kept[name] for name, shape in _SHAPES.items() if isinstance(kept.get(name), shape)
    }


def _own(metadata: str, server: str) -> dict[str, Any]:
    if not server or not metadata:
        return {}
    try:
        kept = json.loads(metadata).get(server)
    except (ValueError, AttributeError):
        return {}
    return dict(kept) if isinstance(kept, dict) else {}
