"""Channels run side by side: one place's trouble keeps nobody else waiting, and nothing is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from chatsite.channels.channel import Answer, Question, Trouble
from chatsite.channels.desk import Desk
from chatsite.channels.supervisor import Backoff, Channels
from tests.conversations.builders import new_id
from tests.presence import leading
from tests.turns.conftest import World

pytestmark = pytest.mark.asyncio


@dataclass(frozen=True)
class Note:
    """Something that arrives; `place` and `number` name it."""

    place: str
    number: int

    @property
    def key(self) -> str:
        return f"{self.place}-{self.number}"


@dataclass
class Pigeons:
    """A channel on paper: what arrives is put into `coming`, what is said is kept in `said`."""

    world: World
    name: str = "Pigeons"
    coming: asyncio.Queue[Note | Exception] = field(default_factory=asyncio.Queue)
    unfinished: list[Note] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    troubles: dict[str, int] = field(default_factory=dict)
    closed: bool = False

    def __post_init__(self) -> None:
        self.conversations: dict[str, str] = {}
        self.tried = asyncio.Condition()

    async def receive(self) -> AsyncIterator[Note]:
        for note in list(self.unfinished):
            yield note
        while True:
            arrived = await self.coming.get()
            if isinstance(arrived, Exception):
                raise arrived
            self.unfinished.append(arrived)
            yield arrived

    def key(self, arrival: Note) -> str:
        return arrival.key

    def place(self, arrival: Note) -> str:
        return arrival.place

    async def who(self, arrival: Note) -> Question | None:
        conversation = self.conversations.setdefault(arrival.place, new_id())
        return Question(
            request=self.world.page_request(conversation),
            client_id=arrival.key,
            text=f"note {arrival.number}",
            source="talk",
        )

    def language(self, arrival: Note) -> str:
        return "en"

    async def acknowledge(self, arrival: Note, turn: str) -> None:
        return None

    async def say(self, arrival: Note, answer: Answer) -> None:
        async with self.tried:
            self.tried.notify_all()
        if self.troubles.get(arrival.place, 0) > 0:
            self.troubles[arrival.place] -= 1
            raise Trouble(f"no pigeon flies to {arrival.place}")
        self.unfinished.remove(arrival)
        self.said.append(arrival.key)
        async with self.tried:
            self.tried.notify_all()

    async def close(self) -> None:
        self.closed = True

    async def until_said(self, *keys: str) -> None:
        async with self.tried, asyncio.timeout(20):
            await self.tried.wait_for(lambda: set(keys) <= set(self.said))

    async def until_tried(self) -> None:
        async with self.tried, asyncio.timeout(20):
            await self.tried.wait()


def running(world: World, desk: Desk, pigeons: Pigeons) -> Channels:
    channels = Channels((pigeons,), desk, presence=leading(), first_wait=0.01, drain_seconds=0.1)
    channels.start()
    return channels


async def test_what_arrives_in_one_place_is_answered_in_its_order(world: World, desk: Desk) -> None:
    pigeons = Pigeons(world)
    channels = running(world, desk, pigeons)
    for number in range(5):
        pigeons.coming.put_nowait(Note("quay", number))
    await pigeons.until_said("quay-4")
    assert pigeons.said == [f"quay-{number}" for number in range(5)]
    await channels.drain()
    assert pigeons.closed


async def test_what_is_delivered_twice_is_answered_once(world: World, desk: Desk) -> None:
    pigeons = Pigeons(world)
    note = Note("quay", 1)
    pigeons.unfinished.append(note)
    pigeons.coming.put_nowait(Trouble("the dovecote is shut"))
    channels = running(world, desk, pigeons)
    await pigeons.until_said("quay-1")
    assert pigeons.said == ["quay-1"]
    assert len(world.provider.requests) == 1
    await channels.drain()


async def test_trouble_in_one_place_keeps_no_other_waiting(world: World, desk: Desk) -> None:
    pigeons = Pigeons(world, troubles={"island": 1_000_000})
    channels = running(world, desk, pigeons)
    pigeons.coming.put_nowait(Note("island", 1))
    pigeons.coming.put_nowait(Note("quay", 1))
    await pigeons.until_said("quay-1")
    assert pigeons.said == ["quay-1"]
    pigeons.troubles.clear()
    await pigeons.until_said("island-1")
    assert len(world.provider.requests) == 2, "the answer is carried again, not written again"
    await channels.drain()


async def test_a_channel_in_trouble_begins_anew_and_says_so_once(
    world: World, desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    pigeons = Pigeons(world)
    for _ in range(4):
        pigeons.coming.put_nowait(Trouble("the dovecote is shut"))
    pigeons.coming.put_nowait(Note("quay", 1))
    with caplog.at_level(logging.ERROR, logger="chatsite.channels"):
        channels = running(world, desk, pigeons)
        await pigeons.until_said("quay-1")
    assert [record.getMessage() for record in caplog.records] == ["Pigeons: the dovecote is shut"]
    await channels.drain()


async def test_what_was_not_carried_back_is_carried_after_the_next_start(
    world: World, desk: Desk
) -> None:
    pigeons = Pigeons(world, troubles={"quay": 1_000_000})
    channels = running(world, desk, pigeons)
    pigeons.coming.put_nowait(Note("quay", 1))
    await pigeons.until_tried()
    await channels.drain()
    assert pigeons.said == []
    pigeons.troubles.clear()
    channels = running(world, desk, pigeons)
    await pigeons.until_said("quay-1")
    assert len(world.provider.requests) == 1
    await channels.drain()


async def test_the_wait_after_trouble_doubles_up_to_five_minutes() -> None:
    backoff = Backoff(1.0)
    waits = [backoff.next() for _ in range(12)]
    assert waits[:4] == [1.0, 2.0, 4.0, 8.0]
    assert waits[-1] == 300.0
    assert Backoff(1.0).next(60.0) == 60.0
