"""A replay without a model gives the numbers that the real turns gave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chatsite.conversations.models import Message as Row
from chatsite.conversations.models import Turn
from chatsite.conversations.path import loading
from chatsite.history import Everything, show_receipt
from chatsite.providers.base.provider import Price
from chatsite.turns.context.turn_context import PageRequest
from chatsite.turns.evidence.recall import Recaller
from chatsite.turns.what_if.past_evidence import PathIndexReader, decider_of_path
from tests.commands.simulation import Replay, SimulationTotals
from tests.conversations.builders import ADA
from tests.quoted_talk import CAT, QUESTION, WEATHER
from tests.turns.conftest import LocalScriptedProvider, World

TEXTS = [f"Question {number} about the quay and its {number} cranes." for number in range(7)]


async def replay(world: World, page_request: PageRequest, query: str) -> SimulationTotals:
    page_request = replace(page_request, query=query)
    decider, context = world.decider, world.context(page_request)
    loaded = await loading.load_path(
        owner=ADA, conversation=page_request.conversation, reach=Everything()
    )
    loaded = await decider.with_counts(context, loaded)
    reader = PathIndexReader(loaded.transcript.entries)
    ticks: list[None] = []
    found = await Replay(
        decider=decider_of_path(decider, reader, (), vectors=None),
        context=context,
        loaded=loaded,
        price=Price(0.15, 0.075, 0.60),
        at=reader.move_to,
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
async def test_a_replay_gives_the_figures_of_the_real_turns(world: World, query: str) -> None:
    gatherers: dict[str, Any] = {"lexical": Recaller()}
    world.decider = replace(world.decider, gatherers=gatherers)
    page_request = replace(world.page_request(), query=query)
    for text in TEXTS:
        await world.run_turn(page_request, text)
    turns = await world.run(lambda: list(Turn.objects.order_by("number")))
    receipts = [show_receipt(turn.receipt) for turn in turns if turn.receipt]
    found = await replay(world, page_request, query)
    assert found.turns == len(receipts) == len(TEXTS)
    assert found.messages == sum(one["facts"]["sent"] for one in receipts)
    assert found.tokens == sum(one["prompt_tokens"] for one in receipts)
    assert found.leading == sum(one["leading"] for one in receipts)
    assert found.cost and found.cost > 0


async def test_a_replay_keeps_the_quotes_that_its_own_requests_made(world: World) -> None:
    gatherers: dict[str, Any] = {"lexical": Recaller()}
    world.decider = replace(world.decider, gatherers=gatherers)
    query = "historyPolicy=relevant&historyTokens=2000"
    page_request = replace(world.page_request(), query=query)
    weather = [f"Of {what}: " + f"the {what} came down. " * 30 for what in WEATHER]
    for text in (CAT, *weather, QUESTION, "Good, thank you", "And that was all"):
        await world.run_turn(page_request, text)
    turns = await world.run(lambda: list(Turn.objects.order_by("number")))
    receipts = [show_receipt(turn.receipt) for turn in turns if turn.receipt]
    place = 2 * len(weather) + 3
    for receipt in receipts[-2:]:
        assert any(one["quoted"] and one["before"] == place for one in receipt["verdicts"])
    found = await replay(world, page_request, query)
    assert found.messages == sum(one["facts"]["sent"] for one in receipts)
    assert found.tokens == sum(one["prompt_tokens"] for one in receipts)
    assert found.leading == sum(one["leading"] for one in receipts)


async def test_cleanups_are_replayed_from_the_start_and_unloaded_turns_stay_out(
    world: World,
) -> None:
    world.provider = LocalScriptedProvider(window=320)
    world.fields = {"chatSettings": {"historyPolicy": "all", "historyLowWater": 40}}
    page_request = world.page_request()
    for text in TEXTS * 2:
        await world.run_turn(page_request, text)
    found = await replay(world, page_request, "")
    assert (found.turns, found.too_large) == (14, 0)
    assert 0 < found.noted < 5  # the turns in which a cleanup ran
    await world.run(lambda: Row.objects.update(kv_status=-1))
    assert await replay(world, page_request, "") == found
