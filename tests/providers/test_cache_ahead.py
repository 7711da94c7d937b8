"""What the next request won't have leaves the slot before it is made, and can be had again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from chatsite.kv import Account, Book
from chatsite.messages import Message
from chatsite.providers.embedded.cache import Cache
from chatsite.providers.embedded.provider import EmbeddedProvider
from tests.fakes.engine_completion import Pause
from tests.providers.cache_talks import HEADS, Talk
from tests.providers.cache_world import Answered, FakeWorld

SAID = [Message.user(f"{text}, " * 30 + "and no more.", id=text) for text in "abcde"]


class Harbour:
    """A conversation of which a question was answered that all of SAID stood before."""

    def __init__(self, world: FakeWorld) -> None:
        self.world = world
        self.talk = Talk(HEADS[1])

    @property
    def book(self) -> Book:
        held = next(held for held in self.world.cache._held if held.owner == self.talk.id)
        assert held.book is not None
        return held.book

    async def ask(self, before: Sequence[Message], text: str = "And?") -> Answered:
        request = self.talk.request(Message.user(text, id=f"{text} {len(before)}"), [])
        messages = (*self.talk.head, *before, request.messages[-1])
        answered = await self.world.ask(replace(request, messages=messages))
        assert answered.end is not None
        return answered

    async def trim(self, to: Sequence[Message]) -> None:
        await self.world.trim(self.talk.id, [*self.talk.head, *to])


async def harbour(tmp_path: Path) -> Harbour:
    world = FakeWorld(tmp_path, limit=10**9)
    await world.open()
    place = Harbour(world)
    await place.ask(SAID)
    return place


def account_of(answered: Answered) -> Account:
    assert answered.account is not None
    return answered.account


async def test_what_was_trimmed_ahead_needs_no_shifting_at_the_question(tmp_path: Path) -> None:
    place = await harbour(tmp_path)
    left = [SAID[0], *SAID[3:]]
    await place.trim(left)
    assert {span.key for span in place.book.spans} == {"s1", "a", "d", "e"}
    cells = len(place.book)
    account = account_of(await place.ask(left))
    assert (account.origin, account.shifted) == ("slot", 0)
    assert account.reused >= cells - 1
    await place.world.close()


async def test_what_is_wanted_after_all_comes_from_the_saved_session(tmp_path: Path) -> None:
    place = await harbour(tmp_path)
    before = len(place.book)
    await place.trim(SAID[:1] + SAID[3:])
    await place.trim(SAID[:1] + SAID[4:])
    account = account_of(await place.ask(SAID))
    assert (account.origin, account.agrees) == ("session", True)
    # All but the first answer, which isn't asked for again.
    assert account.reused > before - 32
    await place.world.close()


async def test_nothing_is_trimmed_that_couldnt_be_had_again(tmp_path: Path) -> None:
    world = FakeWorld(tmp_path, limit=10**9)
    await world.open()
    world.cache = Cache(world.engine)
    world.provider = EmbeddedProvider(world.engine, world.cache)
    place = Harbour(world)
    await place.ask(SAID)
    before = place.book
    await place.trim(SAID[3:])
    assert place.book == before
    await world.close()


async def test_words_that_were_taken_away_meanwhile_stay_until_the_next_request(
    tmp_path: Path,
) -> None:
    """Their session is gone, and one that has what would be cut can't be saved any more."""
    place = await harbour(tmp_path)
    before = place.book
    place.world.rows.take_away(place.talk.id)
    await place.trim(SAID[3:])
    assert place.book == before
    assert place.talk.id not in place.world.rows.sessions
    await place.world.close()


async def test_a_request_that_came_first_keeps_what_it_brought(tmp_path: Path) -> None:
    place = await harbour(tmp_path)
    request = place.talk.request(Message.user("More?", id="more"), [])
    request = replace(request, messages=(*place.talk.head, *SAID, request.messages[-1]))
    async with place.world._paused(request, Pause(tokens=1)) as (asking, _):
        # What it asks for was decided on before that request.
        await place.world.provider.trim(place.talk.id, [*place.talk.head, *SAID[3:]])
        await place.world.begun()
        asking.cancel()
    assert "more" in {span.key for span in place.book.spans}
    await place.world.close()


async def test_another_conversations_slot_is_left_alone(tmp_path: Path) -> None:
    place = await harbour(tmp_path)
    before = place.book
    await place.world.trim("somebody else", [*place.talk.head, *SAID[3:]])
    assert place.book == before
    await place.world.close()


async def test_a_model_that_cant_shift_is_asked_to_once(tmp_path: Path) -> None:
    place = await harbour(tmp_path)
    for slot in place.world.fake.slots:
        slot.cells.shifts = False
    await place.trim(SAID[2:])
    assert place.world.cache.misses == 1
    after = place.book
    await place.trim(SAID[4:])
    assert place.book == after and place.world.cache.misses == 1
    await place.world.close()
