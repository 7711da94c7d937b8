"""What happens here, told to the servers whose pages have the conversation open."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable

from chatsite.cluster.notes import Notes
from chatsite.events import Event, Relayed, TurnEnded
from chatsite.turns.answer.feed import (
    FRAME_SECONDS,
    ConversationFeeds,
    Feed,
    FeedReader,
    ReaderLost,
    ReaderOutdated,
)

# How long a server may be away or new before others hear what its pages have open.
UNHEARD_SECONDS = 20.0


class Forwarder(FeedReader):
    """Reads one conversation for other servers. `news` is called where there is something to
    read."""

    def __init__(self, feed: Feed, clock: Callable[[], float], news: Callable[[], None]) -> None:
        super().__init__(feed, clock)
        self._news = news

    def wake(self) -> None:
        self._news()


class Forwarding:
    """Where nobody has a conversation open elsewhere, nothing is told."""

    def __init__(self, feeds: ConversationFeeds, notes: Notes) -> None:
        self.feeds = feeds
        self.notes = notes
        # By conversation: the servers whose pages have it open.
        self._there: defaultdict[str, set[str]] = defaultdict(set)
        self._readers: dict[str, Forwarder] = {}
        self._news: set[str] = set()
        self._has_news = asyncio.Event()
        # By conversation: when something last happened here, and which servers know.
        self._happened: dict[str, tuple[float, set[str]]] = {}

    # ---- who is told ---------------------------------------------------------------------------
    def opened(self, conversation: str, server: str) -> None:
        self._there[conversation].add(server)
        _, told = self._happened.get(conversation, (0.0, {server}))
        if server not in told:  # its pages may have been shown what was before
            told.add(server)
            self.notes.tell([server], {"type": "reopen", "conversation": conversation})
        feed = self.feeds.known(conversation)
        if feed is None or feed.generation is None:
            return
        if feed.decided is not None:
            self._tell(conversation, feed.decided)
        if conversation in self._readers:
            self._readers[conversation].restart(feed.generation)
        else:
            self.begun(conversation)

    def closed(self, conversation: str, server: str) -> None:
        self._there[conversation].discard(server)
        if not self._there[conversation]:
            del self._there[conversation]

    def forget(self, server: str) -> None:
        """It is gone, or says anew what its pages have open."""
        for conversation in list(self._there):
            self.closed(conversation, server)

    # ---- what they are told --------------------------------------------------------------------
    def begun(self, conversation: str) -> None:
        """A message is being written here from now on."""
        if self._there.get(conversation) and conversation not in self._readers:
            feed = self.feeds.of(conversation)
            reader = Forwarder(feed, self.feeds.clock, lambda: self._note_news(conversation))
            self._readers[conversation] = reader
            feed.forward(reader)

    def published(self, conversation: str, event: Event) -> None:
        told = set(self._there.get(conversation, ()))
        self._happened[conversation] = time.monotonic(), told
        if conversation not in self._readers:
            self._tell(conversation, event)

    def reopen(self, conversation: str) -> None:
        """Have all pages there look again."""
        note = {"type": "reopen", "conversation": conversation}
        self.notes.tell(self._there.get(conversation, ()), note)

    def _tell(self, conversation: str, event: Event) -> None:
        if servers := self._there.get(conversation):
            note = {"type": "event", "conversation": conversation, "event": event.to_dict()}
            self.notes.tell(servers, note)

    def _note_news(self, conversation: str) -> None:
        self._news.add(conversation)
        self._has_news.set()

    async def run(self) -> None:
        """As often as a page is sent text, but all together: to wake for each conversation costs
        more than what is told."""
        while True:
            await self._has_news.wait()
            self._has_news.clear()
            self.tell_news()
            await asyncio.sleep(FRAME_SECONDS)

    def tell_news(self) -> None:
        news, self._news = self._news, set()
        for conversation in news:
            reader = self._readers.get(conversation)
            if reader is not None and self._tell_new(conversation, reader):
                self._ended(conversation, reader)

    def _tell_new(self, conversation: str, reader: Forwarder) -> bool:
        """All that has happened, in its order: whether that was the last of it, as a turn has ended
        and no other one has begun."""
        ended = False
        try:
            while (event := reader.take()) is not None:
                if not isinstance(event, Relayed):  # which its own server tells
                    self._tell(conversation, event)
                ended = ended or isinstance(event, TurnEnded)
        except (ReaderLost, ReaderOutdated):
            self.reopen(conversation)
            return True
        return ended and self.feeds.of(conversation).generation is None

    def _ended(self, conversation: str, reader: Forwarder) -> None:
        del self._readers[conversation]
        reader.close()
        feed = self.feeds.known(conversation)
        if feed is not None and feed.generation is not None:
            self.begun(conversation)  # its readers were lost with those of pages here

    def forget_old(self) -> None:
        heard = time.monotonic() - UNHEARD_SECONDS
        self._happened = {id: one for id, one in self._happened.items() if one[0] > heard}
