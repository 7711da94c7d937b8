"""However writing and reading fall together, every reader gets the whole text once."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chatsite.events import (
    CallsStarted,
    Delta,
    Event,
    Relayed,
    Renamed,
    TurnEnded,
    TurnStarted,
)
from chatsite.messages import Message
from chatsite.turns.answer.feed import (
    FRAME_SECONDS,
    MAX_WAITING,
    ConversationFeeds,
    Feed,
    FeedReader,
    Generation,
    ReaderLost,
    ReaderOutdated,
)
from chatsite.turns.elsewhere.forwarding import Forwarding
from chatsite.views import ConversationView, MessageView
from tests.examples import some

CHAT = ConversationView(id="c", agent="demo", title="", created="", updated="")


async def read_now(reader: FeedReader) -> Event | Relayed | None:
    """The next event if there is one now."""
    reading = asyncio.ensure_future(reader.read())
    for _ in range(3):
        await asyncio.sleep(0)
        if reading.done():
            return reading.result()
    reading.cancel()
    return None


@dataclass
class Page:
    """The content of a page that starts from a snapshot and is changed by events alone."""

    reader: FeedReader
    turn: str | None
    text: str
    reasoning: str
    title: str
    answers: list[str] = field(default_factory=list)

    def apply(self, event: Event | Relayed) -> None:
        match event:
            case TurnStarted():
                self.turn, self.text, self.reasoning = event.turn, event.text, event.reasoning
            case Delta(part="text"):
                assert event.turn == self.turn
                assert event.offset == len(self.text), "lost or doubled"
                assert event.text
                self.text += event.text
            case Delta():
                assert (event.turn, event.offset) == (self.turn, len(self.reasoning))
                self.reasoning += event.text
            case CallsStarted(messages=(MessageView(message=message),)):
                assert (message.content or "").startswith(self.text)
                self.text = self.reasoning = ""
                self.answers.append(message.content or "")
            case TurnEnded(message=MessageView(message=message)):
                assert (message.content or "").startswith(self.text)
                self.turn, self.text, self.reasoning = None, "", ""
                self.answers.append(message.content or "")
            case Renamed():
                self.title = event.title

    async def read(self, most: int) -> None:
        for _ in range(most):
            event = await read_now(self.reader)
            if event is None:
                return
            self.apply(event)


def collect_text(generation: Generation) -> MessageView:
    message = Message.assistant(generation.text, id="a")
    return MessageView(message=message, seq=1, state="complete", created="")


@dataclass
class ConversationModel:
    """The true state of one conversation, beside its feed and the pages that follow it."""

    feed: Feed
    title: str = ""
    answers: list[str] = field(default_factory=list)
    shown: list[tuple[Page, int]] = field(default_factory=list)
    turns: int = 0

    def start(self) -> None:
        if self.feed.generation is None:
            self.turns += 1
            more: dict[str, Any] = {"text": "so far", "reasoning": "hm"}
            begun = more if self.turns % 3 == 0 else {}
            self.feed.begin(Generation(f"t{self.turns}", **begun))
            self.feed.publish(
                TurnStarted(
                    conversation=CHAT, turn=f"t{self.turns}", client_id="", messages=(), **begun
                )
            )

    def call(self) -> None:
        """The message being written calls tools, so it is complete and another one begins."""
        generation = self.feed.generation
        if generation is not None:
            self.answers.append(generation.text)
            self.feed.begin(Generation(generation.turn))
            self.feed.publish(
                CallsStarted(turn=generation.turn, messages=(collect_text(generation),))
            )

    def end(self) -> None:
        generation = self.feed.generation
        if generation is not None:
            self.answers.append(generation.text)
            self.feed.end()
            self.feed.publish(
                TurnEnded(
                    turn=generation.turn,
                    state="complete",
                    message=collect_text(generation),
                    reported=None,
                    problem=None,
                )
            )

    def join(self) -> None:
        reader = self.feed.join()
        generation = self.feed.generation
        turn, text, reasoning = None, "", ""
        if generation is not None:
            reader.join(generation)
            view = generation.view(user_message="")
            turn, text, reasoning = view.id, view.text, view.reasoning
        page = Page(reader, turn, text, reasoning, self.title)
        self.shown.append((page, len(self.answers)))

    def rename(self, title: str) -> None:
        self.title = title
        self.feed.publish(Renamed(title=title))

    def do(self, step: str, text: str) -> None:
        match step:
            case "write" | "think" if self.feed.generation is not None:
                self.feed.write(text, "text" if step == "write" else "reasoning")
            case "rename":
                self.rename(text)
            case "start" | "call" | "end" | "join":
                {"start": self.start, "call": self.call, "end": self.end, "join": self.join}[step]()


pieces = st.text(min_size=1, max_size=4)
steps = st.one_of(
    st.tuples(st.just("write"), pieces),
    st.tuples(st.just("write"), pieces),
    st.tuples(st.just("think"), pieces),
    st.tuples(st.just("read"), st.integers(0, 5)),
    st.tuples(st.sampled_from(["start", "call", "end", "join", "rename"]), st.just("")),
)


async def play(script: list[tuple[str, str | int]]) -> None:
    ticks = itertools.count(1)
    chat = ConversationModel(ConversationFeeds(lambda: float(next(ticks))).of("c"))
    chat.join()
    for number, (step, what) in enumerate(script):
        if step == "read":
            await chat.shown[int(what) % len(chat.shown)][0].read(1 + int(what))
        else:
            chat.do(step, str(what) or str(number))
    generation = chat.feed.generation
    for shown, missed in chat.shown:
        await shown.read(10_000)
        assert shown.turn == (generation.turn if generation is not None else None)
        assert shown.text == (generation.text if generation is not None else "")
        assert shown.reasoning == (generation.reasoning if generation is not None else "")
        assert shown.title == chat.title
        assert shown.answers == chat.answers[missed:]


@pytest.mark.slow
@given(st.lists(steps, max_size=60))
@settings(max_examples=some(300), deadline=None)
def test_a_snapshot_and_its_events_equal_a_fresh_snapshot(
    script: list[tuple[str, str | int]],
) -> None:
    asyncio.run(play(script))


@dataclass
class Near:
    """What the server that writes is told of its own pages is nothing to the far one."""

    forwarding: Forwarding

    def opened(self, conversation: str) -> None: ...


@dataclass
class FarPage:
    """A page on another server, which puts text together by its offsets: it may come twice."""

    reader: FeedReader
    turn: str | None
    text: str

    def apply(self, event: Event | Relayed) -> None:
        match event.to_dict():
            case {"type": "turn_started" | "calls_started", "turn": turn, **more}:
                self.turn, self.text = turn, more.get("text", "")
            case {"type": "delta", "turn": turn, "part": "text", "offset": offset, "text": text}:
                assert turn == self.turn
                assert offset <= len(self.text), "lost"
                self.text = self.text[:offset] + text
            case {"type": "turn_ended"}:
                self.turn, self.text = None, ""


class Far:
    """Another server, and the notes that are under way to it."""

    def __init__(self, feeds: ConversationFeeds) -> None:
        ticks = itertools.count(1)
        self.feeds = ConversationFeeds(lambda: float(next(ticks)))
        self.forwarding = Forwarding(feeds, self)  # type: ignore[arg-type]  # it only tells
        feeds.elsewhere = Near(self.forwarding)  # type: ignore[assignment]
        self.feeds.elsewhere = self  # type: ignore[assignment]
        self.notes: list[Any] = []
        self.pages: list[FarPage] = []

    def tell(self, servers: Iterable[str], note: Any) -> None:
        self.notes += [json.loads(json.dumps(note)) for _ in servers]

    def opened(self, conversation: str) -> None:
        self.forwarding.opened(conversation, "far")

    def closed(self, conversation: str) -> None:
        self.forwarding.closed(conversation, "far")

    def open(self, running: Generation | None) -> None:
        """With a snapshot: of what was told, else of what was saved, which may be older."""
        reader, relayed = self.feeds.of("c").join(), self.feeds.of("c").relayed
        turn, text = (running.turn, running.text[:1]) if running is not None else (None, "")
        if relayed is not None and relayed.turn == turn:
            reader.join(relayed)
            text = relayed.text
        self.pages.append(FarPage(reader, turn, text))

    def take(self, most: int) -> None:
        taken, self.notes = self.notes[:most], self.notes[most:]
        for note in taken:
            match note:
                case {"type": "event", "conversation": conversation, "event": event}:
                    self.feeds.of(conversation).relay(Relayed(event))

    async def read(self, running: Generation | None) -> None:
        """A page that is told to opens the conversation anew."""
        pages, self.pages = self.pages, []
        for page in pages:
            try:
                while (event := await read_now(page.reader)) is not None:
                    page.apply(event)
                self.pages.append(page)
            except ReaderOutdated:
                page.reader.close()
                self.open(running)


async def play_far(script: list[tuple[str, str | int]]) -> None:
    ticks = itertools.count(1)
    feeds = ConversationFeeds(lambda: float(next(ticks)))
    far, chat = Far(feeds), ConversationModel(feeds.of("c"))
    chat.join()  # as long as a page is there, the feed stays the same
    for number, (step, what) in enumerate(script):
        match step:
            case "tell":
                far.forwarding.tell_news()
            case "take":
                far.take(int(what))
            case "read":
                await far.read(chat.feed.generation)
            case "open":
                far.open(chat.feed.generation)
            case "lose":  # notes, and the far server knows it
                far.notes.clear()
                far.feeds.reopen("c")
            case _:
                chat.do(step, str(what) or str(number))
    generation = chat.feed.generation
    for _ in range(2):  # a page may have to open it anew
        far.forwarding.tell_news()
        far.take(10_000)
        await far.read(generation)
    for page in far.pages:
        assert page.turn == (generation.turn if generation is not None else None)
        assert page.text == (generation.text if generation is not None else "")


far_steps = st.one_of(
    st.tuples(st.just("write"), pieces),
    st.tuples(st.just("think"), pieces),
    st.tuples(st.just("take"), st.integers(1, 5)),
    st.tuples(
        st.sampled_from(["start", "call", "end", "open", "tell", "read", "lose"]), st.just("")
    ),
)


@pytest.mark.slow
@given(st.lists(far_steps, max_size=60))
@example(
    [(step, "abc") for step in "open open start write tell".split()]
    + [("take", 5)]
    + [(step, "x") for step in "read call tell lose write".split()]
)
@settings(max_examples=some(300), deadline=None)
def test_pages_of_another_server_show_the_same_text(script: list[tuple[str, str | int]]) -> None:
    asyncio.run(play_far(script))


async def test_a_reader_that_does_not_read_is_dropped_and_the_others_are_not() -> None:
    chat = ConversationModel(ConversationFeeds(lambda: 0.0).of("c"))
    chat.join()
    chat.join()
    (asleep, _), (awake, _) = chat.shown
    for number in range(MAX_WAITING + 1):
        chat.rename(str(number))
        await awake.read(1)
    with pytest.raises(ReaderLost):
        await asleep.reader.read()
    assert awake.title == str(MAX_WAITING)


async def test_text_alone_never_drops_a_reader() -> None:
    ticks = itertools.count(1)
    chat = ConversationModel(ConversationFeeds(lambda: float(next(ticks))).of("c"))
    chat.start()
    chat.join()
    for _ in range(MAX_WAITING * 3):
        chat.feed.write("word ")
    shown, _ = chat.shown[0]
    await shown.read(5)
    assert shown.text == "word " * MAX_WAITING * 3


async def test_the_first_piece_is_sent_at_once_and_the_next_after_a_frame() -> None:
    now = [10.0]
    chat = ConversationModel(ConversationFeeds(lambda: now[0]).of("c"))
    chat.start()
    chat.join()
    shown, _ = chat.shown[0]
    chat.feed.write("a")
    await shown.read(1)
    assert shown.text == "a"
    chat.feed.write("b")
    chat.feed.write("c")
    assert await read_now(shown.reader) is None
    now[0] += FRAME_SECONDS
    await shown.read(1)
    assert shown.text == "abc"


def test_a_feed_is_removed_with_its_last_reader_but_not_during_an_answer() -> None:
    feeds = ConversationFeeds(lambda: 0.0)
    chat = ConversationModel(feeds.of("c"))
    chat.join()
    chat.start()
    shown, _ = chat.shown[0]
    shown.reader.close()
    assert feeds.known("c") is chat.feed
    chat.end()
    assert feeds.known("c") is None
