"""Cleanups of a conversation on a model of this machine: in a turn, and on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from chatsite.conversations.models import Message as Row
from chatsite.errors import BadCommand, NotFound, Refused
from chatsite.turns.context.drafts import Draft
from chatsite.turns.context.turn_context import PageRequest
from chatsite.turns.what_if.cleanup_preview import CleanupOffer, CleanupPreview
from tests.conversations.builders import BOB
from tests.turns.conftest import LocalScriptedProvider, World, reply_script

ONLY, HALF = "keepSystemPromptOnly", "keepSystemPromptAndHalf"
FIRST, LAST = "keepSystemPromptAndFirstUserMessage", "keepSystemPromptAndLastUserMessage"
OLDEST = "removeOldestMessages"
QUESTION, ANSWER = "how are you today", "I am well"


@pytest.fixture
def here(world: World) -> World:
    world.provider = LocalScriptedProvider()
    world.provider.script = reply_script(ANSWER)
    return world


def cleaning(world: World) -> CleanupPreview:
    return CleanupPreview(storage=world.storage, drafts=world.turns.drafts)


async def talk(world: World, turns: int, query: str = "") -> PageRequest:
    asking = replace(world.asking(), query=query)
    for _ in range(turns):
        await world.say(asking, QUESTION)
    return asking


async def offers(world: World, asking: PageRequest) -> dict[str, CleanupOffer]:
    found = await cleaning(world).offers(asking)
    assert found.note == ""
    return {offer.name: offer for offer in found.offers}


async def history_tokens(world: World, asking: PageRequest) -> int:
    seen = await world.turns.drafts.preview(asking, "")
    return sum(part["tokens"] for part in seen["parts"] if part["name"] == "history")


async def mark(asking: PageRequest, turns: Sequence[int]) -> None:
    rows = Row.objects.filter(conversation__id=asking.conversation, turn_seq__in=turns)
    await rows.aupdate(kv_status=-1)


async def test_each_strategy_says_what_it_would_unload_and_free(here: World) -> None:
    asking = await talk(here, 4)
    whole = await history_tokens(here, asking)
    found = await offers(here, asking)
    assert {name: offer.turns for name, offer in found.items()} == {
        ONLY: (1, 3, 5, 7),
        HALF: (1, 3),
        FIRST: (3, 5, 7),
        LAST: (1, 3, 5),
        OLDEST: (),
    }
    assert found[ONLY].to_dict() == {
        "name": ONLY,
        "words": "Keep only the instructions",
        "turns": 4,
        "messages": 8,
        "tokens": whole,
        "enough": True,
    }
    assert found[HALF].tokens * 2 == whole


@pytest.mark.parametrize("strategy", [HALF, LAST])
async def test_what_was_offered_is_what_happens(here: World, strategy: str) -> None:
    asking = await talk(here, 4)
    before = await history_tokens(here, asking)
    offer = (await offers(here, asking))[strategy]
    assert await cleaning(here).choose(asking, strategy) == offer.turns
    await mark(asking, offer.turns)
    assert before - await history_tokens(here, asking) == offer.tokens > 0
    assert not set(offer.turns) & set((await offers(here, asking))[ONLY].turns)


@pytest.mark.parametrize("policy", ["lastN", "all", "tokens", "relevant"])
async def test_no_policy_sends_something_older_instead(here: World, policy: str) -> None:
    asking = await talk(here, 5, query="historyPolicy=lastN&historyLength=3")
    found = (await offers(here, asking))[ONLY]
    assert found.turns == (1, 3, 5, 7, 9)
    assert found.tokens == await history_tokens(here, asking)
    await mark(asking, found.turns)
    assert await history_tokens(here, replace(asking, query=f"historyPolicy={policy}")) == 0


async def test_marks_of_a_person_are_heeded(here: World) -> None:
    asking = await talk(here, 4)
    rows = Row.objects.filter(conversation__id=asking.conversation)
    await rows.filter(seq=2).aupdate(pinned=True)
    await rows.filter(seq=5).aupdate(excluded=True)
    await rows.filter(seq=7).aupdate(kv_status=0)
    assert (await offers(here, asking))[ONLY].turns == (3,)


async def test_only_who_has_a_cache_here_is_offered_a_cleanup(world: World) -> None:
    asking = await talk(world, 1)
    found = await cleaning(world).offers(asking)
    assert (found.offers, found.cleanup.value) == ((), OLDEST)
    assert found.note.startswith("Not available for this model: ")
    with pytest.raises(Refused, match="Not available for this model"):
        await cleaning(world).choose(asking, ONLY)
    with pytest.raises(BadCommand, match="keepSystemPromptOnly was probably meant"):
        await cleaning(world).choose(asking, "keepsystempromptonly")
    with pytest.raises(NotFound):
        await cleaning(world).offers(replace(asking, owner=BOB))


class TestInATurn:
    async def full(self, world: World) -> PageRequest:
        """Four turns, and so small a window that a fifth has no room."""
        asking = await talk(world, 4)
        seen = await world.turns.drafts.preview(asking, QUESTION)
        assert isinstance(world.provider, LocalScriptedProvider)
        world.provider.window = 2 * (seen["prompt_tokens"] - 1)  # half of it is the reply's
        return asking

    async def test_the_agents_strategy_makes_room_and_the_preview_says_so(
        self, here: World
    ) -> None:
        here.fields = {"chatSettings": {"cacheCleanup": LAST}}
        asking = await self.full(here)
        seen = await here.turns.drafts.preview(asking, QUESTION)
        _, ended = await here.say(asking, QUESTION)
        assert ended.receipt is not None
        for receipt in (seen, ended.receipt):
            cleanup = receipt["cleanup"]
            assert (cleanup["strategy"], cleanup["source"]) == (LAST, "template")
            assert cleanup["turns"] == [1, 3, 5]
            assert "3 older turns are unloaded" in receipt["notes"][0]
        sent = [message.content for message in here.provider.requests[-1].messages]
        assert sent[1:] == [QUESTION, ANSWER, QUESTION]

    async def test_the_environment_is_above_the_agent(self, here: World) -> None:
        here.fields = {"chatSettings": {"cacheCleanup": LAST}}
        asking = await self.full(here)
        here.decider = decider = replace(here.decider, cache_cleanup=ONLY)
        context = here.context(asking)
        decision = await here.turns.drafts.decide(context, Draft(text=QUESTION))
        assert decision.unloads == (1, 3, 5, 7)
        assert decider.cleanup(context.agent).to_dict()["source"] == "environment"

    async def test_another_model_than_that_of_this_machine_leaves_it_to_the_guard(
        self, here: World
    ) -> None:
        asking = await self.full(here)
        here.provider.kind = "openai"
        seen = await here.turns.drafts.preview(asking, QUESTION)
        assert seen["cleanup"] is None
        assert seen["cut"] is not None
