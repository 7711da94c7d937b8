"""Lines of a stream that aren't what they should be, in every dialect.

Gateways send empty lines and marks of their own to keep a connection alive, and people would lose
a whole answer for one of them. What can't be read is passed over, and logged once an answer.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence

from chatsite.providers.base.provider import Chunk
from chatsite.providers.http import failures

logger = logging.getLogger("chatsite.providers")

# Half a call could do what nobody asked for.
_OF_CALLS = re.compile(
    rb'"(tool_calls"\s*:\s*\[|function_call"\s*:\s*\{|input_json_delta"|tool_use")'
)


def is_end_mark(payload: bytes) -> bool:
    """Whether this is `[DONE]`, however a server writes it."""
    return payload.strip(b" \t\n\r\"'").upper() == b"[DONE]"


class OddLines:
    """Counts the lines of one answer that were passed over."""

    def __init__(self) -> None:
        self.count = 0

    def take(
        self,
        payload: bytes,
        error: Exception,
        *,
        take: Callable[[bytes], Sequence[Chunk]],
        ended: bool,
        received: bool,
    ) -> Sequence[Chunk]:
        """What can be read of a payload that failed with `error`: of several lines each by itself.
        Raises ProviderError where the line belongs to a call that isn't whole yet."""
        lines = [line for line in payload.split(b"\n") if line.strip()]
        if len(lines) > 1 and isinstance(error, ValueError):
            return [chunk for line in lines for chunk in take(line)]
        if not lines or ended:
            return ()
        if _OF_CALLS.search(payload):
            raise failures.malformed(type(error).__name__, received=received) from None
        if self.count == 0:
            logger.warning(
                "a line of a streamed answer can't be read and was passed over (%s, %d bytes)",
                type(error).__name__,
                len(payload),
            )
        self.count += 1
        return ()
