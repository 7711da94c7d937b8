"""The validator of Anthropic's rules finds requests that Anthropic would refuse."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.anthropic_rules import problems


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def answer(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


HI = {"type": "text", "text": "Hi"}
CALL = {"type": "tool_use", "id": "t1", "name": "clock", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "12:00"}
TOOLS = {"tools": [{"name": "clock", "input_schema": {"type": "object"}}]}
GIF = {"type": "base64", "media_type": "image/bmp", "data": "AAAA"}
MARKED = HI | {"cache_control": {"type": "ephemeral"}}
UNSIGNED = {"type": "thinking", "thinking": "So.", "signature": "forged"}
THINKS = {"thinking": {"type": "adaptive"}}


@pytest.mark.parametrize(
    ("messages", "more", "problem"),
    [
        ([], {}, "at least one"),
        ([answer(HI), user(HI)], {}, "first must be"),
        ([user(HI), answer(HI)], {}, "prefill"),
        ([user(HI), user(HI)], {}, "alternate"),
        ([user(HI | {"text": " "})], {}, "whitespace"),
        ([user()], {}, "non-empty"),
        ([user(HI), answer(CALL), user(HI)], TOOLS, "directly after"),
        ([user(HI), answer(CALL), user(HI, RESULT)], TOOLS, "before everything else"),
        ([user(HI), answer(CALL), user(RESULT)], {}, "must define tools"),
        ([user(RESULT)], TOOLS, "result without its call"),
        ([user(HI), *[answer(CALL), user(RESULT)] * 2], TOOLS, "unique"),
        ([user(*[MARKED] * 5)], {}, "at most 4"),
        ([user({"type": "image", "source": GIF})], {}, "image/bmp"),
        ([user(HI), answer(UNSIGNED, HI), user(HI)], THINKS, "invalid signature"),
        ([user(HI), answer(UNSIGNED, HI), user(HI)], {}, "has none"),
        ([user(HI)], {"thinking": {"type": "disabled"}}, "not supported"),
        ([user(HI)], {"temperature": 1.0}, "not permitted"),
        ([user(HI)], {"seed": 1}, "extra input"),
        ([user(HI)], {"max_tokens": 0}, "max_tokens"),
    ],
)
def test_the_rules_find_requests_that_the_provider_would_refuse(
    messages: list[dict[str, Any]], more: dict[str, Any], problem: str
) -> None:
    body = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": messages}
    assert any(problem in found for found in problems(body | more))
