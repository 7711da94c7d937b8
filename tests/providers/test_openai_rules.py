"""The fake provider's own promises: its rules, and its silent cut."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from chatsite.messages import Message
from chatsite.providers.base.provider import Finished, Request
from chatsite.providers.openai.provider import OpenAIProvider
from tests.fakes.openai_provider import provider_at
from tests.fakes.openai_rules import problems
from tests.fakes.openai_server import FakeOpenAI


def call(id: str = "call_00000001", name: str = "clock", arguments: str = "{}") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def result(id: str = "call_00000001") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": "12:00"}


ASKED = {"role": "user", "content": "What time is it?"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}}
TOOL = {"type": "function", "function": {"name": "clock", "parameters": {"type": "object"}}}


def body(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": list(messages), "max_tokens": 10, "stream": True, **more}


VALID = [
    body(ASKED),
    body({"role": "system", "content": ""}, ASKED, calling(call()), result(), ASKED),
    body(ASKED, calling(call(), call("call_2")), result("call_2"), result(), tools=[TOOL]),
    body({"role": "user", "content": [{"type": "text", "text": "So?"}, PICTURE]}),
]
REFUSED = [
    (body(), "at least one message"),
    (body(ASKED, max_completion_tokens=1), "exclude each other"),
    (body({"role": "oracle", "content": ""}), "not known"),
    (body({"role": "user", "content": None}), "text or parts"),
    (body({"role": "user", "content": []}), "no parts"),
    (body({"role": "assistant", "content": None}), "text or parts"),
    (body({"role": "assistant", "content": "", "reasoning_content": ""}), "reasoning_content"),
    (body({"role": "assistant", "content": [PICTURE]}), "not allowed here"),
    (body({"role": "user", "content": [{**PICTURE, "image_url": {"url": "x"}}]}), "data URL"),
    (body(ASKED, calling(call())), "without a result"),
    (body(ASKED, calling(call()), ASKED, result()), "without a result"),
    (body(ASKED, calling(call(), call("call_2")), result()), "call_2"),
    (body(ASKED, result()), "must answer a call"),
    (body(ASKED, calling(call()), result(), result()), "must answer a call"),
    (body(ASKED, calling(call(), call()), result()), "one id"),
    (body(ASKED, calling(call("x" * 41)), result("x" * 41)), "40 characters"),
    (body(ASKED, calling(call(name="a.b")), result()), "a.b"),
    (body(ASKED, calling(call(arguments='{"a": ')), result()), "JSON object"),
    (body(ASKED, calling(), ASKED), "must hold a call"),
    (body(ASKED, tools=[]), "1 to 128"),
    (body(ASKED, tools=[{"type": "function", "function": {"name": "a b"}}]), "allowed"),
    (body(ASKED, parallel_tool_calls=True), "only allowed with tools"),
    (body(ASKED, thinking=True), "not a field"),
]


@pytest.mark.parametrize("said", VALID)
def test_a_request_that_openai_takes_has_no_problems(said: dict[str, Any]) -> None:
    assert problems(said) == []


@pytest.mark.parametrize(("said", "told"), REFUSED)
def test_a_request_that_openai_refuses_has_one(said: dict[str, Any], told: str) -> None:
    assert any(told in problem for problem in problems(said)), problems(said)


@pytest.fixture
async def cutting() -> AsyncIterator[tuple[FakeOpenAI, OpenAIProvider]]:
    with FakeOpenAI(keep=2048, models=("a", "b"), pages={"/props": {"n_ctx": 2048}}) as fake:
        provider = provider_at(fake.base_url)
        yield fake, provider
        await provider.aclose()


async def test_the_fake_cuts_a_prompt_without_a_word(
    cutting: tuple[FakeOpenAI, OpenAIProvider],
) -> None:
    fake, provider = cutting
    left: list[int] = []

    def answer(said: Any) -> str:
        left.append(len(said["messages"]))
        return "Well."

    fake.script.append(answer)
    said = (Message.user, Message.assistant)
    messages = [said[number % 2]("word " * 500, id=str(number)) for number in range(11)]
    asked = Request(conversation="c", messages=tuple(messages), model="m", max_tokens=10)
    *_, end = [chunk async for chunk in provider.stream(asked)]
    assert isinstance(end, Finished)
    assert (len(fake.requests[-1]["messages"]), left) == (11, [4])
    assert end.usage.prompt == 2048
