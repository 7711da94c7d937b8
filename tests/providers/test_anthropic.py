from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any

import pytest
import pytest_asyncio

from chatsite.errors import ProviderError
from chatsite.messages import Message
from chatsite.providers.anthropic.provider import AnthropicProvider
from chatsite.providers.base.provider import (
    CallBegun,
    Chunk,
    Finished,
    ReasoningPiece,
    Request,
    TextPiece,
    ToolSpec,
    Usage,
    WrittenCall,
)
from chatsite.providers.http.streaming import Timeouts
from tests.fakes.anthropic_provider import provider_at
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.openai_server import refused_url
from tests.providers.chunks import joined

KEY = "sk-ant-canary-0123456789"
CLOCK = ToolSpec(name="clock", description="Tells the time.", parameters={"type": "object"})


# A provider costs a tenth of a second, most of it for certificates, so it serves all tests here.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeAnthropic]:
    with FakeAnthropic() as server:
        yield server
        assert server.problems == []


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def provider(fake: FakeAnthropic) -> AsyncIterator[AnthropicProvider]:
    made = provider_at(fake.base_url, api_key=KEY)
    yield made
    await made.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hasty(fake: FakeAnthropic) -> AsyncIterator[AnthropicProvider]:
    timeouts = Timeouts(first_token=0.3, between_tokens=0.3)
    made = provider_at(fake.base_url, api_key=KEY, timeouts=timeouts)
    yield made
    await made.aclose()


def request(text: str, *, model: str = "claude-haiku-4-5", **more: Any) -> Request:
    messages = (Message.system("Be brief.", id="s"), Message.user(text, id="u"))
    known: dict[str, Any] = {"conversation": "c", "messages": messages, "max_tokens": 1000}
    return Request(**(known | {"model": model} | more))


async def ask(
    provider: AnthropicProvider, text: str, **more: Any
) -> tuple[list[Chunk], Finished | ProviderError]:
    """The chunks, and how the answer ended."""
    chunks: list[Chunk] = []
    try:
        async for chunk in provider.stream(request(text, **more)):
            chunks.append(chunk)
    except ProviderError as error:
        return joined(chunks), error
    last = chunks.pop()
    assert isinstance(last, Finished)
    return joined(chunks), last


def said(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextPiece))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - the server lives in another thread
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("crumbs", ["", ";crumbs=1"])
async def test_an_answer_arrives_with_its_usage(
    fake: FakeAnthropic, provider: AnthropicProvider, crumbs: str
) -> None:
    """Tokens that are read from the cache or written to it are part of the prompt."""
    chunks, end = await ask(provider, f"[[text=Grüße 東京 🍎;cached=5{crumbs}]]")
    assert said(chunks) == "Grüße 東京 🍎"
    words = 5 + len(str(fake.requests[-1]["messages"]).split())
    usage = Usage(prompt=words, cached=5, completion=3, written=words - 10)
    assert end == Finished(reason="stop", usage=usage)


async def test_thinking_and_calls_are_streamed(provider: AnthropicProvider) -> None:
    wish = '[[before=I look.;think=2;calls=clock:{"zone": "Köln"}|clock:]]'
    asked = {"tools": (CLOCK,), "model": "claude-opus-5-5"}
    chunks, end = await ask(provider, wish, **asked)
    said = [ReasoningPiece(" t0 t1"), TextPiece("I look.")]
    assert chunks == [*said, CallBegun("clock"), CallBegun("clock")]
    assert isinstance(end, Finished) and end.reason == "tool_calls"
    assert end.calls == (
        WrittenCall(id="toolu_0001_0", name="clock", arguments='{"zone": "Köln"}'),
        WrittenCall(id="toolu_0001_1", name="clock", arguments="{}"),
    )


@pytest.mark.parametrize(
    ("mode", "reason", "text"),
    [
        ("length", "length", " w0 w1"),
        ("window", "length", " w0 w1"),
        ("pause", "length", " w0 w1"),
        ("content_filter", "content_filter", " w0 w1"),
        ("stop_sequence", "stop", " w0 w1"),
        ("no_stop", "stop", " w0 w1"),
        ("empty", "stop", ""),
    ],
)
async def test_the_finish_reason_of_an_answer(
    provider: AnthropicProvider, mode: str, reason: str, text: str
) -> None:
    chunks, end = await ask(provider, f"[[mode={mode};tokens=2]]")
    assert isinstance(end, Finished)
    assert (said(chunks), end.reason, end.calls) == (text, reason, ())


async def test_of_an_answer_that_was_cut_off_no_call_is_made(provider: AnthropicProvider) -> None:
    _, end = await ask(provider, "[[mode=length;calls=clock]]", tools=(CLOCK,))
    assert isinstance(end, Finished)
    assert (end.reason, end.calls) == ("length", ())


FAILURES = [
    # directive, code, retryable, how many tokens were sent before
    ("401", "key_refused", False, 0),
    ("402", "quota", False, 0),
    ("403", "key_refused", False, 0),
    ("400", "bad_request", False, 0),
    ("too_large", "too_large", False, 0),
    ("413", "too_large", False, 0),
    ("404", "model_unknown", False, 0),
    ("429;retry_after=200", "rate_limited", True, 0),
    ("spent", "quota", False, 0),
    ("500", "provider_down", True, 0),
    ("529", "overloaded", True, 0),
    ("error_first", "overloaded", True, 0),
    ("cut;at=5", "interrupted", True, 5),
    ("cleancut;at=5", "interrupted", True, 5),
    ("error_event;at=5", "failed_midway", True, 5),
    ("malformed;at=5", "malformed", True, 5),
    ("hang0", "timeout", True, 0),
    ("hang;at=5", "timeout", True, 5),
    ("pings;at=5", "timeout", True, 5),
]


@pytest.mark.parametrize(("mode", "code", "retryable", "tokens"), FAILURES)
async def test_a_failure_is_a_sentence_without_secrets(
    fake: FakeAnthropic,
    hasty: AnthropicProvider,
    caplog: pytest.LogCaptureFixture,
    mode: str,
    code: str,
    retryable: bool,
    tokens: int,
) -> None:
    """Neither the key, nor an address, nor the provider's own words; and it isn't retried."""
    caplog.set_level("DEBUG")
    before = len(fake.requests)
    chunks, error = await ask(hasty, f"[[mode={mode}]]")
    assert isinstance(error, ProviderError)
    assert (error.code, error.retryable) == (code, retryable)
    assert error.retry_after == (200.0 if "retry_after" in mode else None)
    assert said(chunks) == "".join(f" w{n}" for n in range(tokens))
    assert len(fake.requests) == before + 1
    assert error.message.endswith((".", "!")) and len(error.message) < 200
    told = f"{error!r} {error.message} {error.detail} {error.__cause__!r} {hasty!r}"
    for secret in (KEY, "127.0.0.1", "http:", "sk-secret", "own words"):
        assert secret not in told
    assert KEY not in caplog.text


async def test_a_refused_connection_is_unreachable() -> None:
    elsewhere = provider_at(refused_url())
    chunks, error = await ask(elsewhere, "hello")
    await elsewhere.aclose()
    assert isinstance(error, ProviderError)
    assert (chunks, error.code, error.retryable) == ([], "unreachable", True)


@pytest.mark.parametrize("mode", ["hang0", "ok;tokens=1000;rate=50"])
async def test_who_stops_reading_stops_the_provider(
    fake: FakeAnthropic, provider: AnthropicProvider, mode: str
) -> None:
    aborts = fake.client_aborts

    async def read() -> None:
        async with aclosing(provider.stream(request(f"[[mode={mode}]]"))) as stream:
            assert await anext(stream) == TextPiece(" w0")

    task = asyncio.create_task(read())
    if mode == "hang0":
        await until(lambda: fake.in_flight == 1)
        task.cancel()
    await asyncio.wait([task])
    assert task.cancelled() == (mode == "hang0")
    await until(lambda: fake.in_flight == 0 and fake.client_aborts == aborts + 1)


async def test_the_request_is_whole_and_marked_for_the_cache(
    fake: FakeAnthropic, provider: AnthropicProvider
) -> None:
    """After the instructions, after the earlier messages, and at the end."""
    messages = (
        Message.system("Be brief.", id="1"),
        Message.user("Hi", id="2"),
        Message.assistant("Hello!", id="3"),
        Message.user("Rain?", id="4"),
    )
    asked = {"messages": messages, "tools": (CLOCK,), "max_tokens": 7}
    options = {"seed": 3, "stop": ["END", " "], "reasoning_effort": "max"}
    await ask(provider, "", model="claude-opus-5-5", temperature=0.5, options=options, **asked)
    mark = {"cache_control": {"type": "ephemeral"}}
    assert fake.requests[-1] == {
        "model": "claude-opus-5-5",
        "max_tokens": 7 + 32_768,
        "system": [{"type": "text", "text": "Be brief."} | mark],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Hello!"} | mark]},
            {"role": "user", "content": [{"type": "text", "text": "Rain?"} | mark]},
        ],
        "tools": [
            {
                "name": "clock",
                "description": "Tells the time.",
                "input_schema": {"type": "object"},
            }
        ],
        "stream": True,
        "stop_sequences": ["END"],
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "max"},
    }
    assert fake.headers[-1]["authorization"] == f"Bearer {KEY}"
    assert fake.headers[-1]["anthropic-version"] == "2026-10-21"


async def test_no_key_is_looked_for_where_none_is_wanted(
    fake: FakeAnthropic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    keyless = provider_at(f"{fake.base_url}/v1/", api_key=None)
    await keyless.warm()
    await ask(keyless, "[[tokens=1]]")
    await keyless.aclose()
    assert keyless.status().state == "ready"
    assert KEY not in str(fake.headers[-1])


@pytest.mark.parametrize(
    ("configured", "asked", "name", "window", "tokenizer"),
    [
        (None, None, "claude-sonnet-5-5", 1_000_000, "claude-estimate-2"),
        (
            None,
            "claude-haiku-4-5-20251001",
            "claude-haiku-4-5-20251001",
            200_000,
            "claude-estimate",
        ),
        ("claude-opus-5-5", "claude-haiku-4-5", "claude-opus-5-5", 1_000_000, "claude-estimate-2"),
        (None, "llama3:8b", "llama3:8b", 8_192, "claude-estimate"),
    ],
)
async def test_the_configured_model_wins_and_unknown_windows_are_stated(
    configured: str | None, asked: str | None, name: str, window: int, tokenizer: str
) -> None:
    provider = provider_at("http://127.0.0.1:9", model=configured)
    model = provider.model(asked)
    assert (model.provider, model.name, model.window) == ("anthropic", name, window)
    assert provider.tokenizer(model).name == tokenizer
    assert ("assumed" in model.note) == name.startswith("llama")
    small = provider.small(model)
    assert small is not None and small.name == ("claude-haiku-5-5" if not configured else name)
