"""What failed requests leave: of an answer that the server's stop cancelled, and in
a slot that others had. And a model whose cells can't be shifted."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from chatsite.kv_cache.slots.cache import Cache
from chatsite.messages import Message
from chatsite.providers.embedded.engine import SLOTS
from chatsite.providers.embedded.provider import EmbeddedProvider
from tests.fakes.engine_completion import Pause
from tests.providers.cache_talks import HEADS, Talk
from tests.providers.cache_world import FakeWorld

LONG = "Tell me of the ropes. " * 5


async def test_the_slot_of_a_cancelled_answer_is_saved_at_the_servers_stop(tmp_path: Path) -> None:
    world = FakeWorld(tmp_path, limit=10**9)
    await world.open()
    talk = Talk(HEADS[1])
    request = talk.request(Message.user(LONG, id="u"), [])
    async with world._paused(request, Pause(tokens=1)) as (asking, _):
        asking.cancel()
        await asyncio.wait({asking})
        await world.cache.close()
        saved = world.rows.sessions[talk.id]
        assert [span.key for span in saved.book.spans][-2:] == ["u", request.answer]
    await world.close()


async def test_a_refused_request_doesnt_save_another_conversations_cells(tmp_path: Path) -> None:
    world = FakeWorld(tmp_path, limit=10**9)
    await world.open()
    for number in range(SLOTS):
        others = Talk(HEADS[1]).request(Message.user(LONG, id=f"u{number}"), [])
        assert (await world.ask(others)).end is not None
    talk = Talk(HEADS[1])
    refused = await world.ask(talk.request(Message.user("na " * 900, id="much"), []))
    assert refused.error is not None and refused.error.code == "too_large"
    await world.close()
    assert talk.id not in world.rows.sessions and len(world.rows.sessions) == SLOTS


async def test_a_model_that_cant_shift_its_cells_is_promised_nothing_twice(tmp_path: Path) -> None:
    world = FakeWorld(tmp_path, limit=10**9)
    await world.open()
    for slot in world.fake.slots:
        slot.cells.shifts = False
    talk = Talk(HEADS[1])
    said = [Message.user(f"{text}, " * 30 + "and no more.", id=text) for text in "abcde"]
    for left in (said[:4], said[1:], said[2:]):
        request = replace(talk.request(left[-1], []), messages=(*talk.head, *left))
        answered = await world.ask(request)
        assert answered.end is not None
    await world.close()
    assert world.cache.misses == 1


@pytest.mark.parametrize("saves", [True, False])
async def test_an_erased_conversation_leaves_no_token_in_its_slot(
    saves: bool, tmp_path: Path
) -> None:
    world = FakeWorld(tmp_path, limit=10**9)
    await world.open()
    if not saves:
        world.cache = Cache(world.engine)
        world.provider = EmbeddedProvider(world.engine, world.cache)
    changed, other = Talk(HEADS[1]), Talk(HEADS[1])
    for talk in (changed, other):
        await world.ask(talk.request(Message.user(LONG, id=talk.id), []))
    await world.cache.drop(changed.id)  # words of it were deleted before
    await world.cache.erase(changed.id)
    assert sorted(len(slot.cells) for slot in world.fake.slots)[:3] == [0, 0, 1]
    assert world.cache.view(other.id).used > 50 and not world.cache.view(changed.id).used
    again = await world.ask(changed.request(Message.user(LONG, id="again"), []))
    assert again.account is not None and again.account.agrees and again.account.reused <= 1
    await world.close()
