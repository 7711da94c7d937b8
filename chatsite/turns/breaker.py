"""Providers that keep failing are left alone for a while: who asks meanwhile is told at once."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from chatsite.errors import ProviderError

# So many failures within so many seconds, and a pause begins.
FAILURES = 5
WITHIN_SECONDS = 30.0
PAUSE_SECONDS = 15.0
# What says that the provider itself is in trouble; a refused key or a bad request is ours.
COUNTED = frozenset({"unreachable", "provider_down", "overloaded", "timeout"})


@dataclass(slots=True)
class _Trouble:
    failures: deque[float] = field(default_factory=deque)
    until: float = 0.0
    probing: bool = False


class Breaker:
    """By provider. After a pause one request is let through: it ends the trouble, or begins
    another pause."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._troubles: dict[str, _Trouble] = {}

    def admit(self, provider: str, *, label: str) -> None:
        """Raises ProviderError ("provider_paused") during a pause. Every request that is admitted
        must be reported by `succeeded`, `failed` or `left`."""
        trouble = self._troubles.get(provider)
        if trouble is None or not trouble.until:
            return
        left = trouble.until - self._clock()
        if left > 0 or trouble.probing:
            seconds = max(1, math.ceil(left))
            raise ProviderError(
                f"{label} has failed several times in a row, so it isn't asked for the moment. "
                f"What you wrote is kept. Try again in {seconds} s.",
                code="provider_paused",
                retry_after=seconds,
            )
        trouble.probing = True

    def succeeded(self, provider: str) -> None:
        self._troubles.pop(provider, None)

    def left(self, provider: str) -> None:
        """The request was given up before anything could be said of the provider."""
        trouble = self._troubles.get(provider)
        if trouble is not None:
            trouble.probing = False

    def failed(self, provider: str, error: ProviderError) -> None:
        if error.code not in COUNTED:
            self.left(provider)
            return
        trouble = self._troubles.setdefault(provider, _Trouble())
        now = self._clock()
        trouble.failures.append(now)
        while trouble.failures[0] < now - WITHIN_SECONDS:
            trouble.failures.popleft()
        if trouble.probing or len(trouble.failures) >= FAILURES:
            trouble.until = now + PAUSE_SECONDS
        trouble.probing = False
