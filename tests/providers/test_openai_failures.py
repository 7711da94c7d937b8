"""Every way in which a provider fails, and its timeouts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping

import pytest

from chatsite.errors import ProviderError
from chatsite.providers.base.provider import Finished, Usage
from chatsite.providers.http.failures import refused
from chatsite.providers.openai.provider import OpenAIProvider
from chatsite.providers.openai.reader import ChatReader, read_usage
from tests.fakes.openai_server import FakeOpenAI, refused_url
from tests.providers.openai_asked import KEY, ask, provider_at, request, until


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


FAILURES = [
    # directive, code, retryable, how many tokens were sent before
    ("401", "key_refused", False, 0),
    ("402", "quota", False, 0),
    ("403", "key_refused", False, 0),
    ("400", "bad_request", False, 0),
    ("too_large", "too_large", False, 0),
    ("404", "model_unknown", False, 0),
    ("408", "timeout", True, 0),
    ("413", "too_large", False, 0),
    ("429;retry_after=200", "rate_limited", True, 0),
    ("quota;retry_after=20", "quota", False, 0),
    ("500", "provider_down", True, 0),
    ("503", "provider_down", True, 0),
    ("529", "overloaded", True, 0),
    ("cut;at=5", "interrupted", True, 5),
    ("cut;at=0", "interrupted", True, 0),
    ("cleancut;at=5", "interrupted", True, 5),
    ("error_event;at=5", "failed_midway", True, 5),
    ("error_event;at=5;code=429", "failed_midway", True, 5),
    ("error_event;at=0;code=429", "rate_limited", True, 0),
    ("ok;finish=error;tokens=5", "failed_midway", True, 5),
    ("malformed;at=5", "malformed", True, 5),
]


def tells_no_secret(
    error: ProviderError, provider: OpenAIProvider, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the key, nor the address, nor the provider's words."""
    told = f"{error!r} {error.message} {error.detail} {error.__cause__!r} {provider!r}"
    for secret in (KEY, "127.0.0.1", "http:", "sk-secret", "own words"):
        assert secret not in told
    assert KEY not in caplog.text


@pytest.mark.parametrize(("mode", "code", "retryable", "tokens"), FAILURES)
async def test_a_failure_is_a_sentence_and_keeps_the_text_before_it(
    fake: FakeOpenAI,
    mode: str,
    code: str,
    retryable: bool,
    tokens: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    before = len(fake.requests)
    provider = provider_at(fake.base_url)
    text, error = await ask(provider, f"[[mode={mode}]]")
    assert isinstance(error, ProviderError)
    tells_no_secret(error, provider, caplog)
    assert (error.code, error.retryable) == (code, retryable)
    assert text == "".join(f" w{n}" for n in range(tokens))
    assert len(fake.requests) == before + 1
    assert error.message.endswith((".", "!")) and len(error.message) < 200
    assert "kept" in error.message


@pytest.mark.parametrize(
    ("status", "said", "code"),
    [
        (401, "The prompt's access token is used by more than 5 clients", "key_refused"),
        (403, "This token exceeds its scope: context length", "key_refused"),
        (429, "Too many tokens: the prompt exceeds your share", "rate_limited"),
        (400, "The prompt exceeds the model's context", "too_large"),
        (500, "The prompt exceeds the model's context", "too_large"),
    ],
)
def test_a_refusal_of_the_caller_is_none_of_the_prompt(status: int, said: str, code: str) -> None:
    assert refused(status, model="m", name="Refused", words=said).code == code


@pytest.mark.parametrize(
    ("waits", "seconds"),
    [
        ("retry_after=2", 2.0),
        ("retry_after=200", 200.0),
        ("retry_after=7;retry_ms=1500", 1.5),
        ("retry_after=Sun, 06 Nov 1994 08:49:37 GMT", 0.0),
        ("retry_after=soon", None),
        ("at=0", None),
    ],
)
async def test_the_wait_that_a_provider_asks_for_is_reported(
    fake: FakeOpenAI, waits: str, seconds: float | None
) -> None:
    _, error = await ask(provider_at(fake.base_url), f"[[mode=429;{waits}]]")
    assert isinstance(error, ProviderError)
    assert error.retry_after == seconds
    # The page counts a known wait down; a number in the stored sentence would be stale later.
    assert error.message.endswith("kept." if seconds else "Try again in a moment.")


async def test_a_failure_that_is_over_is_over(fake: FakeOpenAI) -> None:
    texts = [await ask(provider_at(fake.base_url), "[[mode=503;fails=1;text=Back]]") for _ in "12"]
    assert isinstance(texts[0][1], ProviderError)
    assert texts[1][0] == "Back"


async def test_a_host_that_does_not_exist_is_explained() -> None:
    _, error = await ask(provider_at("http://no-such-host.invalid/v1"), "hello")
    assert isinstance(error, ProviderError)
    assert (error.code, error.retryable) == ("unreachable", True)
    assert "address can't be found" in error.message


async def test_a_server_without_a_certificate_is_explained() -> None:
    async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        _, error = await ask(provider_at(f"https://127.0.0.1:{port}/v1"), "hello")
    assert isinstance(error, ProviderError)
    assert (error.code, error.retryable) == ("unreachable", False)
    assert "secure connection" in error.message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "tokens"), [("hang0", 0), ("hang;at=5", 5), ("pings;at=5", 5), ("pings;at=0", 0)]
)
async def test_silence_ends_by_our_own_clock(
    fake: FakeOpenAI, mode: str, tokens: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    provider = provider_at(fake.base_url, patience=0.3)
    text, error = await ask(provider, f"[[mode={mode}]]")
    assert isinstance(error, ProviderError)
    tells_no_secret(error, provider, caplog)
    assert (error.code, error.retryable) == ("timeout", True)
    assert ("middle" in error.message) == bool(tokens)
    assert text == "".join(f" w{n}" for n in range(tokens))
    await until(lambda: fake.in_flight == 0)


async def test_a_slow_answer_is_not_a_silent_one(fake: FakeOpenAI) -> None:
    provider = provider_at(fake.base_url, patience=0.3)
    text, end = await ask(provider, "[[rate=8;tokens=5]]")
    assert (text, isinstance(end, Finished)) == (" w0 w1 w2 w3 w4", True)


async def test_an_answer_that_is_whole_does_not_wait_long_for_its_usage(
    fake: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatsite.providers.http.streaming._USAGE_SECONDS", 0.1)
    text, end = await ask(provider_at(fake.base_url), "[[mode=no_usage;text=That is all.]]")
    assert (text, end) == ("That is all.", Finished(reason="stop"))


async def test_a_slow_reader_is_not_taken_for_a_silent_provider(fake: FakeOpenAI) -> None:
    provider = provider_at(fake.base_url, patience=0.2)
    chunks = []
    async for chunk in provider.stream(request("[[tokens=2;rate=100]]")):
        chunks.append(chunk)
        await asyncio.sleep(0.3)
    assert isinstance(chunks[-1], Finished)
    await provider.aclose()


async def test_a_refused_connection_is_unreachable() -> None:
    text, error = await ask(provider_at(refused_url()), "hello")
    assert isinstance(error, ProviderError)
    assert (text, error.code, error.retryable) == ("", "unreachable", True)


def events(*choices: Mapping[str, object]) -> ChatReader:
    """A reader that has taken these choices, the last one with how the answer ended."""
    reader = ChatReader(server="vllm", model="m")
    for choice in choices:
        reader.take(json.dumps({"choices": [choice]}).encode())
    return reader


def calling(**call: object) -> dict[str, object]:
    piece = {"index": 0, "id": "call_abcdefgh", "function": {"name": "delete_all"}} | call
    return {"delta": {"tool_calls": [piece]}}


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_call_in_a_truncated_answer_is_dropped(reason: str) -> None:
    end = events(calling(extra_content={"s": 1}), {"delta": {}, "finish_reason": reason}).finished()
    assert (end.reason, end.calls, end.metadata) == (reason, (), "")


def test_an_answers_metadata_can_be_stored_and_sent() -> None:
    """Some servers cut a character in two, and a name or an id may contain anything."""
    call = calling(id="call_abc\ud83dh", function={"name": "x\ud83d", "arguments": "{}"})
    thoughts = [{"delta": {"reasoning_content": piece}} for piece in ("hm \ud83d", "\ude00\0 ok")]
    end = events(*thoughts, call, {"delta": {}, "finish_reason": "tool_calls"}).finished()
    kept = json.loads(end.metadata.encode())
    assert kept == {"vllm": {"model": "m", "reasoning_content": "hm 😀\ufffd ok"}}
    assert end.calls[0].name == "x\ufffd"
    assert end.calls[0].id.isascii() and end.calls[0].id.startswith("call_")


@pytest.mark.parametrize("call", [{"id": 7}, {"function": {"name": 5}}], ids=["id", "name"])
def test_an_invalid_call_is_malformed(call: dict[str, object]) -> None:
    with pytest.raises(ProviderError) as told:
        events(calling(**call))
    assert told.value.code == "malformed"


def test_counts_that_are_no_numbers_are_not_reckoned_with() -> None:
    for nonsense in ("12", None, -1, 10**400, True):
        assert read_usage({"prompt_tokens": nonsense, "completion_tokens": nonsense}) == Usage()
