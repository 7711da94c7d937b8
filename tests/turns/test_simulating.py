"""A replay without a model gives the numbers that the real turns gave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chatsite.conversations.models import Message as Row
from chatsite.conversations.models import Turn
from chatsite.conversations.reads import loading
from chatsite.history import Everything
from chatsite.providers.base.model import Price
from chatsite.turns.context.turn_context import PageRequest
from chatsite.turns.evidence.recall import Recaller
from chatsite.turns.what_if.past_evidence import PathIndexReader, decider_of_path
from chatsite.turns.what_if.simulation import Replay, SimulationTotals
from tests.conversations.builders import ADA
from tests.turns.conftest import LocalScriptedProvider, World

TEXTS = [f"Question {number} about the quay and its {number} cranes." for number in range(7)]


async def replayed(world: World, asking: PageRequest, query: str) -> SimulationTotals:
    asking = replace(asking, query=query)
    decider, context = world.decider, world.context(asking)
    loaded = await world.run(
        loading.load_path, owner=ADA, conversation=asking.conversation, reach=Everything()
    )
    loaded = await decider.with_counts(context, loaded)
    said = PathIndexReader(loaded.transcript.entries)
    ticks: list[None] = []
    found = await Replay(
        decider=decider_of_path(decider, said, (), vectors=None),
        context=context,
        loaded=loaded,
        price=Price(0.15, 0.075, 0.60),
        at=said.move_to,
        tick=lambda: ticks.append(None),
    ).under(context.settings)
    assert len(ticks) == found.turns + found.too_large
    return found


@pytest.mark.parametrize(
    "query",
    [
        "historyPolicy=none",
        "historyPolicy=lastN&historyLength=3",
        "historyPolicy=all",
        "historyPolicy=tokens&historyTokens=150",
        "historyPolicy=relevant&historyTokens=150",
    ],
)
async def test_a_replay_gives_what_the_turns_really_had(world: World, query: str) -> None:
    gatherers: dict[str, Any] = {"lexical": Recaller(storage=world.storage)}
    world.decider = replace(world.decider, gatherers=gatherers)
    asking = replace(world.asking(), query=query)
    for text in TEXTS:
        await world.say(asking, text)
    turns = await world.run(lambda: list(Turn.objects.order_by("number")))
    given = [turn.receipt for turn in turns if turn.receipt]
    found = await replayed(world, asking, query)
    assert found.turns == len(given) == len(TEXTS)
    assert found.messages == sum(one["facts"]["sent"] for one in given)
    assert found.tokens == sum(one["prompt_tokens"] for one in given)
    assert found.leading == sum(one["leading"] for one in given)
    assert found.cost and found.cost > 0


async def test_cleanups_are_replayed_from_the_beginning_and_what_they_took_stays_out(
    world: World,
) -> None:
    world.provider = LocalScriptedProvider(window=320)
    world.fields = {"chatSettings": {"historyPolicy": "all", "historyLowWater": 40}}
    asking = world.asking()
    for text in TEXTS * 2:
        await world.say(asking, text)
    found = await replayed(world, asking, "")
    assert (found.turns, found.too_large) == (14, 0)
    assert 0 < found.noted < 5  # the turns in which a cleanup ran
    await world.run(lambda: Row.objects.update(kv_status=-1))
    assert await replayed(world, asking, "") == found
