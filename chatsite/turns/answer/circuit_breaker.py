"""Models that keep failing are left alone for a while: who asks meanwhile is told at once."""

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
# While one request tries whether the trouble is over, the others wait no longer than this for it.
PROBE_SECONDS = 5.0
# What says that the provider itself is in trouble. Any other answer shows that it is there.
COUNTED = frozenset({"unreachable", "provider_down", "overloaded", "timeout"})


@dataclass(slots=True)
class _Trouble:
    """`probed` is when the last request was let through to try, None before the first."""

    failures: deque[float] = field(default_factory=deque)
    until: float = 0.0
    probed: float | None = None


class CircuitBreaker:
    """By name of provider and model: a model that is too slow says nothing of another one. After a
    pause one request is let through: it ends the trouble, or begins another pause."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._troubles: dict[str, _Trouble] = {}

    def admit(self, name: str, *, label: str) -> None:
        """Raises ProviderError ("provider_paused") during a pause."""
        trouble, now = self._troubles.get(name), self._clock()
        if trouble is None or not trouble.until:
            return
        if now > trouble.until + WITHIN_SECONDS:
            del self._troubles[name]  # nobody asked for so long that it says nothing any more
            return
        left = trouble.until - now
        if trouble.probed is not None:
            left = max(left, trouble.probed + PROBE_SECONDS - now)
        if left > 0:
            seconds = max(1, math.ceil(left))
            raise ProviderError(
                f"{label} has failed several times in a row, so it isn't asked for the moment. "
                f"What you wrote is kept. Try again in {seconds} s.",
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
