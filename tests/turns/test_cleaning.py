"""Cleanups of a conversation on a model of this machine: in a turn, and on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from chatsite.conversations.models import Message as Row
from chatsite.errors import BadCommand, NotFound, Refused
from chatsite.kv_cache.cleanup_preview import CleanupOffer, CleanupPreview
from chatsite.turns.context.drafts import Draft
from chatsite.turns.context.turn_context import PageRequest
from tests.conversations.builders import BOB
from tests.turns.conftest import LocalScriptedProvider, World, reply_script

ONLY, HALF = "keepSystemPromptOnly", "keepSystemPromptAndHalf"
FIRST, LAST = "keepSystemPromptAndFirstUserMessage", "keepSystemPromptAndLastUserMessage"
OLDEST = "removeOldestMessages"
QUESTION, ANSWER = "how are you today", "I am well"


@pytest.fixture
def local_world(world: World) -> World:
    world.provider = LocalScriptedProvider()
    world.provider.script = reply_script(ANSWER)
    return world


def cleanup_preview(world: World) -> CleanupPreview:
    return CleanupPreview(drafts=world.turns.drafts)


async def talk(world: World, turns: int, query: str = "") -> PageRequest:
    page_request = replace(world.page_request(), query=query)
    for _ in range(turns):
        await world.run_turn(page_request, QUESTION)
    return page_request


async def offers(world: World, page_request: PageRequest) -> dict[str, CleanupOffer]:
    preview = await cleanup_preview(world).offers(page_request)
    assert preview.note == ""
    return {offer.name: offer for offer in preview.offers}


async def history_tokens(world: World, page_request: PageRequest) -> int:
    preview = await world.turns.drafts.preview(page_request, "")
    return sum(part["tokens"] for part in preview["parts"] if part["name"] == "history")


async def mark(page_request: PageRequest, turns: Sequence[int]) -> None:
    rows = Row.objects.filter(conversation__id=page_request.conversation, turn_seq__in=turns)
    await rows.aupdate(kv_status=-1)


async def test_each_strategy_says_what_it_would_unload_and_free(local_world: World) -> None:
    page_request = await talk(local_world, 4)
    tokens_before = await history_tokens(local_world, page_request)
    found = await offers(local_world, page_request)
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
        "tokens": tokens_before,
        "enough": True,
    }
    assert found[HALF].tokens * 2 == tokens_before


@pytest.mark.parametrize("strategy", [HALF, LAST])
async def test_a_cleanup_unloads_and_frees_what_its_offer_says(
    local_world: World, strategy: str
) -> None:
    page_request = await talk(local_world, 4)
    before = await history_tokens(local_world, page_request)
    offer = (await offers(local_world, page_request))[strategy]
    assert await cleanup_preview(local_world).choose(page_request, strategy) == offer.turns
    await mark(page_request, offer.turns)
    assert before - await history_tokens(local_world, page_request) == offer.tokens > 0
    assert not set(offer.turns) & set((await offers(local_world, page_request))[ONLY].turns)


@pytest.mark.parametrize("policy", ["lastN", "all", "tokens", "relevant"])
async def test_under_no_policy_older_messages_replace_the_unloaded_ones(
    local_world: World, policy: str
) -> None:
    page_request = await talk(local_world, 5, query="historyPolicy=lastN&historyLength=3")
    found = (await offers(local_world, page_request))[ONLY]
    assert found.turns == (1, 3, 5, 7, 9)
    assert found.tokens == await history_tokens(local_world, page_request)
    await mark(page_request, found.turns)
    assert (
        await history_tokens(local_world, replace(page_request, query=f"historyPolicy={policy}"))
        == 0
    )


async def test_a_cleanup_respects_the_marks_of_a_person(local_world: World) -> None:
    page_request = await talk(local_world, 4)
    rows = Row.objects.filter(conversation__id=page_request.conversation)
    await rows.filter(seq=2).aupdate(pinned=True)
    await rows.filter(seq=5).aupdate(excluded=True)
    await rows.filter(seq=7).aupdate(kv_status=0)
    assert (await offers(local_world, page_request))[ONLY].turns == (3,)


async def test_a_cleanup_is_offered_only_where_this_machine_has_a_cache(world: World) -> None:
    page_request = await talk(world, 1)
    found = await cleanup_preview(world).offers(page_request)
    assert (found.offers, found.cleanup.value) == ((), OLDEST)
    assert found.note.startswith("Not available for this model: ")
    with pytest.raises(Refused, match="Not available for this model"):
        await cleanup_preview(world).choose(page_request, ONLY)
    with pytest.raises(BadCommand, match="keepSystemPromptOnly was probably meant"):
        await cleanup_preview(world).choose(page_request, "keepsystempromptonly")
    with pytest.raises(NotFound):
        await cleanup_preview(world).offers(replace(page_request, owner=BOB))


class TestInATurn:
    async def full(self, world: World) -> PageRequest:
        """Four turns, and a window too small for a fifth."""
        page_request = await talk(world, 4)
        preview = await world.turns.drafts.preview(page_request, QUESTION)
        assert isinstance(world.provider, LocalScriptedProvider)
        world.provider.window = 2 * (preview["prompt_tokens"] - 1)  # half of it is the reply's
        return page_request

    async def test_the_agents_strategy_makes_room_and_the_preview_says_so(
        self, local_world: World
    ) -> None:
        local_world.fields = {"chatSettings": {"cacheCleanup": LAST}}
        page_request = await self.full(local_world)
        preview = await local_world.turns.drafts.preview(page_request, QUESTION)
        _, ended = await local_world.run_turn(page_request, QUESTION)
        for receipt in (preview, await local_world.receipt(ended)):
            cleanup = receipt["cleanup"]
            assert (cleanup["strategy"], cleanup["source"]) == (LAST, "template")
            assert cleanup["turns"] == [1, 3, 5]
            assert "3 older turns are unloaded" in receipt["notes"][0]
        sent = [message.content for message in local_world.provider.requests[-1].messages]
        assert sent[1:] == [QUESTION, ANSWER, QUESTION]

    async def test_the_environments_strategy_overrides_the_agents(self, local_world: World) -> None:
        local_world.fields = {"chatSettings": {"cacheCleanup": LAST}}
        page_request = await self.full(local_world)
        local_world.decider = decider = replace(local_world.decider, cache_cleanup=ONLY)
        context = local_world.context(page_request)
        decision = await local_world.turns.drafts.decide(context, Draft(text=QUESTION))
        assert decision.unloads == (1, 3, 5, 7)
        assert decider.cleanup(context.agent).to_dict()["source"] == "environment"

    async def test_with_a_remote_model_the_window_is_kept_by_the_guard_and_not_a_cleanup(
        self, local_world: World
    ) -> None:
        page_request = await self.full(local_world)
        local_world.provider.kind = "openai"
        preview = await local_world.turns.drafts.preview(page_request, QUESTION)
        assert preview["cleanup"] is None
        assert preview["cut"] is not None
