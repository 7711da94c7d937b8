"""What a directive asks for besides words: tool calls, reasoning, cached tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

PIECE = 7
SIGNED = {"google": {"thought_signature": "CpcB/signed+by=Google"}}


@dataclass(frozen=True)
class Wishes:
    """`calls` are names with the text of their arguments, as in the directive."""

    calls: tuple[tuple[str, str], ...]
    keys: Mapping[str, str]
    stem: str

    @classmethod
    def of(cls, keys: Mapping[str, str], body: Mapping[str, Any]) -> Wishes:
        said = [call.partition(":")[::2] for call in keys.get("calls", "").split("|") if call]
        named = bool(body.get("tools")) and body.get("tool_choice") != "none"
        may = named and _rounds(body) < int(keys.get("rounds", 1))
        calls = tuple((name, arguments or "{}") for name, arguments in said) if may else ()
        return cls(calls=calls, keys=keys, stem=f"call_{len(body['messages']):04}_")

    @property
    def before(self) -> tuple[str, ...]:
        """The words before the calls."""
        return tuple(re.findall(r"\s*\S+", self.keys.get("before", "")))

    @property
    def stamped(self) -> bool:
        """Whether every word has the time at which it was sent."""
        return self.keys.get("stamp") == "1"

    @property
    def finish(self) -> str:
        return self.keys.get("finish") or ("tool_calls" if self.calls else "stop")

    def thoughts(self) -> Iterator[dict[str, Any]]:
        fields = self.keys.get("field", "reasoning_content").split("+")
        said = self.keys.get("think", "0")
        words = re.findall(r"\s*\S+", said)
        for thought in [f" t{n}" for n in range(int(said))] if said.isdigit() else words:
            delta: dict[str, Any] = dict.fromkeys(fields, thought)
            if self.keys.get("details") == "1":
                detail = {"type": "reasoning.text", "text": thought, "index": 0}
                delta["reasoning_details"] = [detail | {"format": "anthropic-claude-v1"}]
            yield delta
        if self.keys.get("details") == "1":
            signature = {"type": "reasoning.text", "signature": "sig/+=", "index": 0}
            secret = {"type": "reasoning.encrypted", "data": "gAAAA/+=", "id": "rs_1", "index": 1}
            yield {"reasoning_details": [signature]}
            yield {"reasoning_details": [secret]}

    def called(self) -> Iterator[dict[str, Any]]:
        shape = self.keys.get("shape", "pieces")
        calls = [self._call(number, shape) for number in range(len(self.calls))]
        if shape == "whole":
            if calls:
                yield {"tool_calls": calls}
        elif shape in ("noindex", "zero", "object"):
            for call in calls:
                yield {"tool_calls": [call]}
        else:
            for call in calls:
                yield from _in_pieces(call, again=shape == "again")

    def cached(self) -> dict[str, Any]:
        cached = int(self.keys.get("cached", 0))
        if self.keys.get("cached_as") == "deepseek":
            return {"prompt_cache_hit_tokens": cached}
        return {"prompt_tokens_details": {"cached_tokens": cached}}

    def _call(self, number: int, shape: str) -> dict[str, Any]:
        name, arguments = self.calls[number]
        said = json.loads(arguments) if shape == "object" else arguments
        call: dict[str, Any] = {"type": "function", "function": {"name": name, "arguments": said}}
        if shape != "noindex":
            call["index"] = 0 if shape == "zero" else number
        ids = {"empty": "", "same": "call_same0001", "short": f"call_{number}", "missing": None}
        id = ids.get(self.keys.get("ids", ""), f"{self.stem}{number}")
        call |= {} if id is None else {"id": id}
        if self.keys.get("signed") == "1" and number == 0:
            call["extra_content"] = SIGNED
        return call


def _in_pieces(call: dict[str, Any], *, again: bool) -> Iterator[dict[str, Any]]:
    """First the name, then the arguments; `again`: id and name are sent with every piece."""
    function = call["function"]
    rest = function["arguments"]
    yield {"tool_calls": [{**call, "function": {**function, "arguments": ""}}]}
    for start in range(0, len(rest), PIECE):
        piece = {"arguments": rest[start : start + PIECE]}
        if again:
            yield {"tool_calls": [{**call, "function": {**function, **piece}}]}
        else:
            yield {"tool_calls": [{"index": call["index"], "function": piece}]}


def _rounds(body: Mapping[str, Any]) -> int:
    """How often the model has called tools since the user's newest message."""
    count = 0
    for message in reversed(body["messages"]):
        if message["role"] == "user":
            break
        count += bool(message.get("tool_calls"))
    return count
