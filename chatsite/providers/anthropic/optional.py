"""The fields of a request that a server which speaks Anthropic's API may not take."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from chatsite.providers.http.refusals import A_TOOL

_REQUIRED = frozenset({"model", "messages", "max_tokens", "stream"})
# Within tools and blocks: what speeds a call up, and marks for the cache.
_BLOCKS = ("tools", "system", "messages")
_NESTED = ("cache_control", "eager_input_streaming")
# What means nothing without the first.
_WITH = {"tools": ("tool_choice",), "thinking": ("output_config",)}


def optional_fields(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Those that the request has, nested ones too."""
    nested = (name for name in _NESTED if _holds(body, name))
    tools = (A_TOOL + tool["name"] for tool in body.get("tools", ()))
    return (*(name for name in body if name not in _REQUIRED), *nested, *tools)


def without_fields(body: dict[str, Any], refused: Collection[str]) -> dict[str, Any]:
    if not refused:
        return body
    gone = set(refused)
    if tools := body.get("tools"):
        kept_tools = [tool for tool in tools if A_TOOL + tool["name"] not in gone]
        body = {**body, "tools": kept_tools}
        gone |= set() if kept_tools else {"tools"}
    # In the receipts and settings of all dialects they are called so.
    gone |= {"stop_sequences"} if "stop" in gone else set()
    for name, others in _WITH.items():
        gone |= set(others) if name in gone else set()
    kept = {name: value for name, value in body.items() if name not in gone}
    if nested := gone & set(_NESTED):
        kept |= {name: _pruned(kept[name], nested) for name in _BLOCKS if name in kept}
    return kept


def _pruned(value: Any, nested: Collection[str]) -> Any:
    """Tools, blocks or messages without these keys."""
    if isinstance(value, list):
        return [_pruned(one, nested) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {name: one for name, one in value.items() if name not in nested}
    return kept | ({"content": _pruned(kept["content"], nested)} if "content" in kept else {})


def _holds(body: Mapping[str, Any], name: str) -> bool:
    blocks = [*body.get("tools", ()), *body.get("system", ())]
    for message in body["messages"]:
        blocks += message["content"] if isinstance(message["content"], list) else ()
    return any(name in block for block in blocks)
