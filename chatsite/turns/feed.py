"""What happens in one conversation, for any number of readers.

The text being written is owned by one `Generation`: append-only. Readers have a place in it and
never slow it down; no queue holds text, so a reader that doesn't read costs nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from chatsite.events import Delta, Event, TurnEnded, TurnStarted

# A browser paints at most every 16 ms; 35 ms halves frames and CPU for 20 ms of lag (measured).
FRAME_SECONDS = 0.035
# A reader this far behind has a dead socket; it is dropped and the page opens a fresh snapshot.
MAX_WAITING = 500


class Generation:
    """The answer being written, in the pieces in which it came. `length` is in characters."""

    def __init__(self, turn: str) -> None:
        self.turn = turn
        self.pieces: list[str] = []
        self.length = 0

    def append(self, piece: str) -> None:
        self.pieces.append(piece)
        self.length += len(piece)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class ReaderLost(Exception):
    """The reader fell too far behind; it must begin anew from a snapshot."""


class Reader:
    """One socket's place in a feed. `read` gives the next event, with text at most every 35 ms."""

    def __init__(self, feed: Feed, clock: Callable[[], float]) -> None:
        self._feed = feed
        self._clock = clock
        self._events: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._generation: Generation | None = None
        self._piece = 0
        self._offset = 0
        self._last_frame = 0.0
        self._lost = False

    def join(self, generation: Generation) -> str:
        """Follow the text from its present end; returns what has been written so far."""
        self._generation = generation
        self._piece, self._offset = len(generation.pieces), generation.length
        return generation.text

    def wake(self) -> None:
        self._wake.set()

    def put(self, event: Event) -> None:
        if len(self._events) >= MAX_WAITING:
            self._lost = True
        else:
            self._events.append(event)
        self._wake.set()

    async def read(self) -> Event:
        """The next event. Raises ReaderLost where too many were waiting."""
        while True:
            if self._lost:
                raise ReaderLost
            if self._events:
                return self._next_event()
            generation = self._generation
            if generation is not None and self._piece < len(generation.pieces):
                wait = self._last_frame + FRAME_SECONDS - self._clock()
                if wait <= 0:
                    return self._delta(generation)
                await asyncio.sleep(wait)
                continue
            self._wake.clear()
            await self._wake.wait()

    def _next_event(self) -> Event:
        event = self._events.popleft()
        if isinstance(event, TurnStarted):
            running = self._feed.generation
            if running is not None and running.turn == event.turn:
                self._generation, self._piece, self._offset = running, 0, 0
            else:
                self._generation = None
        elif isinstance(event, TurnEnded):
            self._generation = None  # it carries the whole text, with what wasn't read yet
        return event

    def _delta(self, generation: Generation) -> Delta:
        text = "".join(generation.pieces[self._piece :])
        delta = Delta(turn=generation.turn, offset=self._offset, text=text)
        self._piece = len(generation.pieces)
        self._offset += len(text)
        self._last_frame = self._clock()
        return delta

    def close(self) -> None:
        self._feed.leave(self)


class Feed:
    """One conversation's events. `generation` is the text being written, if any.

    `forget` is called when neither a reader nor a text needs the feed any more.
    """

    def __init__(self, clock: Callable[[], float], forget: Callable[[], object]) -> None:
        self.generation: Generation | None = None
        self._clock = clock
        self._forget = forget
        self._readers: set[Reader] = set()

    def begin(self, generation: Generation) -> None:
        self.generation = generation

    def end(self) -> None:
        self.generation = None
        self._forget_if_unused()

    def _forget_if_unused(self) -> None:
        if self.generation is None and not self._readers:
            self._forget()

    def join(self) -> Reader:
        reader = Reader(self, self._clock)
        self._readers.add(reader)
        return reader

    def leave(self, reader: Reader) -> None:
        self._readers.discard(reader)
        self._forget_if_unused()

    def publish(self, event: Event) -> None:
        for reader in self._readers:
            reader.put(event)

    def write(self, piece: str) -> None:
        """Append to the running generation and tell the readers."""
        assert self.generation is not None
        self.generation.append(piece)
        for reader in self._readers:
            reader.wake()
