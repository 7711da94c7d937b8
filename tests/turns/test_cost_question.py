"""The price before: what the next message would cost, and the question before a dear one."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from chatsite.conversations.models import Conversation, Turn
from chatsite.conversations.models import Message as Row
from chatsite.conversations.turn.receipts import cost_since
from chatsite.errors import CostsMore
from chatsite.history.receipts.cache_miss import CacheRules
from chatsite.history.token_estimate import tokens_of
from chatsite.providers.base.provider import (
    Chunk,
    Finished,
    Model,
    Price,
    Request,
    TextPiece,
    Usage,
)
from chatsite.turns.context.turn_context import Contexts, PageRequest
from chatsite.turns.what_if.comparison import PolicyComparison
from chatsite.turns.what_if.cost_question import CostQuestion
from tests.conversations.builders import ADA, BOB, new_id
from tests.turns.conftest import ScriptedProvider, World

# A cent for a thousand tokens that are sent, and five for a thousand that are answered.
PRICE = Price(input=10.0, cached=1.0, output=50.0)
LONG = "word " * 3_000
EVERYTHING = "historyPolicy=all"


class PricedProvider(ScriptedProvider):
    def model(self, name: str | None) -> Model:
        return replace(super().model(name), price=PRICE, window=200_000)


async def answered(request: Request) -> AsyncGenerator[Chunk, None]:
    """Reports as many tokens as were counted, and an answer of a hundred."""
    yield TextPiece("Noted.")
    prompt = sum(map(tokens_of, request.messages))
    yield Finished(reason="stop", usage=Usage(prompt=prompt, cached=0, completion=100))


async def unreported(request: Request) -> AsyncGenerator[Chunk, None]:
    yield TextPiece("Noted.")
    yield Finished(reason="stop")


@pytest.fixture
def priced(world: World) -> World:
    world.provider = PricedProvider()
    world.provider.script = answered
    return world


def question(world: World, message: float | None = 0.02, day: float | None = None) -> CostQuestion:
    return CostQuestion(PolicyComparison(drafts=world.turns.drafts), message, day)


async def asked(found: CostQuestion, request: PageRequest, text: str) -> dict[str, Any]:
    with pytest.raises(CostsMore) as refused:
        await found.ask(request, new_id(), text)
    assert refused.value.code == "costs_more"
    return dict(refused.value.costs)


async def test_a_preview_says_what_the_next_message_would_cost(priced: World) -> None:
    page_request = replace(priced.page_request(), query=EVERYTHING)
    preview = priced.turns.drafts.preview
    first = await preview(page_request, "Hello")
    assert first["price"]["answer"] is None
    assert first["price"]["low"] == first["price"]["high"] > 0
    await priced.run_turn(page_request, LONG)
    then = await preview(page_request, "Hello")
    assert then["price"]["answer"] == pytest.approx(100 * 50e-6)
    assert then["price"]["low"] < then["price"]["high"]
    kept = lambda server, model: CacheRules(kept=(300, 600))  # noqa: E731
    sure = await replace(priced.turns.drafts, cache_facts=kept).preview(page_request, "Hello")
    assert sure["price"]["high"] == sure["price"]["low"] == pytest.approx(then["price"]["low"])


async def test_without_a_known_price_nothing_is_said_and_nothing_asked(world: World) -> None:
    page_request = world.page_request()
    assert (await world.turns.drafts.preview(page_request, "Hello"))["price"] is None
    await question(world, 0.000001, 0.000001).ask(page_request, new_id(), LONG)


async def test_only_what_costs_more_than_the_limit_is_asked_about(priced: World) -> None:
    page_request = priced.page_request()
    await question(priced).ask(page_request, new_id(), "Hello")
    await question(priced, None).ask(page_request, new_id(), LONG)
    costs = await asked(question(priced), page_request, LONG)
    assert costs["price"]["high"] > 0.02
    assert costs["price"]["part"] == "current"
    assert costs["spent"] is None
    assert costs["cheaper"] is None, "a first message costs the same under every policy"


async def test_nothing_is_stored_and_no_model_asked_before_the_answer(priced: World) -> None:
    await asked(question(priced), priced.page_request(), LONG)
    stored = lambda: (Conversation.objects.count(), Row.objects.count())  # noqa: E731
    assert await priced.run(stored) == (0, 0)
    assert not priced.provider.requests


async def test_a_message_that_is_stored_already_is_not_asked_about(priced: World) -> None:
    page_request = priced.page_request()
    client_id = new_id()
    await priced.turns.send(page_request, client_id=client_id, text=LONG)
    await priced.turns.ended(page_request.conversation, client_id)
    await question(priced).ask(page_request, client_id, LONG)
    again = await priced.turns.send(page_request, client_id=client_id, text=LONG)
    assert again.resent


async def test_the_cheaper_policy_holds_for_one_message_alone(priced: World) -> None:
    page_request = replace(priced.page_request(), history={"historyPolicy": "all"})
    for text in (LONG, LONG, "Short."):
        await priced.run_turn(page_request, text)
    costs = await asked(question(priced), page_request, "And now?")
    assert costs["price"]["part"] == "earlier"
    cheaper = costs["cheaper"]
    assert cheaper["once"]["historyPolicy"] == "none"
    assert cheaper["words"]
    assert cheaper["price"]["high"] <= 0.02 < costs["price"]["high"]
    _, ended = await priced.run_turn(replace(page_request, once=cheaper["once"]), "And now?")
    assert (await priced.receipt(ended))["facts"]["policy"] == "none"
    assert len(priced.provider.requests[-1].messages) == 2
    kept = lambda: Conversation.objects.get().history  # noqa: E731
    assert await priced.run(kept) == {"historyPolicy": "all"}
    _, ended = await priced.run_turn(page_request, "And then?")
    assert (await priced.receipt(ended))["facts"]["policy"] == "all"


async def test_a_first_message_may_be_sent_with_another_policy_and_keeps_the_choice(
    priced: World,
) -> None:
    page_request = replace(priced.page_request(), history={"historyPolicy": "all"})
    once = replace(page_request, once={"historyPolicy": "none"})
    _, ended = await priced.run_turn(once, "Hello")
    assert (await priced.receipt(ended))["facts"]["policy"] == "none"
    kept = lambda: Conversation.objects.get().history  # noqa: E731
    assert await priced.run(kept) == {"historyPolicy": "all"}


async def test_where_the_administrator_decides_no_cheaper_policy_is_offered(priced: World) -> None:
    page_request = priced.page_request()
    for text in (LONG, "Short."):
        await priced.run_turn(page_request, text)
    locked = Contexts(environment={"HISTORY_POLICY": "all"}, resolve_agent=priced.resolve_agent)
    drafts = replace(priced.turns.drafts, contexts=locked)
    found = CostQuestion(PolicyComparison(drafts=drafts), 0.02)
    assert (await asked(found, page_request, "And now?"))["cheaper"] is None


async def test_a_day_has_a_limit_for_each_person(priced: World) -> None:
    found = question(priced, 1.0, 0.09)
    for page_request in (priced.page_request(), priced.page_request()):
        await found.ask(page_request, new_id(), LONG)
        await priced.run_turn(page_request, LONG)
    spent = await cost_since(owner=ADA, since=timezone.now() - timedelta(hours=1))
    assert 0.06 < spent < 0.09
    new = priced.page_request()
    costs = await asked(found, new, LONG)
    assert costs["spent"] == pytest.approx(spent)
    assert costs["price"]["high"] < 1.0
    await found.ask(replace(new, owner=BOB), new_id(), LONG)
    yesterday = timezone.now() - timedelta(days=1)
    await priced.run(lambda: Turn.objects.update(ended=yesterday))
    await found.ask(new, new_id(), LONG)


async def test_a_day_adds_up_all_answers_of_a_person_whose_price_is_known(priced: World) -> None:
    since = timezone.now() - timedelta(hours=1)
    assert await cost_since(owner=ADA, since=since) == 0
    page_request = priced.page_request()
    ends = [await priced.run_turn(one) for one in (page_request, priced.page_request())]
    costs = [(await priced.receipt(ended))["reported"]["cost"] for _, ended in ends]
    assert all(costs)
    assert await cost_since(owner=ADA, since=since) == pytest.approx(sum(costs))
    assert await cost_since(owner=BOB, since=since) == 0
    priced.provider.script = unreported
    await priced.run_turn(page_request)
    assert await cost_since(owner=ADA, since=since) == pytest.approx(sum(costs))
