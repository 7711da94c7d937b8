"""However answers end, whatever else happens meanwhile: each ends exactly once."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator

import pytest

from chatsite.conversations.models import Turn
from chatsite.errors import ProviderError
from chatsite.events import TurnEnded
from chatsite.providers.base.provider import Chunk, Finished, Request, TextPiece
from chatsite.turns.answer.feed import FeedReader
from chatsite.turns.context.turn_context import PageRequest
from chatsite.turns.running_turns import TurnLimits
from tests.conversations.builders import new_id
from tests.examples import some
from tests.turns.conftest import Script, World

AT_ONCE = 25
TURNS = some(500) // AT_ONCE * AT_ONCE


def any_script(chance: random.Random) -> Script:
    """A few words at any pace, then an end, a failure, a panic or nothing more."""
    words = chance.randrange(6)
    pause = chance.choice([0.0, 0.001, 0.01])
    end = chance.choice(["stop", "cut", "error", "surprise", "length", "silence"])

    async def script(request: Request) -> AsyncGenerator[Chunk, None]:
        for _ in range(words):
            await asyncio.sleep(pause)
            yield TextPiece("word ")
        if end == "error":
            raise ProviderError("The provider broke off.", code="unavailable")
        if end == "surprise":
            raise RuntimeError("nobody thought of this")
        if end == "silence":
            await asyncio.sleep(60)
        if end != "cut":
            yield Finished(reason="length" if end == "length" else "stop")

    return script


async def count_ends(reader: FeedReader, seconds: float = 20.0) -> list[TurnEnded]:
    """The events that end the turn: until there is one, and whatever comes right behind it."""
    ends: list[TurnEnded] = []
    while True:
        try:
            event = await asyncio.wait_for(reader.read(), 0.05 if ends else seconds)
        except TimeoutError:
            return ends
        ends += [event] if isinstance(event, TurnEnded) else []


async def one_turn(world: World, chance: random.Random, page_request: PageRequest) -> None:
    _, leaving = await world.turns.snapshots.open(page_request)
    _, staying = await world.turns.snapshots.open(page_request)
    await world.turns.send(page_request, client_id=new_id(), text="Hello")
    ends = asyncio.create_task(count_ends(staying))
    await asyncio.sleep(chance.choice([0.0, 0.001, 0.01]))
    leaving.close()
    await asyncio.wait({ends}, timeout=chance.choice([0.0, 0.001, 0.01, 0.3]))
    for _ in range(chance.randrange(1, 3)):
        await world.turns.stop(page_request.owner, page_request.conversation)
    assert len(await ends) == 1
    staying.close()


@pytest.mark.examples
@pytest.mark.slow
async def test_hundreds_of_turns_that_are_stopped_cut_and_left_end_once_each(world: World) -> None:
    chance = random.Random(15)
    world.turns.running.limits = TurnLimits(answers=AT_ONCE, per_owner=AT_ONCE)
    for _ in range(TURNS // AT_ONCE):
        requests = [world.page_request() for _ in range(AT_ONCE)]
        scripts = {request.conversation: any_script(chance) for request in requests}
        world.provider.script = lambda request, scripts=scripts: scripts[request.conversation](  # type: ignore[misc]
            request
        )
        await asyncio.gather(*(one_turn(world, chance, request) for request in requests))
    states = await asyncio.to_thread(lambda: Counter(Turn.objects.values_list("state", flat=True)))
    assert sum(states.values()) == TURNS
    assert set(states) <= {"complete", "stopped", "failed", "interrupted"}
    assert all(count > TURNS // 100 for count in states.values())
    assert not any(world.turns.is_running(request.conversation) for request in requests)
