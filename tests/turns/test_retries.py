"""At most one more try, before the first token and within ten seconds; then a pause for all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from chatsite.errors import ProviderError
from chatsite.providers.base.provider import Chunk, Finished, Request, TextPiece
from chatsite.turns.answer.retries import (
    FAILURES,
    PAUSE_SECONDS,
    PROBE_SECONDS,
    WITHIN_SECONDS,
    CircuitBreaker,
    open_answer,
)
from tests.turns.conftest import ScriptedProvider, reply_script

REQUEST = Request(conversation="c", messages=(), model="m", max_tokens=5)
DOWN = ProviderError("Down.", code="provider_down", retryable=True, retry_after=0)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


async def read_answer(
    provider: ScriptedProvider, clock: Clock, breaker: CircuitBreaker
) -> tuple[str, list[float]]:
    waits: list[float] = []
    answer = open_answer(
        provider,
        REQUEST,
        label="Acme",
        breaker=breaker,
        clock=clock,
        waiting=lambda sentence, seconds: waits.append(seconds),
        reading=lambda progress: None,
    )
    async with answer as (first, chunks):
        text = first.text if isinstance(first, TextPiece) else ""
        async for chunk in chunks:
            text += chunk.text if isinstance(chunk, TextPiece) else ""
    return text, waits


def failing_first(*errors: ProviderError) -> ScriptedProvider:
    provider = ScriptedProvider()
    left = list(errors)

    async def script(request: Request) -> AsyncGenerator[Chunk, None]:
        if left:
            raise left.pop(0)
        yield TextPiece("Here I am.")
        yield Finished(reason="stop")

    provider.script = script
    return provider


@pytest.mark.parametrize(
    ("error", "requests"),
    [
        (DOWN, 2),
        (ProviderError("No.", code="key_refused"), 1),
        (ProviderError("Busy.", code="rate_limited", retryable=True, retry_after=11), 1),
    ],
    ids=["a passing failure", "a refused key", "a long wait"],
)
async def test_only_temporary_failures_are_retried_and_the_wait_is_reported(
    error: ProviderError, requests: int
) -> None:
    clock = Clock()
    provider = failing_first(error)
    if requests == 2:
        assert await read_answer(provider, clock, CircuitBreaker(clock)) == ("Here I am.", [0])
    else:
        with pytest.raises(ProviderError) as found:
            await read_answer(provider, clock, CircuitBreaker(clock))
        assert found.value is error
    assert len(provider.requests) == requests


async def test_a_request_is_retried_at_most_once_and_never_after_the_first_token() -> None:
    clock = Clock()
    twice = failing_first(DOWN, DOWN)
    with pytest.raises(ProviderError):
        await read_answer(twice, clock, CircuitBreaker(clock))
    assert len(twice.requests) == 2
    midway = ScriptedProvider()
    midway.script = reply_script("Some", error=DOWN)
    with pytest.raises(ProviderError):
        await read_answer(midway, clock, CircuitBreaker(clock))
    assert len(midway.requests) == 1


async def test_after_five_failures_requests_pause_until_one_probe_succeeds() -> None:
    clock = Clock()
    breaker = CircuitBreaker(clock)
    final = ProviderError("Down.", code="unreachable")
    broken = failing_first(*[final] * (FAILURES + 1))
    for _ in range(FAILURES):
        with pytest.raises(ProviderError, match="Down"):
            await read_answer(broken, clock, breaker)
    with pytest.raises(ProviderError, match="keeps failing") as paused:
        await read_answer(broken, clock, breaker)
    assert paused.value.code == "provider_paused" and len(broken.requests) == FAILURES

    clock.now += PAUSE_SECONDS
    with pytest.raises(ProviderError, match="Down"):  # the probe fails: another pause
        await read_answer(broken, clock, breaker)
    with pytest.raises(ProviderError, match="keeps failing"):
        await read_answer(broken, clock, breaker)
    clock.now += PAUSE_SECONDS
    assert (await read_answer(broken, clock, breaker))[0] == "Here I am."
    assert (await read_answer(broken, clock, breaker))[0] == "Here I am."


async def test_of_many_requests_one_probes_and_the_others_wait_a_few_seconds_for_it() -> None:
    clock = Clock()
    breaker = CircuitBreaker(clock)
    for _ in range(FAILURES):
        breaker.admit("echo:m", label="Acme")
        breaker.failed("echo:m", ProviderError("Down.", code="timeout"))
    clock.now += PAUSE_SECONDS
    silent = ScriptedProvider()
    asked_now = asyncio.Event()

    async def never(request: Request) -> AsyncGenerator[Chunk, None]:
        asked_now.set()
        await asyncio.Event().wait()
        yield TextPiece("")

    silent.script = never
    probe = asyncio.create_task(read_answer(silent, clock, breaker))
    await asyncio.wait_for(asked_now.wait(), 20)
    with pytest.raises(ProviderError) as paused:
        breaker.admit("echo:m", label="Acme")
    assert paused.value.retry_after == 5
    breaker.admit("echo:another", label="Acme")
    probe.cancel()
    await asyncio.wait({probe})
    clock.now += PROBE_SECONDS
    breaker.admit("echo:m", label="Acme")  # the next one may
    breaker.failed("echo:m", ProviderError("No.", code="key_refused"))  # the server answers again
    breaker.admit("echo:m", label="Acme")
    breaker.admit("echo:m", label="Acme")


def test_old_failures_of_an_unused_server_are_forgotten() -> None:
    clock = Clock()
    breaker = CircuitBreaker(clock)
    for _ in range(FAILURES):
        breaker.failed("echo:m", ProviderError("Down.", code="unreachable"))
    clock.now += PAUSE_SECONDS + WITHIN_SECONDS + 1
    breaker.admit("echo:m", label="Acme")
    breaker.admit("echo:m", label="Acme")


def test_failures_that_are_far_apart_or_our_own_begin_no_pause() -> None:
    clock = Clock()
    breaker = CircuitBreaker(clock)
    for _ in range(FAILURES * 3):
        breaker.admit("echo", label="Acme")
        breaker.failed("echo", ProviderError("Down.", code="timeout"))
        clock.now += 10
    for _ in range(FAILURES * 3):
        breaker.admit("other", label="Acme")
        breaker.failed("other", ProviderError("No.", code="key_refused"))
