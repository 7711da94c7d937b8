from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from chatsite.errors import ProviderError
from chatsite.kv_cache.slots.slots import SlotQueue


@asynccontextmanager
async def hold(slots: SlotQueue, conversation: str) -> AsyncIterator[int]:
    slot = await slots.take(conversation)
    try:
        yield slot
    finally:
        slots.give_back(slot, conversation)


async def slot_of(slots: SlotQueue, conversation: str) -> int:
    async with hold(slots, conversation) as slot:
        return slot


async def until_queued(slots: SlotQueue, count: int) -> None:
    async with asyncio.timeout(5):
        while len(slots._queue) != count:  # noqa: ASYNC110 - only the tasks' own turns are waited for
            await asyncio.sleep(0)


async def test_a_conversation_gets_its_own_slot_back() -> None:
    slots = SlotQueue(3)
    first = [await slot_of(slots, name) for name in "abc"]
    assert sorted(first) == [0, 1, 2]
    assert [await slot_of(slots, name) for name in "bcacab"] == [
        first["abc".index(n)] for n in "bcacab"
    ]


async def test_a_new_conversation_takes_the_slot_unused_for_longest() -> None:
    slots = SlotQueue(2)
    a, b = await slot_of(slots, "a"), await slot_of(slots, "b")
    assert await slot_of(slots, "a") == a
    assert await slot_of(slots, "c") == b


async def test_a_slot_serves_one_at_a_time_and_the_line_is_first_come_first_served() -> None:
    slots = SlotQueue(1, waiting=3)
    order: list[str] = []

    async def turn(name: str) -> None:
        async with hold(slots, name):
            order.append(name)
            await asyncio.sleep(0)

    async with hold(slots, "first"):
        tasks = []
        for number, name in enumerate("abc"):
            tasks.append(asyncio.create_task(turn(name)))
            await until_queued(slots, number + 1)
        assert order == []
    await asyncio.gather(*tasks)
    assert order == ["a", "b", "c"]
    assert (slots.idle, len(slots._queue)) == (1, 0)


async def test_a_full_queue_refuses_at_once_and_is_retryable() -> None:
    slots = SlotQueue(1, waiting=2)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(hold(slots, "a"))
        tasks = [asyncio.create_task(slot_of(slots, name)) for name in "bc"]
        await until_queued(slots, 2)
        with pytest.raises(ProviderError) as caught:
            await slot_of(slots, "d")
    assert (caught.value.code, caught.value.retryable) == ("busy", True)
    await asyncio.gather(*tasks)
    assert slots.idle == 1


@pytest.mark.parametrize("handed_over", [False, True])
async def test_a_cancelled_waiter_loses_no_slot(handed_over: bool) -> None:
    slots = SlotQueue(1)
    async with hold(slots, "a"):
        waiter = asyncio.create_task(slot_of(slots, "b"))
        await until_queued(slots, 1)
        if not handed_over:
            waiter.cancel()
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert (slots.idle, len(slots._queue)) == (1, 0)


async def test_who_asks_again_for_a_conversation_waits_for_its_slot_and_takes_no_other() -> None:
    slots = SlotQueue(2)
    async with hold(slots, "a") as first:
        again = asyncio.create_task(slot_of(slots, "a"))
        await asyncio.sleep(0)
        assert slots.idle == 1 and not again.done()
    assert await again == first


async def test_only_its_own_slot_is_had_by_who_wants_no_other() -> None:
    slots = SlotQueue(1)
    assert await slots.take_own("a") is None
    own = await slot_of(slots, "a")
    assert await slots.take_own("a") == own and slots.idle == 0
    slots.give_back(own, "a")
    await slot_of(slots, "b")
    assert await slots.take_own("a") is None
    assert slots.idle == 1


async def test_a_waiter_cancelled_as_it_gets_a_slot_returns_it_to_its_conversation() -> None:
    slots = SlotQueue(2)
    async with hold(slots, "other"):
        own = await slots.take("a")
        waiting = asyncio.create_task(slots.take("b"))
        await until_queued(slots, 1)
        slots.give_back(own, "a")
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert await slots.take_own("a") == own
