"""When a model is asked again, and when it is left alone for a while."""

from __future__ import annotations

import asyncio
import math
import random
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

from chatsite.errors import ProviderError
from chatsite.providers.base.provider import Chunk, PromptProgress, Provider, Request
from chatsite.providers.base.thoughts import answer_of
from chatsite.wording import later, say

# A request is repeated only within so many seconds: nobody should look at nothing for longer.
RETRY_WITHIN_SECONDS = 10.0
# Where the provider names no time: about a second, spread so that not all come back at once.
RETRY_AFTER_SECONDS = (0.8, 1.6)

# So many failures within so many seconds, and a pause begins.
FAILURES = 5
WITHIN_SECONDS = 30.0
PAUSE_SECONDS = 15.0
# While one request tries whether the trouble is over, the others wait no longer than this for it.
PROBE_SECONDS = 5.0
# Errors that say that the provider itself is in trouble. Any other answer shows that it is up.
COUNTED = frozenset({"unreachable", "provider_down", "overloaded", "timeout"})

# Called with a sentence and the seconds until the model is asked again.
OnWaiting = Callable[[str, float], None]
# Called while the provider reads a long prompt.
OnReading = Callable[[PromptProgress], None]
# The first chunk of an answer, None for an empty one, and the stream of all others.
Opened = tuple[Chunk | None, AsyncGenerator[Chunk, None]]


@asynccontextmanager
async def open_answer(
    provider: Provider,
    request: Request,
    *,
    label: str,
    breaker: CircuitBreaker,
    clock: Callable[[], float],
    waiting: OnWaiting,
    reading: OnReading,
) -> AsyncIterator[Opened]:
    """The answer from its first chunk on. A request that fails before that is repeated once; after
    it nothing is: the chunk has been shown. Raises ProviderError. `label` names the provider to
    people."""
    name = f"{provider.kind}:{request.model}"
    latest = clock() + RETRY_WITHIN_SECONDS
    for is_last in (False, True):
        breaker.admit(name, label=label)
        has_answered = False
        async with aclosing(answer_of(provider, request)) as chunks:
            first: Chunk | None = None
            try:
                async for chunk in chunks:
                    if not has_answered:
                        has_answered = True
                        breaker.succeeded(name)
                    if not isinstance(chunk, PromptProgress):
                        first = chunk
                        break
                    reading(chunk)
            except ProviderError as error:
                if not has_answered:
                    breaker.failed(name, error)
                pause = error.retry_after
                if pause is None:
                    pause = random.uniform(*RETRY_AFTER_SECONDS)
                if is_last or not error.retryable or clock() + pause > latest:
                    raise
                waiting(_sentence(error, label), pause)
            else:
                yield first, chunks
                return
        await asyncio.sleep(pause)


def _sentence(error: ProviderError, label: str) -> str:
    sentence = _SENTENCES.get(error.code, _BROKE_OFF)
    return say(sentence, label=label)


_BROKE_OFF = later("{label} broke off before its answer began.")
_SENTENCES = {
    "rate_limited": later("{label} is busy."),
    "overloaded": later("{label} has more to do than it can."),
    "unreachable": later("{label} can't be reached."),
    "timeout": later("{label} took too long."),
    "provider_down": later("{label} reported an internal error."),
}


@dataclass(slots=True)
class _Trouble:
    """`until` is the end of the pause, 0 before one; `probed` is when the last request was let
    through to try, None before the first."""

    failures: deque[float] = field(default_factory=deque)
    until: float = 0.0
    probed: float | None = None


class CircuitBreaker:
    """Leaves models alone that keep failing. By name of provider and model: a model that is too
    slow says nothing of another one. After a pause one request is let through, and either ends the
    trouble or begins another pause."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._troubles: dict[str, _Trouble] = {}

    def admit(self, name: str, *, label: str) -> None:
        """Raises ProviderError ("provider_paused") during a pause."""
        trouble, now = self._troubles.get(name), self._clock()
        if trouble is None or not trouble.until:
            return
        if now > trouble.until + WITHIN_SECONDS:
            del self._troubles[name]  # so old that it says nothing any more
            return
        left = trouble.until - now
        if trouble.probed is not None:
            left = max(left, trouble.probed + PROBE_SECONDS - now)
        if left > 0:
            seconds = max(1, math.ceil(left))
            raise ProviderError(
                say(
                    "{label} keeps failing, so requests to it are paused. What you wrote is kept.",
                    label=label,
                ),
                code="provider_paused",
                retry_after=seconds,
            )
        trouble.probed = now

    def succeeded(self, name: str) -> None:
        self._troubles.pop(name, None)

    def failed(self, name: str, error: ProviderError) -> None:
        """A refused key or a bad request is no trouble: the provider has answered."""
        if error.code not in COUNTED:
            self.succeeded(name)
            return
        trouble, now = self._troubles.setdefault(name, _Trouble()), self._clock()
        trouble.failures.append(now)
        while trouble.failures[0] < now - WITHIN_SECONDS:
            trouble.failures.popleft()
        if trouble.probed is not None or len(trouble.failures) >= FAILURES:
            trouble.until, trouble.probed = now + PAUSE_SECONDS, None
