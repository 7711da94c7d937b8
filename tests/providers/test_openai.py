from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from chatsite.errors import ProviderError
from chatsite.messages import Message, TokenCount, ToolCall
from chatsite.providers.base.provider import Finished, Request, TextPiece, Usage
from chatsite.providers.base.role_order import NO_ANSWER
from chatsite.providers.known.models import ModelTable, ReportedModel, known_facts
from chatsite.providers.known.servers import SERVERS
from chatsite.providers.openai.provider import OpenAIProvider
from chatsite.providers.openai.wire import bound_reply
from tests.fakes.openai_provider import provider_at as made
from tests.fakes.openai_rules import problems
from tests.fakes.openai_server import FakeOpenAI
from tests.providers.chunks import joined
from tests.providers.openai_asked import KEY, ask, provider_at, request, until


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


async def test_an_answer_arrives_with_its_usage(fake: FakeOpenAI) -> None:
    text, end = await ask(provider_at(fake.base_url), "[[text=Grüße aus 東京 🍎 und tschüss]]")
    assert text == "Grüße aus 東京 🍎 und tschüss"
    assert end == Finished(reason="stop", usage=Usage(prompt=16, cached=0, completion=6))


async def test_an_answer_may_arrive_byte_by_byte(fake: FakeOpenAI) -> None:
    text, end = await ask(provider_at(fake.base_url), "[[text=Grüße 東京 🍎;crumbs=1]]")
    assert text == "Grüße 東京 🍎"
    assert isinstance(end, Finished)


async def test_the_first_token_comes_at_once_and_the_others_in_frames(fake: FakeOpenAI) -> None:
    provider = provider_at(fake.base_url)
    async with aclosing(provider.stream(request("[[tokens=9;rate=50]]"))) as stream:
        *said, _ = [chunk async for chunk in stream]
    assert said[0] == TextPiece(" w0") and len(said) < 8
    assert joined(said) == [TextPiece("".join(f" w{n}" for n in range(9)))]
    await provider.aclose()


@pytest.mark.parametrize(
    ("mode", "reason", "text"),
    [
        ("length", "length", " w0 w1"),
        ("content_filter", "content_filter", " w0 w1"),
        ("empty", "stop", ""),
    ],
)
async def test_the_finish_reason_of_an_answer(
    fake: FakeOpenAI, mode: str, reason: str, text: str
) -> None:
    told, end = await ask(provider_at(fake.base_url), f"[[mode={mode};tokens=2]]")
    assert isinstance(end, Finished)
    assert (told, end.reason) == (text, reason)


async def test_one_connection_serves_one_answer_after_another(fake: FakeOpenAI) -> None:
    """A new one would cost two round trips and a TLS handshake before the first token."""
    provider = provider_at(fake.base_url)
    before = fake.seen.connections
    for directive in (
        "[[tokens=3]]",
        "[[tokens=3;rate=500]]",
        "[[tokens=0]]",
        "[[mode=429]]",
        "hi",
    ):
        with contextlib.suppress(ProviderError):
            async for _ in provider.stream(request(directive)):
                pass
    await provider.aclose()
    assert fake.seen.connections == before + 1


async def test_closing_the_stream_stops_the_provider(fake: FakeOpenAI) -> None:
    provider = provider_at(fake.base_url)
    aborts = fake.client_aborts
    stream = provider.stream(request("[[tokens=1000;rate=50]]"))
    async with aclosing(stream):
        assert await anext(stream) == TextPiece(" w0")
        assert fake.in_flight == 1
    await until(lambda: fake.in_flight == 0 and fake.client_aborts == aborts + 1)
    await provider.aclose()


@pytest.mark.parametrize("mode", ["hang0", "ok;tokens=1000;rate=50"])
async def test_cancelling_the_task_stops_the_provider(fake: FakeOpenAI, mode: str) -> None:
    provider = provider_at(fake.base_url)
    aborts = fake.client_aborts

    async def read() -> None:
        async with aclosing(provider.stream(request(f"[[mode={mode}]]"))) as stream:
            async for _ in stream:
                pass

    task = asyncio.create_task(read())
    await until(lambda: fake.in_flight == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: fake.in_flight == 0 and fake.client_aborts == aborts + 1)
    await provider.aclose()


async def test_the_request_holds_the_messages_and_the_bound_and_asks_for_usage(
    fake: FakeOpenAI,
) -> None:
    provider = provider_at(fake.base_url)
    calls = (ToolCall(id="t1", name="weather", arguments={"city": "Köln"}),)
    messages = (
        Message.user("Rain?", id="1"),
        Message.assistant(None, id="2", calls=calls),
        Message.tool("Dry.", id="3", call_id="t1"),
        Message.user("Sure?", id="4"),
    )
    asked = Request(
        conversation="c",
        messages=messages,
        model="llama3",
        max_tokens=7,
        temperature=0.5,
        options={"seed": 3, "unknown": 1},
    )
    async for _ in provider.stream(asked):
        pass
    await provider.aclose()
    function = {"name": "weather", "arguments": '{"city": "Köln"}'}
    assert fake.requests[-1] == {
        "model": "llama3",
        "messages": [
            {"role": "user", "content": "Rain?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "t1", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": "t1", "content": "Dry."},
            {"role": "assistant", "content": NO_ANSWER},
            {"role": "user", "content": "Sure?"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 7,
        "temperature": 0.5,
        "seed": 3,
    }
    assert problems(fake.requests[-1]) == []
    assert fake.headers[-1]["authorization"] == f"Bearer {KEY}"


async def test_a_model_gets_only_what_it_takes(fake: FakeOpenAI) -> None:
    """Sampling values, the name of the reply's limit, and the longest reply."""

    async def sent(server: str, model: str) -> dict[str, Any]:
        provider = made(fake.base_url, server=server)
        asked = replace(request("Hi", model=model, max_tokens=100_000), temperature=0.5)
        async for _ in provider.stream(asked):
            pass
        await provider.aclose()
        return fake.requests[-1]

    body = await sent("openai", "o3-mini")
    assert body["max_completion_tokens"] == 100_000
    assert not {"temperature", "max_tokens"} & set(body)
    body = await sent("openai", "gpt-4o-mini")
    assert (body["max_tokens"], body["temperature"]) == (16_384, 0.5)


async def test_thinking_has_room_besides_the_reply() -> None:
    """Most servers count it as a part of the reply: a thousand tokens would end before a word."""

    def longest(server: str, model: str, *, effort: str | None = None, taken: int = 0) -> int:
        count = TokenCount(count=taken, tokenizer="t", basis="estimated")
        asked = request("Hi", model=model, max_tokens=1_000)
        said = replace(asked.messages[-1], tokens=count)
        return bound_reply(
            replace(asked, messages=(said,)), known_facts(server, model), effort=effort
        )

    assert longest("openai", "gpt-6-luna") == 1_000 + 16_384
    assert longest("openai", "gpt-6-luna", effort="low") == 1_000 + 4_096
    assert longest("openai", "gpt-6-luna", effort="none") == 1_000
    assert longest("groq", "openai/gpt-oss-120b") == longest("gemini", "gemini-3.8-flash") == 17_384
    assert longest("cerebras", "gpt-oss-120b", effort="high") == 1_000 + 24_576
    # A reply that doesn't fit the window would be refused.
    assert longest("cerebras", "gpt-oss-120b", taken=57_000) == 58_982 - 57_000
    assert longest("cerebras", "gpt-oss-120b", taken=60_000) == 1_000
    assert longest("openai", "gpt-4.1") == longest("groq", "unknown") == 1_000


def test_a_servers_parameter_for_the_reply_bound_is_used(fake: FakeOpenAI) -> None:
    groq = replace(SERVERS["groq"], base_url=fake.base_url)
    provider = OpenAIProvider(server=groq, api_key=None, table=ModelTable())
    assert provider.kind == "groq"
    assert provider.model(None).name == groq.default_model
    small = provider.small(provider.model("llama-3.3-70b-versatile"))
    assert small is not None and small.name == groq.small_model


@pytest.mark.parametrize(
    ("configured", "asked", "name", "window", "tokenizer"),
    [
        (None, None, "gpt-4o-mini", 128_000, "o200k_base"),
        (None, "gpt-4.1-nano", "gpt-4.1-nano", 1_047_576, "o200k_base"),
        (None, "gpt-5.1", "gpt-5.1", 400_000, "o200k_base"),
        (None, "o1-mini-2024-09-12", "o1-mini-2024-09-12", 128_000, "o200k_base"),
        (None, "gpt-4-0613", "gpt-4-0613", 8_192, "estimate"),
        (None, "llama3:8b", "llama3:8b", 8_192, "estimate"),
        ("llama3:8b", "gpt-4o", "llama3:8b", 8_192, "estimate"),
    ],
)
def test_the_configured_model_wins_and_unknown_windows_are_stated(
    configured: str | None, asked: str | None, name: str, window: int, tokenizer: str
) -> None:
    provider = provider_at("http://127.0.0.1:9/v1", model=configured)
    model = provider.model(asked)
    assert (model.name, model.window) == (name, window)
    assert provider.tokenizer(model).name == tokenizer
    assert ("assumed" in model.note) == name.startswith("llama")


def test_a_reported_window_is_not_assumed() -> None:
    said = {
        "llama3": ReportedModel(window=4096, tools=False),
        "phi": ReportedModel(takes=frozenset({"image"})),
    }
    table = ModelTable(reported=lambda server, model: said.get(model))
    provider = made("http://127.0.0.1:9/v1", server="ollama", table=table)
    model = provider.model("llama3")
    assert (model.window, model.tools, model.note) == (4096, False, "")
    model = provider.model("phi")
    assert model.takes == {"image"} and model.note.endswith("8,192 tokens are assumed.")


def test_the_sdk_is_imported_only_when_it_is_needed() -> None:
    code = "import sys, chatsite.providers.openai.provider; sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_warming_up_makes_the_first_request_ready(fake: FakeOpenAI) -> None:
    provider = provider_at(fake.base_url)
    await provider.warm()
    assert (await ask(provider, "[[tokens=1]]"))[0] == " w0"
    assert provider.status().state == "ready"
