"""One request of a provider, asked once more where that is worth it: before the first token, within
ten seconds, and said to the person who waits."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from chatsite.errors import ProviderError
from chatsite.providers.base.provider import Chunk, PromptProgress, Provider, Request
from chatsite.turns.answer.circuit_breaker import CircuitBreaker

# Longer nobody should look at nothing; what takes longer is the person's own decision.
WITHIN_SECONDS = 10.0
# Where the provider doesn't say how long: a second, spread so that not all come back at once.
PAUSE_SECONDS = (0.8, 1.6)

# Told with a sentence and the seconds until it is asked again.
OnWaiting = Callable[[str, float], None]


async def reliably(
    provider: Provider,
    request: Request,
    *,
    label: str,
    breaker: CircuitBreaker,
    clock: Callable[[], float],
    waiting: OnWaiting,
) -> AsyncGenerator[Chunk, None]:
    """The answer as it arrives. Raises ProviderError; after the first chunk nothing is repeated:
    it has been shown. `label` names the provider to people."""
    latest = clock() + WITHIN_SECONDS
    try:
        async with aclosing(_once(provider, request, label, breaker)) as chunks:
            async for chunk in chunks:
                if not isinstance(chunk, PromptProgress):
                    latest = 0.0
                yield chunk
        return
    except ProviderError as error:
        pause = error.retry_after
        if pause is None:
            pause = random.uniform(*PAUSE_SECONDS)
        if not error.retryable or clock() + pause > latest:
            raise
        waiting(_sentence(error, label), pause)
    await asyncio.sleep(pause)
    async with aclosing(_once(provider, request, label, breaker)) as chunks:
        async for chunk in chunks:
            yield chunk


def _sentence(error: ProviderError, label: str) -> str:
    why = {
        "rate_limited": "is busy",
        "overloaded": "has more to do than it can",
        "unreachable": "can't be reached",
        "timeout": "took too long",
        "provider_down": "has a problem of its own",
    }.get(error.code, "broke off before its answer began")
    return f"{label} {why}."


async def _once(
    provider: Provider, request: Request, label: str, breaker: CircuitBreaker
) -> AsyncGenerator[Chunk, None]:
    name = f"{provider.kind}:{request.model}"
    breaker.admit(name, label=label)
    told = False
    try:
        async with aclosing(provider.stream(request)) as chunks:
            async for chunk in chunks:
                if not told:
                    told = True
                    breaker.succeeded(name)
                yield chunk
    except ProviderError as error:
        if not told:
            breaker.failed(name, error)
        raise
