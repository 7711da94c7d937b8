"""Reads a streamed answer: its bytes, the events in them, and our own timeouts.

The SDKs' typed streaming costs three times as much CPU for each token, and takes a body that a
proxy cut short for a whole answer; their timeouts would let a person wait for ten minutes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx2

from chatsite.errors import ProviderError
from chatsite.providers.base.provider import Chunk, ReasoningPiece, TextPiece
from chatsite.providers.http import failures
from chatsite.providers.http.odd_lines import AnswerReader
from chatsite.providers.http.sse import SseParser

if TYPE_CHECKING:
    # Costs a third of a second: a provider loads it, with its SDK, when it is used first.
    from chatsite.providers.http.transport import ResponseBody

# How long the usage may take after the end of the text: the whole answer isn't delayed for it.
_USAGE_SECONDS = 5.0
# How long the body's last bytes may take, so that its connection can be used again: a new one
# costs some 100 ms before the next answer.
_TAIL_SECONDS = 0.05
# How soon the timer fires again where the limit has passed while nobody was reading.
_GLANCE = 0.05
# Between two reads of an answer, a little more than between two frames of a page
# (`turns.answer.feed`). What arrives meanwhile is read together, at the cost of one token. 50 ms
# instead of 40 saves a sixth of the frames and adds 5 ms of lag; eyes read 20 frames a second.
_PACE = 0.05
# So much that says nothing is no answer: what is read is no silence, however fast it comes.
_MOST_UNSAID = 4 * 1024 * 1024
# The factor for a model that thinks unseen, which sends nothing for minutes.
UNSEEN_THINKING = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """In seconds. `first_token` counts from the sending of the request, `between_tokens` only while
    we wait for the provider."""

    connect: float = 5.0
    first_token: float = 30.0
    between_tokens: float = 20.0


DEFAULT_TIMEOUTS = Timeouts()


async def relay(
    call: Callable[[], Awaitable[httpx2.Response]],
    reader: AnswerReader,
    *,
    timeouts: Timeouts,
    explain: Callable[[Exception], Exception],
    taken: Callable[[], None],
    prepare: Callable[[], Awaitable[None]] | None = None,
) -> AsyncGenerator[Chunk, None]:
    """Yield the answer as it arrives; closing the generator stops the provider.

    `prepare` runs first and isn't timed (uploading a file may take minutes); `call` then opens the
    stream. `explain` turns their exceptions into ProviderErrors, and a refusal in the stream into
    what it teaches. `taken` is called when the answer is whole.
    """
    try:
        if prepare is not None:
            await prepare()
        opened = asyncio.get_running_loop().time()
        async with asyncio.timeout(timeouts.first_token):
            response = await call()
    except TimeoutError:
        raise failures.too_slow(started=False, seconds=timeouts.first_token) from None
    except Exception as error:
        raise explain(error) from None
    body: ResponseBody = response.extensions["body"]
    watch = _Watch(body, reader, timeouts, opened=opened)
    parser = SseParser()
    try:
        while not reader.done and (data := await watch.read()):
            for chunk in _joined(reader, _fed(parser, data, reader)):
                yield chunk
        for chunk in _joined(reader, parser.end()):
            yield chunk
        finished = reader.finished()
        taken()
        yield finished
        if not body.at_end():
            await watch.read_tail()
    except failures.RefusedInStream as error:
        raise explain(error) from None
    finally:
        watch.close()
        await response.aclose()


def _fed(parser: SseParser, data: bytes, reader: AnswerReader) -> Sequence[bytes]:
    try:
        return parser.feed(data)
    except ValueError as error:
        if reader.ended:
            reader.done = True
            return ()
        raise failures.malformed(type(error).__name__, received=reader.signs > 0) from None


def _joined(reader: AnswerReader, payloads: Sequence[bytes]) -> Iterator[Chunk]:
    """The chunks of the events, with neighbouring pieces of text or reasoning joined. An error is
    raised after the text before it."""
    said: list[str] = []
    kind: type[TextPiece | ReasoningPiece] = TextPiece
    try:
        for payload in payloads:
            if reader.done:
                break
            for chunk in reader.take(payload):
                if said and type(chunk) is not kind:
                    yield kind("".join(said))
                    said.clear()
                if isinstance(chunk, TextPiece | ReasoningPiece):
                    kind = type(chunk)
                    said.append(chunk.text)
                else:
                    yield chunk
    except ProviderError:
        if said:
            yield kind("".join(said))
        raise
    if said:
        yield kind("".join(said))


class _Watch:
    """Reads the body, and ends a silence. One timer serves the whole answer, and checks the time
    when it fires: a timer for each read would cost more than the read. The time that our caller
    takes between two reads doesn't count."""

    def __init__(
        self, body: ResponseBody, reader: AnswerReader, timeouts: Timeouts, *, opened: float
    ) -> None:
        self._body = body
        self._reader = reader
        self._timeouts = timeouts
        self._loop = asyncio.get_running_loop()
        self._limit = timeouts.first_token
        self._spent = spent = self._loop.time() - opened
        self._signs = 0
        self._latest = 0.0
        self._unsaid = 0
        self._since: float | None = None
        self._timer = self._loop.call_later(max(self._limit - spent, 0), self._look)

    async def read(self) -> bytes:
        """Return the next bytes, b"" at the end. Raises ProviderError, unless the answer is whole
        and only the usage is missing."""
        signs = self._reader.signs
        if signs > self._signs:
            self._sign(signs)
        self._since = since = self._loop.time()
        try:
            pause = self._latest + _PACE - since
            if pause > 0 and signs and not self._reader.ended:
                await asyncio.sleep(pause)
            data = await self._body.read()
        except httpx2.RequestError as error:
            if self._reader.ended:
                return b""
            raise self._explained(error) from None
        finally:
            self._since = None
        self._latest = self._loop.time()
        self._spent += self._latest - since
        self._unsaid += len(data)
        if self._unsaid > _MOST_UNSAID:
            if self._reader.ended:
                return b""
            raise failures.malformed("says nothing", received=self._reader.signs > 0)
        return data

    async def read_tail(self) -> None:
        self._restart(_TAIL_SECONDS)
        await self.read()

    def close(self) -> None:
        self._timer.cancel()

    def _sign(self, signs: int) -> None:
        first = self._signs == 0
        self._signs = signs
        self._spent = 0.0
        self._unsaid = 0
        if self._reader.ended:
            self._restart(_USAGE_SECONDS)
        elif first:
            self._restart(self._timeouts.between_tokens)

    def _restart(self, limit: float) -> None:
        self._limit, self._spent = limit, 0.0
        self._timer.cancel()
        self._timer = self._loop.call_later(limit, self._look)

    def _look(self) -> None:
        waited = self._spent
        if self._since is not None:
            waited += self._loop.time() - self._since
            if waited >= self._limit:
                self._body.fail(TimeoutError())
                return
        self._timer = self._loop.call_later(max(self._limit - waited, _GLANCE), self._look)

    def _explained(self, error: httpx2.RequestError) -> Exception:
        started = self._reader.signs > 0
        if isinstance(error, httpx2.TimeoutException):
            return failures.too_slow(started=started, seconds=self._limit)
        return failures.interrupted(type(error).__name__, received=started)
