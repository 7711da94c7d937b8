"""Anthropic's own rules for a request's body, as its documentation and its errors state them.

https://platform.claude.com/docs/en/api/messages (roles, blocks, limits)
https://platform.claude.com/docs/en/api/errors#common-validation-errors (text, prefill, thinking)
https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls (pairs, order)
https://platform.claude.com/docs/en/build-with-claude/prompt-caching (marks)
https://platform.claude.com/docs/en/build-with-claude/thinking (what each model takes, round trips)
https://platform.claude.com/docs/en/build-with-claude/vision, .../pdf-support, .../files (sources)
https://platform.claude.com/docs/en/api/versioning (no sampling values from 2026-10-21 on)
https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics (where two requests part)
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_TOOL = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_IMAGES = {"image/jpeg", "image/png", "image/gif", "image/webp"}
_OF_USERS = {"text", "image", "document", "tool_result"}
_OF_ASSISTANTS = {"text", "thinking", "redacted_thinking", "tool_use"}
_THINKING = {"thinking", "redacted_thinking"}
_TOP = {
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "stop_sequences",
    "thinking",
    "output_config",
    "diagnostics",
}
_SAMPLING = {"temperature", "top_p", "top_k"}
_EFFORTS = {"low", "medium", "high", "xhigh", "max"}
# Their thinking is refused when anything before it has changed:
# https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks
_BOUND = ("claude-fable-5-", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5")
# By the beginning of the name: the types of `thinking` that are taken.
_TYPES = {
    "claude-haiku-4-5": {"enabled", "disabled"},
    "claude-sonnet-4-5": {"enabled", "disabled"},
    "claude-opus-4-5": {"enabled", "disabled"},
    "claude-opus-4-6": {"adaptive", "enabled", "disabled"},
    "claude-sonnet-4-6": {"adaptive", "enabled", "disabled"},
    "claude-opus-4-7": {"adaptive", "disabled"},
    "claude-opus-4-8": {"adaptive", "disabled"},
    "claude-opus-5": {"adaptive", "disabled"},
    "claude-sonnet-5": {"adaptive", "disabled"},
    "claude-haiku-5-5": {"adaptive", "disabled"},
    "claude-opus-5-5": {"adaptive"},
    "claude-sonnet-5-5": {"adaptive", "between_tools"},
    "claude-fable-5": {"adaptive"},
}


def parting(now: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What the API says of a request that names the one before, None where it only goes on."""
    if before is None:
        return {"type": "previous_message_not_found"}
    for name in ("model", "system", "tools"):
        if _unmarked(now.get(name)) != _unmarked(before.get(name)):
            return {"type": f"{name}_changed", "cache_missed_input_tokens": 100}
    said = _unmarked(before["messages"])
    same = _unmarked(now["messages"][: len(said)]) == said
    return None if same else {"type": "messages_changed", "cache_missed_input_tokens": 100}


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    return {name: _unmarked(one) for name, one in value.items() if name != "cache_control"}


def problems(body: Mapping[str, Any], *, version: str = "2026-10-21") -> list[str]:
    """Why the API would refuse this body; `version` is the header `anthropic-version`."""
    return [
        *_parameters(body, version),
        *_tools(body),
        *_system(body),
        *_order(body["messages"]),
        *(problem for place, message in _each(body) for problem in _message(place, message)),
        *_pairs(body["messages"]),
        *_thinking(body),
        *_marks(body),
    ]


def signature(thinking: str, body: Mapping[str, Any], *, before: int | None = None) -> str:
    """The fake server's signature of thinking that follows the messages `before`."""
    signed: list[object] = [thinking, body["model"]]
    if body["model"].startswith(_BOUND):
        signed += [body.get("tools"), body.get("system"), body["messages"][:before]]
    said = json.dumps(_without_marks(signed), sort_keys=True)
    return base64.b64encode(hashlib.sha512(said.encode()).digest() * 3).decode()


def _without_marks(value: object) -> object:
    if isinstance(value, Mapping):
        kept = {name: _without_marks(one) for name, one in value.items()}
        kept.pop("cache_control", None)
        return kept
    return [_without_marks(one) for one in value] if isinstance(value, list) else value


def _each(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, message in enumerate(body["messages"]):
        yield f"messages.{number}", message


def _parameters(body: Mapping[str, Any], version: str) -> Iterator[str]:
    yield from (f"{name}: extra input" for name in body.keys() - _TOP - _SAMPLING)
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model: required"
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        yield "max_tokens: at least 1"
    if not all(text.strip() for text in body.get("stop_sequences", ())):
        yield "stop_sequences: must hold more than whitespace"
    yield from _sampling(body, version)
    if "thinking" in body:
        yield from _kind_of_thinking(body, body["thinking"])


def _sampling(body: Mapping[str, Any], version: str) -> Iterator[str]:
    given = body.keys() & _SAMPLING
    if given and version == "2026-10-21":
        yield f"{', '.join(given)}: not permitted in this version"
    if len(given) > 1:
        yield "temperature and top_p can't both be given"
    if not 0 <= body.get("temperature", 0) <= 1:
        yield "temperature: from 0 to 1"
    if given and body.get("thinking", {}).get("type", "disabled") != "disabled":
        yield "thinking: no sampling values beside it"


def _kind_of_thinking(body: Mapping[str, Any], thinking: Mapping[str, Any]) -> Iterator[str]:
    kind = thinking["type"]
    fitting = [name for name in _TYPES if body["model"].startswith(name)]
    if fitting and kind not in _TYPES[max(fitting, key=len)]:
        yield f"thinking.type.{kind}: not supported for this model"
    if kind == "enabled" and not 1024 <= thinking.get("budget_tokens", 0) < body["max_tokens"]:
        yield "thinking.budget_tokens: at least 1024 and less than max_tokens"
    if kind in ("disabled", "between_tools") and len(thinking) > 1:
        yield f"thinking: nothing goes along with {kind}"
    if body.get("output_config", {}).get("effort", "high") not in _EFFORTS:
        yield "output_config.effort: unknown"


def _tools(body: Mapping[str, Any]) -> Iterator[str]:
    tools = body.get("tools", [])
    names = [tool["name"] for tool in tools]
    if len(set(names)) < len(names):
        yield "tools: names must be unique"
    for tool in tools:
        if not _TOOL.fullmatch(tool["name"]):
            yield f"tools: {tool['name']!r} is no name"
        if tool.get("input_schema", {}).get("type") != "object":
            yield f"tools.{tool['name']}: input_schema must be of type object"
    used = any(
        block["type"] in ("tool_use", "tool_result")
        for message in body["messages"]
        for block in _blocks(message)
    )
    if used and not tools:
        yield "requests which include tool_use or tool_result blocks must define tools"
    if "tool_choice" in body and not tools:
        yield "tool_choice: only with tools"


def _system(body: Mapping[str, Any]) -> Iterator[str]:
    for block in body.get("system", []):
        if block["type"] != "text" or not block["text"].strip():
            yield "system: text blocks must be non-empty"


def _order(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    roles = [message["role"] for message in messages]
    if not roles:
        yield "messages: at least one is required"
        return
    if set(roles) - {"user", "assistant"}:
        yield "messages: unknown role"
    if roles[0] != "user":
        yield "messages: the first must be a user's"
    if roles[-1] != "user":
        yield "messages: this model doesn't support prefill, the last must be a user's"
    if any(one == other for one, other in zip(roles, roles[1:], strict=False)):
        yield "messages: roles must alternate"


def _message(place: str, message: Mapping[str, Any]) -> Iterator[str]:
    allowed = _OF_USERS if message["role"] == "user" else _OF_ASSISTANTS
    blocks = _blocks(message)
    if not blocks:
        yield f"{place}: content must be non-empty"
    for block in blocks:
        kind = block["type"]
        if kind not in allowed:
            yield f"{place}: {kind} isn't allowed for {message['role']}"
        if kind == "text" and not block["text"].strip():
            yield f"{place}: text blocks must hold more than whitespace"
        if kind in ("image", "document"):
            yield from (f"{place}: {problem}" for problem in _source(kind, block["source"]))
        if kind == "tool_use" and not _TOOL.fullmatch(block["name"]):
            yield f"{place}: {block['name']!r} is no tool's name"
        if kind == "tool_use" and not isinstance(block["input"], dict):
            yield f"{place}: input must be an object"
        if kind == "thinking" and not block.get("signature"):
            yield f"{place}: thinking without its signature"
        if kind == "redacted_thinking" and not block.get("data"):
            yield f"{place}: redacted thinking without its data"


def _source(kind: str, source: Mapping[str, Any]) -> Iterator[str]:
    if source["type"] == "file":
        if not source["file_id"]:
            yield "a file needs its id"
        return
    allowed = _IMAGES if kind == "image" else {"application/pdf"}
    if source["media_type"] not in allowed:
        yield f"{source['media_type']} isn't taken as {kind}"
    try:
        base64.b64decode(source["data"], validate=True)
    except binascii.Error:
        yield "the data isn't base64"


def _pairs(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Each call has its result in the next message, before anything else; no other results."""
    ids: list[str] = []
    for number, message in enumerate(messages):
        blocks = _blocks(message)
        called = [block["id"] for block in blocks if block["type"] == "tool_use"]
        ids += called
        after = _blocks(messages[number + 1]) if number + 1 < len(messages) else []
        answered = [block["tool_use_id"] for block in after if block["type"] == "tool_result"]
        if sorted(called) != sorted(answered):
            yield f"messages.{number}: calls {called}, results directly after {answered}"
        kinds = [block["type"] == "tool_result" for block in blocks]
        if kinds != sorted(kinds, reverse=True):
            yield f"messages.{number}: results must come before everything else"
        if number == 0 and any(kinds):
            yield "messages.0: a result without its call"
    if len(set(ids)) < len(ids):
        yield "messages: ids of calls must be unique"
    yield from (f"messages: {id!r} is no id" for id in ids if not _ID.fullmatch(id))


def _thinking(body: Mapping[str, Any]) -> Iterator[str]:
    """Only where thinking is on; with a budget, the calls that are answered now begin with it."""
    kind = body.get("thinking", {}).get("type", "none")
    messages = body["messages"]
    thought = [
        number
        for number, message in enumerate(messages)
        if any(block["type"] in _THINKING for block in _blocks(message))
    ]
    if thought and kind not in ("adaptive", "enabled", "between_tools"):
        yield "messages: thinking in a request that has none"
    answered = _blocks(messages[-1])[:1] if messages else []
    if kind == "enabled" and answered and answered[0]["type"] == "tool_result":
        first = _blocks(messages[-2])[0]["type"]
        if first not in _THINKING:
            yield f"messages.{len(messages) - 2}.content.0: expected thinking, found {first}"
    for number in thought:
        for block in _blocks(messages[number]):
            signed = {"thinking": "signature", "redacted_thinking": "data"}.get(block["type"])
            said = block.get("thinking", "")
            if signed and block[signed] != signature(said, body, before=number):
                yield f"messages.{number}: invalid {signed} in {block['type']} block"


def _marks(body: Mapping[str, Any]) -> Iterator[str]:
    everything = [*body.get("tools", []), *body.get("system", [])]
    for message in body["messages"]:
        everything += _blocks(message)
    marked = [block for block in everything if "cache_control" in block]
    if len(marked) > 4:
        yield "cache_control: at most 4 blocks"
    if any(block.get("type") in _THINKING for block in marked):
        yield "cache_control: not on thinking"


def _blocks(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
