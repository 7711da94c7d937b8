"""Reads a stream, and its lines that aren't what they should be, in every dialect.

Gateways send empty lines and marks of their own to keep a connection alive, and people would lose
a whole answer for one of them. What can't be read is passed over, and logged once an answer.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import from_json

from chatsite.errors import ProviderError
from chatsite.providers.base.provider import Chunk, Finished, FinishReason
from chatsite.providers.base.received import Allowance, TooLong
from chatsite.providers.http import failures
from chatsite.providers.http.error_events import may_explain, read_ending, stated_error

logger = logging.getLogger("chatsite.providers")

# Half a call could do what nobody asked for.
_OF_CALLS = re.compile(
    rb'"(tool_calls"\s*:\s*\[|function_call"\s*:\s*\{|input_json_delta"|tool_use")'
)

# `[DONE]`, however a server writes it.
_END_MARK = re.compile(rb"[\s\"']*\[?(?:done|end|eof|finish(?:ed)?)\]?[\s\"']*", re.IGNORECASE)
_PREFIXES = re.compile(rb"^(?:\s*data:)+\s*")
# Of what can't be read, in bytes.
_KEPT = 4_000


class AnswerReader:
    """Turns events into chunks, and collects one streamed answer; each dialect has its own reader.

    `signs` counts the events that show the model at work: by each, something of the answer has
    grown, which is bounded. `ended`: the answer is whole, and only the usage may follow. `done`:
    nothing follows, or nothing more is wanted.
    """

    def __init__(self, *, model: str) -> None:
        self.signs = 0
        self.ended = False
        self.done = False
        self._too_long = False
        self._reason: FinishReason = "stop"
        self._allowance = Allowance()
        self._model = model
        self._odd_lines = 0
        # Kept of what can't be used, as far as it may say why nothing of an answer comes.
        self._explanation: Any = ""

    def finished(self) -> Finished:
        """Raises ProviderError ("interrupted") for a stream without an end: that shows that a proxy
        cut the body short. ("malformed") where a part of it couldn't be read."""
        raise NotImplementedError

    def take(self, payload: bytes) -> Sequence[Chunk]:
        """Take the data of one event. Raises ProviderError for an error event, and where a call
        can't be read; anything else that isn't an event is passed over."""
        try:
            event = _read(payload)
            return self._event(event) if event else ()
        except TooLong:
            self._too_long = self.ended = self.done = True
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            if not _END_MARK.fullmatch(payload):
                return self._take_odd(payload, error)
            self._close()
        return ()

    def _event(self, event: Any) -> Sequence[Chunk]:
        raise NotImplementedError

    def _close(self) -> None:
        """The end mark is an end, also of servers that never say why; of nothing but nonsense it
        isn't. A body that merely ends is none: that is what a proxy makes of an answer it cuts
        short."""
        self.done = True
        if self.signs or not self._explanation:
            self.ended = True

    def _end(self, reason: str, error: object = None) -> None:
        ending = read_ending(reason)
        if ending is None:
            raise self._stated_failure(error or {"type": reason})
        self.signs += not self.ended
        self.ended = True
        self._reason = ending

    # ---- what is no part of an answer --------------------------------------------------------
    def _take_odd(self, payload: bytes, error: Exception) -> Sequence[Chunk]:
        """Take what can be read of a payload that failed with `error`: of several lines, and of a
        list, each by itself. Raises ProviderError where the line belongs to a call that isn't whole
        yet."""
        if lines := _inner(payload, is_json=not isinstance(error, ValueError)):
            return [chunk for line in lines for chunk in self.take(line)]
        if not payload.strip() or self.ended:
            return ()
        name = type(error).__name__
        if _OF_CALLS.search(payload):
            raise failures.malformed(name, received=self.signs > 0) from None
        if self._odd_lines == 0:
            logger.warning(
                "a line of a streamed answer can't be read and was passed over (%s, %d bytes)",
                name,
                len(payload),
            )
        self._odd_lines += 1
        if isinstance(self._explanation, str) and len(self._explanation) < _KEPT:
            self._explanation += payload[:_KEPT].decode(errors="replace") + "\n"
        return ()

    def _look_at(self, event: Mapping[str, Any]) -> None:
        """Look at an event that is no part of an answer. Raises ProviderError for an error: many
        servers answer 200 and send the real status as an event, mostly before the first token."""
        if error := stated_error(event):
            raise self._stated_failure(error)
        if may_explain(event):
            self._explanation = event

    def _stated_failure(self, error: Any) -> ProviderError:
        if self.signs:
            return failures.failed_midway("error event")
        return failures.RefusedInStream(error, model=self._model)

    def _failure(self, detail: str) -> ProviderError:
        """Why the answer isn't whole."""
        if self._explanation and not self.signs:
            refusal = failures.RefusedInStream(self._explanation, model=self._model)
            if not isinstance(self._explanation, str) or refusal.has_reason:
                return refusal
        failure = failures.malformed if self._odd_lines else failures.interrupted
        return failure(detail, received=self.signs > 0)


def _read(payload: bytes) -> Any:
    """pydantic reads JSON in half the time, but refuses half a character and line ends in a text,
    which some servers send. Raises ValueError for what is no JSON."""
    try:
        return from_json(payload)
    except ValueError:
        return json.loads(payload.decode(errors="replace"), strict=False)


def _inner(payload: bytes, *, is_json: bool) -> list[bytes]:
    """The parts of a payload that may be events: the items of a list, several lines, or what stands
    behind a second `data:`."""
    if is_json:
        try:
            found = json.loads(payload)
        except (ValueError, RecursionError):
            return []
        items = found if isinstance(found, list) else []
        return [json.dumps(item).encode() for item in items if isinstance(item, dict)]
    lines = [line for line in payload.split(b"\n") if line.strip()]
    bare = [_PREFIXES.sub(b"", line) for line in lines]
    return bare if len(bare) > 1 or bare != lines else []
