"""Cells that the next request won't have are cut out before it, and can be restored."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest_asyncio

from chatsite.kv_cache.books import Book, CacheUse
from chatsite.kv_cache.slots.cache import Cache
from chatsite.messages import Message
from chatsite.providers.base.provider import Request
from chatsite.providers.embedded.engine import SLOTS
from chatsite.providers.embedded.provider import EmbeddedProvider
from tests.fakes.engine_completion import Pause
from tests.providers.cache_talks import HEADS, Talk
from tests.providers.cache_world import Answered, FakeWorld

SAID = [Message.user(f"{text}, " * 30 + "and no more.", id=text) for text in "abcde"]


class Harbour:
    """A conversation with one answered question, which was sent with all of SAID."""

    def __init__(self, world: FakeWorld) -> None:
        self.world = world
        self.talk = Talk(HEADS[1])

    @property
    def book(self) -> Book:
        held = next(held for held in self.world.cache._contents if held.owner == self.talk.id)
        assert held.book is not None
        return held.book

    def request(self, text: str, before: Sequence[Message] = SAID) -> Request:
        request = self.talk.request(Message.user(text, id=text), [])
        return replace(request, messages=(*self.talk.head, *before, request.messages[-1]))

    async def ask(self, before: Sequence[Message], text: str = "And?") -> Answered:
        answered = await self.world.ask(self.request(text, before))
        assert answered.end is not None
        return answered

    async def trim(self, to: Sequence[Message]) -> None:
        await self.begin_to_trim(to)
        await self.world.begun()
        await self.world.rest()

    async def save(self) -> None:
        """Save as after a quiet second."""
        self.world.cache._save_now(self.talk.id)
        await self.world.begun()
        await self.world.rest()

    async def begin_to_trim(self, to: Sequence[Message]) -> None:
        draft = Message.user("", id="draft")
        await self.world.provider.trim(self.talk.id, [*self.talk.head, *to, draft])

    async def is_asked(self) -> None:
        """Until the engine has got the request; somebody has to hold the slot's lock there."""
        asked = self.world.fake.asked
        async with asyncio.timeout(10):
            while asked[-1] != "POST /completion":  # noqa: ASYNC110 - the engine's own tasks
                await asyncio.sleep(0)

    @property
    def lock(self) -> asyncio.Lock:
        """The cells of the conversation's slot in the engine."""
        held = [held.owner for held in self.world.cache._contents]
        return self.world.fake.slots[held.index(self.talk.id)].lock

    @property
    def is_anywhere(self) -> bool:
        owners = {held.owner for held in self.world.cache._contents if held.book}
        return self.talk.id in owners | self.world.rows.sessions.keys()


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[FakeWorld]:
    world = FakeWorld(tmp_path, limit=10**9)
    await world.open()
    yield world
    await world.close()


@pytest_asyncio.fixture
async def place(world: FakeWorld) -> Harbour:
    place = Harbour(world)
    await place.ask(SAID)
    return place


def account_of(answered: Answered) -> CacheUse:
    assert answered.account is not None
    return answered.account


async def test_a_slot_trimmed_ahead_needs_no_shifting_at_the_question(place: Harbour) -> None:
    left = [SAID[0], *SAID[3:]]
    await place.trim(left)
    assert {span.key for span in place.book.spans} == {"s1", "a", "d", "e"}
    cells = len(place.book)
    account = account_of(await place.ask(left))
    assert (account.origin, account.shifted) == ("slot", 0)
    assert account.reused >= cells - 1


async def test_trimmed_cells_that_are_needed_again_are_restored_from_the_session(
    place: Harbour,
) -> None:
    before = len(place.book)
    await place.trim(SAID[:1] + SAID[3:])
    await place.trim(SAID[:1] + SAID[4:])
    account = account_of(await place.ask(SAID))
    assert (account.origin, account.agrees) == ("session", True)
    # All but the first answer, which isn't asked for again.
    assert account.reused > before - 32


async def test_nothing_is_trimmed_that_couldnt_be_had_again(world: FakeWorld) -> None:
    world.cache = Cache(world.engine)
    world.provider = EmbeddedProvider(world.engine, world.cache)
    place = Harbour(world)
    await place.ask(SAID)
    before = place.book
    await place.trim(SAID[3:])
    assert place.book == before


async def test_words_that_were_taken_away_meanwhile_stay_until_the_next_request(
    place: Harbour,
) -> None:
    """Their session was removed, and one with the cells to be cut can't be saved any more."""
    before = place.book
    place.world.rows.take_away(place.talk.id)
    await place.trim(SAID[3:])
    assert place.book == before
    assert place.talk.id not in place.world.rows.sessions


async def test_a_request_before_the_trimming_keeps_its_cells(place: Harbour) -> None:
    async with place.world._paused(place.request("More?"), Pause(tokens=1)) as (asking, _):
        # The trimming was decided before that request.
        await place.begin_to_trim(SAID[3:])
        await place.world.begun()
        asking.cancel()
    assert {"b", "More?"} <= {span.key for span in place.book.spans}


async def test_two_trims_in_a_row_are_both_made(place: Harbour) -> None:
    """Though the second begins while the engine is at the first."""
    await place.save()
    async with place.lock:
        await place.begin_to_trim(SAID[:1] + SAID[2:])
        await place.is_asked()
        assert place.world.provider.can_trim(place.talk.id)
        await place.begin_to_trim(SAID[:1] + SAID[3:])
    await place.world.begun()
    await place.world.rest()
    assert {span.key for span in place.book.spans} == {"s1", "a", "d", "e"}


async def test_a_slot_that_went_to_another_conversation_is_left_alone(place: Harbour) -> None:
    for _ in range(SLOTS - 1):
        await Harbour(place.world).ask(SAID[:1])
    last = Harbour(place.world)
    async with place.world._paused(last.request("And I?"), Pause(tokens=1)) as (asking, _):
        await place.begin_to_trim(SAID[3:])
        await place.world.begun()
        asking.cancel()
    assert place.talk.id not in {held.owner for held in place.world.cache._contents}
    assert {"a", "b", "And I?"} <= {span.key for span in last.book.spans}


async def test_a_slot_forgotten_while_trimming_isnt_reused(place: Harbour) -> None:
    await place.save()
    async with place.lock:
        await place.begin_to_trim(SAID[3:])
        await place.is_asked()
        await place.world.cache.drop(place.talk.id)
    await place.world.rest()
    assert not place.is_anywhere
    account = account_of(await place.ask(SAID[3:]))
    assert (account.origin, account.shifted) == ("none", 0) and account.reused < 2


async def test_a_slot_forgotten_while_answering_isnt_reused(place: Harbour) -> None:
    async with place.world._paused(place.request("More?"), Pause(tokens=1)) as (asking, _):
        await place.world.cache.drop(place.talk.id)
        asking.cancel()
    await place.save()
    assert not place.is_anywhere


async def test_a_slot_forgotten_while_saving_isnt_on_disk(place: Harbour) -> None:
    async with place.lock:
        place.world.cache._save_now(place.talk.id)
        await place.world.begun()
        dropping = asyncio.create_task(place.world.cache.drop(place.talk.id))
        await asyncio.sleep(0)
    await dropping
    await place.world.rest()
    assert not place.is_anywhere and place.world.files == []


async def test_nothing_is_trimmed_where_the_last_save_failed(place: Harbour) -> None:
    """The saved session doesn't have the cells to be cut."""
    await place.save()
    await place.ask(SAID, "And then?")
    before = place.book
    place.world.rows.taken.add(place.talk.id)  # its row isn't taken any more
    await place.trim(SAID[3:])
    assert place.book == before


async def test_nothing_is_trimmed_where_not_every_slot_can_be_saved(place: Harbour) -> None:
    """Else another conversation's session could take this one's place on the disk."""
    await place.save()
    assert place.world.cache._sessions is not None
    place.world.cache._sessions._limit = 2 * place.world.rows.sessions[place.talk.id].size
    before = place.book
    await place.trim(SAID[3:])
    assert place.book == before


async def test_a_prompt_that_has_to_be_read_anyway_is_left_to_its_request(place: Harbour) -> None:
    """Else a message would lie there with half of its cells."""
    await place.ask(SAID[:2] + SAID[3:])
    before = place.book
    await place.trim(SAID[1:])
    assert place.book == before


async def test_a_model_of_ones_own_is_trimmed_as_well(world: FakeWorld) -> None:
    """Its template was found out by examples, all of which end with a question."""
    world.engine.bundled = False
    running = await world.engine._inspect(world.running.client, "the model", 0)
    world.engine._set(world.engine.status(), running)
    world.serve()
    place = Harbour(world)
    said = [one if at % 2 == 0 else _answer(one) for at, one in enumerate(SAID)]
    await place.ask(said[:4])
    left = [*said[:1], *said[3:4]]
    await place.trim(left)
    assert {span.key for span in place.book.spans} == {"s1", "a", "d"}


def _answer(message: Message) -> Message:
    return Message.assistant(message.content or "", id=message.id)


async def test_a_model_that_cant_shift_is_asked_to_once(place: Harbour) -> None:
    for slot in place.world.fake.slots:
        slot.cells.shifts = False
    await place.trim(SAID[2:])
    assert place.world.cache.misses == 1
    after = place.book
    await place.trim(SAID[4:])
    assert place.book == after and place.world.cache.misses == 1
