from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import aclosing

import pytest

from chatsite.errors import ProviderError
from chatsite.messages import Message, ToolCall
from chatsite.providers.base import Chunk, Finished, Request, Text, Usage
from chatsite.providers.openai import OpenAIProvider, Timeouts
from tests.fakes.openai_server import FakeOpenAI

KEY = "sk-canary-0123456789"


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


def provider_at(url: str, *, model: str | None = None, patience: float = 5.0) -> OpenAIProvider:
    timeouts = Timeouts(first_token=patience, between_tokens=patience)
    return OpenAIProvider(api_key=KEY, base_url=url, model=model, timeouts=timeouts)


def request(text: str, *, model: str = "gpt-4o-mini", max_tokens: int = 1000) -> Request:
    messages = (Message.system("Be brief.", id="s"), Message.user(text, id="u"))
    return Request(conversation="c", messages=messages, model=model, max_tokens=max_tokens)


async def ask(provider: OpenAIProvider, text: str) -> tuple[str, Finished | ProviderError]:
    """The text that came, and how it ended."""
    chunks: list[Chunk] = []
    try:
        async for chunk in provider.stream(request(text)):
            chunks.append(chunk)
    except ProviderError as error:
        return said(chunks), error
    finally:
        await provider.aclose()
    last = chunks[-1]
    assert isinstance(last, Finished)
    return said(chunks), last


def said(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, Text))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - the server lives in another thread
            await asyncio.sleep(0.005)


async def test_an_answer_arrives_with_its_usage(fake: FakeOpenAI) -> None:
    text, end = await ask(provider_at(fake.base_url), "[[text=Grüße aus 東京 🍎 und tschüss]]")
    assert text == "Grüße aus 東京 🍎 und tschüss"
    assert end == Finished(reason="stop", usage=Usage(prompt=16, cached=0, completion=6))


async def test_an_answer_may_arrive_byte_by_byte(fake: FakeOpenAI) -> None:
    text, end = await ask(provider_at(fake.base_url), "[[text=Grüße 東京 🍎;crumbs=1]]")
    assert text == "Grüße 東京 🍎"
    assert isinstance(end, Finished)


async def test_it_streams_token_by_token(fake: FakeOpenAI) -> None:
    provider = provider_at(fake.base_url)
    async with aclosing(provider.stream(request("[[tokens=4;rate=100]]"))) as stream:
        assert [chunk async for chunk in stream][:4] == [Text(f" w{n}") for n in range(4)]
    await provider.aclose()


FAILURES = [
    # directive, code, retryable, how much text came before
    ("401", "key_refused", False, 0),
    ("403", "key_refused", False, 0),
    ("400", "bad_request", False, 0),
    ("too_large", "too_large", False, 0),
    ("404", "model_unknown", False, 0),
    ("429;retry_after=200", "rate_limited", True, 0),
    ("quota", "quota", False, 0),
    ("500", "provider_down", True, 0),
    ("503", "provider_down", True, 0),
    ("cut;at=5", "interrupted", True, 5),
    ("cut;at=0", "interrupted", True, 0),
    ("cleancut;at=5", "interrupted", True, 5),
    ("error_event;at=5", "failed_midway", True, 5),
    ("malformed;at=5", "malformed", True, 5),
]


@pytest.mark.parametrize(("mode", "code", "retryable", "tokens"), FAILURES)
async def test_a_failure_is_told_in_words_and_keeps_what_came(
    fake: FakeOpenAI, mode: str, code: str, retryable: bool, tokens: int
) -> None:
    before = len(fake.requests)
    text, error = await ask(provider_at(fake.base_url), f"[[mode={mode}]]")
    assert isinstance(error, ProviderError)
    assert (error.code, error.retryable) == (code, retryable)
    assert text == "".join(f" w{n}" for n in range(tokens))
    assert len(fake.requests) == before + 1
    assert error.message.endswith((".", "!")) and len(error.message) < 200


@pytest.mark.parametrize("mode", [failure[0] for failure in FAILURES] + ["hang0", "hang"])
async def test_a_failure_never_tells_the_key_the_address_or_the_providers_words(
    fake: FakeOpenAI, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    provider = provider_at(fake.base_url, patience=0.2)
    _, error = await ask(provider, f"[[mode={mode}]]")
    assert isinstance(error, ProviderError)
    told = f"{error!r} {error.message} {error.detail} {error.__cause__!r} {provider!r}"
    for secret in (KEY, "127.0.0.1", "http:", "sk-secret", "own words"):
        assert secret not in told
    assert KEY not in caplog.text


@pytest.mark.parametrize(("mode", "tokens"), [("hang0", 0), ("hang;at=5", 5)])
async def test_silence_ends_by_our_own_clock(fake: FakeOpenAI, mode: str, tokens: int) -> None:
    text, error = await ask(provider_at(fake.base_url, patience=0.5), f"[[mode={mode}]]")
    assert isinstance(error, ProviderError)
    assert (error.code, error.retryable) == ("timeout", True)
    assert text == "".join(f" w{n}" for n in range(tokens))
    await until(lambda: fake.in_flight == 0)


async def test_a_slow_answer_is_not_a_silent_one(fake: FakeOpenAI) -> None:
    provider = provider_at(fake.base_url, patience=1)
    text, end = await ask(provider, "[[mode=slow;tokens=8]]")
    assert (text, isinstance(end, Finished)) == (" w0 w1 w2 w3 w4 w5 w6 w7", True)


async def test_a_slow_reader_is_not_taken_for_a_silent_provider(fake: FakeOpenAI) -> None:
    provider = provider_at(fake.base_url, patience=0.5)
    chunks = []
    async for chunk in provider.stream(request("[[tokens=2;rate=100]]")):
        chunks.append(chunk)
        await asyncio.sleep(0.6)
    assert isinstance(chunks[-1], Finished)
    await provider.aclose()


async def test_a_refused_connection_is_told_as_unreachable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        text, error = await ask(provider_at(url), "hello")
    assert isinstance(error, ProviderError)
    assert (text, error.code, error.retryable) == ("", "unreachable", True)


@pytest.mark.parametrize(
    ("mode", "reason", "text"),
    [
        ("length", "length", " w0 w1"),
        ("content_filter", "content_filter", " w0 w1"),
        ("empty", "stop", ""),
    ],
)
async def test_it_says_how_an_answer_ended(
    fake: FakeOpenAI, mode: str, reason: str, text: str
) -> None:
    told, end = await ask(provider_at(fake.base_url), f"[[mode={mode};tokens=2]]")
    assert isinstance(end, Finished)
    assert (told, end.reason) == (text, reason)


async def test_closing_the_stream_stops_the_provider(fake: FakeOpenAI) -> None:
    provider = provider_at(fake.base_url)
    aborts = fake.client_aborts
    stream = provider.stream(request("[[tokens=1000;rate=50]]"))
    async with aclosing(stream):
        assert await anext(stream) == Text(" w0")
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
            {"role": "user", "content": "Sure?"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 7,
        "temperature": 0.5,
        "seed": 3,
    }
    assert fake.headers[-1]["authorization"] == f"Bearer {KEY}"


async def test_reasoning_models_get_no_sampling_and_their_own_bound(fake: FakeOpenAI) -> None:
    provider = provider_at(fake.base_url)
    asked = Request(
        conversation="c",
        messages=(Message.user("Hi", id="1"),),
        model="o3-mini",
        max_tokens=7,
        temperature=0.5,
    )
    async for _ in provider.stream(asked):
        pass
    await provider.aclose()
    body = fake.requests[-1]
    assert body["max_completion_tokens"] == 7
    assert not {"temperature", "max_tokens"} & set(body)


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
def test_the_configured_model_wins_and_what_is_unknown_is_said(
    configured: str | None, asked: str | None, name: str, window: int, tokenizer: str
) -> None:
    provider = provider_at("http://127.0.0.1:9/v1", model=configured)
    model = provider.model(asked)
    assert (model.name, model.window) == (name, window)
    assert provider.tokenizer(model).name == tokenizer
    assert ("assumed" in model.note) == name.startswith("llama")


def test_the_sdk_is_imported_only_when_it_is_needed() -> None:
    code = "import sys, chatsite.providers.openai; sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_warming_up_makes_the_first_request_ready(fake: FakeOpenAI) -> None:
    provider = provider_at(fake.base_url)
    await provider.warm()
    assert (await ask(provider, "[[tokens=1]]"))[0] == " w0"
    assert provider.status().state == "ready"
