"""What happens in one conversation, for any number of readers.

The message being written is owned by one `Generation`: append-only. Readers have a place in it and
never slow it down; no queue holds text, so a reader that doesn't read costs nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from chatsite.events import Decided, Delta, Event, Relayed
from chatsite.views import TurnView

if TYPE_CHECKING:
    from chatsite.turns.elsewhere.other_servers import OtherServers

# A browser paints at most every 16 ms; 35 ms halves frames and CPU for 20 ms of lag (measured).
FRAME_SECONDS = 0.035
# A reader this far behind has a dead socket; it is dropped and the page opens a fresh snapshot.
MAX_WAITING = 500

Part = Literal["text", "reasoning"]


class Generation:
    """The message being written, in the pieces in which it came, each with the part of the message
    that it belongs to. `length` is that of all parts, in characters; of an answer that is continued
    the `first` pieces are what it began with. `relayed`: another server writes it.

    `calling` are the tools whose calls are being written, `waiting` is shown while the provider is
    waited for, `reading` is how much of a long prompt was read, and how long it is.
    """

    def __init__(
        self, turn: str, *, text: str = "", reasoning: str = "", relayed: bool = False
    ) -> None:
        self.turn = turn
        self.relayed = relayed
        self.pieces: list[tuple[Part, str]] = []
        self.lengths: dict[Part, int] = {"text": 0, "reasoning": 0}
        self.calling: tuple[str, ...] = ()
        self.waiting = ""
        self.reading = (0, 0)
        if reasoning:
            self.append(reasoning, "reasoning")
        if text:
            self.append(text, "text")
        self.first = len(self.pieces)

    def append(self, piece: str, part: Part) -> None:
        self.pieces.append((part, piece))
        self.lengths[part] += len(piece)

    def divide(self, begun: Mapping[Part, int], *, text: str, reasoning: str) -> None:
        """Replace what was appended since the lengths were `begun`."""
        text = self.text[: begun["text"]] + text
        reasoning = self.reasoning[: begun["reasoning"]] + reasoning
        self.pieces.clear()
        self.lengths = {"text": 0, "reasoning": 0}
        self.append(reasoning, "reasoning")
        self.append(text, "text")

    @property
    def length(self) -> int:
        return self.lengths["text"] + self.lengths["reasoning"]

    @property
    def text(self) -> str:
        return self._whole("text")

    @property
    def reasoning(self) -> str:
        return self._whole("reasoning")

    def _whole(self, part: Part) -> str:
        return "".join(piece for of, piece in self.pieces if of == part)

    def view(self, *, user_message: str) -> TurnView:
        """What a page that opens the conversation now is shown of it."""
        return TurnView(
            id=self.turn,
            user_message=user_message,
            text=self.text,
            reasoning=self.reasoning,
            calling=self.calling,
            waiting=self.waiting,
            reading=self.reading,
        )


class ReaderLost(Exception):
    """The reader fell too far behind, its socket is dead."""


class ReaderOutdated(Exception):
    """What is stored isn't what the reader was told; it must start again from a snapshot."""


class FeedReader:
    """One socket's place in a feed. `read` gives the next event, with text at most every 35 ms."""

    def __init__(self, feed: Feed, clock: Callable[[], float]) -> None:
        self._feed = feed
        self._clock = clock
        self._events: deque[Event | Relayed] = deque()
        self._wake = asyncio.Event()
        self._generation: Generation | None = None
        self._piece = 0
        self._offsets: dict[Part, int] = {"text": 0, "reasoning": 0}
        self._last_frame = 0.0
        self._lost: type[Exception] | None = None

    def join(self, generation: Generation) -> None:
        """Follow the message from its present end."""
        self._generation = generation
        self._piece, self._offsets = len(generation.pieces), dict(generation.lengths)

    def restart(self, generation: Generation, *, first: int = 0) -> None:
        """Follow the message from behind its `first` pieces."""
        self._generation, self._piece = generation, first
        self._offsets = {"text": 0, "reasoning": 0}
        for part, text in generation.pieces[:first]:
            self._offsets[part] += len(text)
        self.wake()

    def wake(self) -> None:
        """Have the reader look: there is something to read."""
        self._wake.set()

    def put(self, event: Event | Relayed) -> None:
        if len(self._events) >= MAX_WAITING:
            self.lose(ReaderLost)
        else:
            self._events.append(event)
            self.wake()

    def lose(self, why: type[Exception]) -> None:
        self._lost = why
        self.wake()

    async def read(self) -> Event | Relayed:
        """The next event. Raises ReaderLost where too many were waiting, and ReaderOutdated."""
        while True:
            if self._lost is not None:
                raise self._lost
            if self._events:
                return self._next_event()
            generation = self._generation
            if generation is not None and self._piece < len(generation.pieces):
                wait = self._last_frame + FRAME_SECONDS - self._clock()
                if wait <= 0 or generation.relayed:  # which comes in frames
                    return self._delta(generation)
                await asyncio.sleep(wait)
                continue
            self._wake.clear()
            await self._wake.wait()

    def take(self) -> Event | Relayed | None:
        """As `read`, but None where nothing is there yet, and text however soon."""
        if self._lost is not None:
            raise self._lost
        if self._events:
            return self._next_event()
        generation = self._generation
        if generation is None or self._piece == len(generation.pieces):
            return None
        return self._delta(generation)

    def _next_event(self) -> Event | Relayed:
        event = self._events.popleft()
        if event.type in ("turn_started", "calls_started"):
            # What an answer that is continued begins with came with the event.
            writing = self._feed.generation or self._feed.relayed
            if writing is not None and writing.turn == event.to_dict()["turn"]:
                self.restart(writing, first=writing.first)
            else:
                self._generation = None
        elif event.type == "turn_ended":
            self._generation = None  # it carries the whole text, with what wasn't read yet
        return event

    def _delta(self, generation: Generation) -> Delta:
        """All that is new of one part; what follows of another is the next frame."""
        pieces, start = generation.pieces, self._piece
        part = pieces[start][0]
        end = start + 1
        while end < len(pieces) and pieces[end][0] == part:
            end += 1
        text = "".join(piece for _, piece in pieces[start:end])
        delta = Delta(turn=generation.turn, offset=self._offsets[part], text=text, part=part)
        self._piece = end
        self._offsets[part] += len(text)
        self._last_frame = self._clock()
        return delta

    def close(self) -> None:
        self._feed.leave(self)


class Feed:
    """One conversation's events. `generation` is the message being written here, if any, `relayed`
    one that another server writes; `decided` is its turn's last decision. Both are for pages that
    open later."""

    def __init__(self, conversation: str, feeds: ConversationFeeds) -> None:
        self.generation: Generation | None = None
        self.relayed: Generation | None = None
        self.decided: Decided | None = None
        self._conversation = conversation
        self._feeds = feeds
        self._readers: set[FeedReader] = set()
        # Those of pages here; the others read for other servers.
        self._pages: set[FeedReader] = set()

    def begin(self, generation: Generation) -> None:
        self.generation = generation
        if self._feeds.elsewhere is not None:
            self._feeds.elsewhere.forwarding.begun(self._conversation)

    def end(self) -> None:
        self.generation = self.decided = None
        self._forget_if_unused()

    def _forget_if_unused(self) -> None:
        if self.generation is None and not self._readers:
            self._feeds.forget(self._conversation, self)

    def join(self) -> FeedReader:
        """A page's reader."""
        reader = FeedReader(self, self._feeds.clock)
        self._readers.add(reader)
        self._pages.add(reader)
        if len(self._pages) == 1 and self._feeds.elsewhere is not None:
            self._feeds.elsewhere.opened(self._conversation)
        return reader

    def leave(self, reader: FeedReader) -> None:
        self._readers.discard(reader)
        if reader in self._pages:
            self._pages.remove(reader)
            if not self._pages and self._feeds.elsewhere is not None:
                self._feeds.elsewhere.closed(self._conversation)
        self._forget_if_unused()

    @property
    def has_pages(self) -> bool:
        return bool(self._pages)

    def forward(self, reader: FeedReader) -> None:
        """Have a reader for other servers read the message from its beginning on, and all that
        follows."""
        self._readers.add(reader)
        if self.generation is not None:
            reader.restart(self.generation)

    def reopen(self) -> None:
        """Have all pages open the conversation anew: what is stored isn't what they were told. Then
        the server that writes sends its text once more."""
        for reader in self._readers:
            reader.lose(ReaderOutdated)
        self.relayed = None
        if self._pages and self._feeds.elsewhere is not None:
            self._feeds.elsewhere.closed(self._conversation)
        self._pages.clear()

    def publish(self, event: Event) -> None:
        if isinstance(event, Decided):
            self.decided = event
        for reader in self._readers:
            reader.put(event)
        if self._feeds.elsewhere is not None:
            self._feeds.elsewhere.forwarding.published(self._conversation, event)

    def relay(self, event: Relayed) -> None:
        """What happened on another server, for the pages here."""
        wire = event.wire
        match wire["type"]:
            case "delta":
                self._relay_text(wire["turn"], wire["part"], wire["offset"], wire["text"])
                return
            case "decided":
                self.decided = Decided(turn=wire["turn"], receipt=wire["receipt"])
            case "turn_started" | "calls_started":
                begun = {part: wire.get(part, "") for part in ("text", "reasoning")}
                self.relayed = Generation(wire["turn"], **begun, relayed=True)
            case "turn_ended":
                self.relayed = self.decided = None
        for reader in self._readers:
            reader.put(event)

    def _relay_text(self, turn: str, part: Part, offset: int, text: str) -> None:
        """More of the message that another server writes. Where a page opened in the middle, the
        text comes once more from its beginning on."""
        if self.relayed is None or self.relayed.turn != turn:
            if offset:
                return
            self.relayed = Generation(turn, relayed=True)
            for reader in self._readers:
                reader.restart(self.relayed)
        known = self.relayed.lengths[part]
        if offset <= known < offset + len(text):
            self.relayed.append(text[known - offset :], part)
            for reader in self._readers:
                reader.wake()

    def divide(self, begun: Mapping[Part, int], *, text: str, reasoning: str) -> None:
        """Replace what the running generation has got since `begun`. Its readers get the whole with
        the event that ends it."""
        assert self.generation is not None
        self.generation.divide(begun, text=text, reasoning=reasoning)
        for reader in self._readers:
            reader.join(self.generation)

    def write(self, piece: str, part: Part = "text") -> None:
        """Append to the running generation and wake the readers."""
        assert self.generation is not None
        self.generation.append(piece, part)
        for reader in self._readers:
            reader.wake()


class ConversationFeeds:
    """The feeds of the conversations that are open in a page or being answered."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.elsewhere: OtherServers | None = None
        self._feeds: dict[str, Feed] = {}

    def of(self, conversation: str) -> Feed:
        feed = self._feeds.get(conversation)
        if feed is None:
            feed = self._feeds[conversation] = Feed(conversation, self)
        return feed

    def known(self, conversation: str) -> Feed | None:
        return self._feeds.get(conversation)

    def is_open(self, conversation: str) -> bool:
        """Whether a page of this server shows the conversation."""
        feed = self._feeds.get(conversation)
        return feed is not None and feed.has_pages

    def forget(self, conversation: str, feed: Feed) -> None:
        """Unless another feed took the place of this one, with readers of its own."""
        if self._feeds.get(conversation) is feed:
            del self._feeds[conversation]

    def publish(self, conversation: str, event: Event) -> None:
        """Send an event to every page that has the conversation open."""
        if conversation in self._feeds:
            self._feeds[conversation].publish(event)
        elif self.elsewhere is not None:
            self.elsewhere.forwarding.published(conversation, event)

    def reopen(self, conversation: str) -> None:
        """Have every page of this server that has it open open it anew."""
        if conversation in self._feeds:
            self._feeds[conversation].reopen()
