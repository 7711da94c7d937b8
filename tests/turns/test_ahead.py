"""The cache of this machine is trimmed in advance to the beginning of the next request."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from chatsite.conversations import lifecycle
from chatsite.conversations.models import Message as Row
from chatsite.conversations.path import marks
from chatsite.events import Delta
from chatsite.kv_cache.trim_ahead import KEPT, TrimAhead
from chatsite.messages import Message
from chatsite.turns.context.turn_context import TurnContext, TurnHooks
from tests.conversations.builders import ADA, BOB, new_id
from tests.turns.conftest import (
    LocalScriptedProvider,
    ScriptedProvider,
    World,
    endless_script,
    read_until_end,
    reply_script,
)


@dataclass
class CacheRecorder:
    """A fake cache that records, in order, the messages that it was asked to keep."""

    world: World
    conversations: list[str] = field(default_factory=list)
    messages: list[list[str | None]] = field(default_factory=list)
    in_slot: bool = True

    def __post_init__(self) -> None:
        turns = self.world.turns
        self.ahead = TrimAhead(
            drafts=turns.drafts, cache=self, running=turns.is_running, quiet=0.01
        )
        turns.hooks = TurnHooks(before=self.before_turn, after=self.ahead.after_turn)

    def before_turn(self, context: TurnContext) -> None:
        self.ahead.give_way(context.conversation)

    def can_trim(self, conversation: str) -> bool:
        return self.in_slot

    async def trim(self, conversation: str, messages: Sequence[Message]) -> None:
        self.conversations.append(conversation)
        assert messages[-1].content == ""
        self.messages.append([message.content for message in messages[:-1]])

    async def wait_for_trims(self) -> None:
        while tasks := list(self.ahead._trimming.values()):
            await asyncio.wait(tasks)

    async def talk(self, *texts: str, query: str = "") -> None:
        await self.talk_at_once(*texts, query=query)
        await self.wait_for_trims()

    async def talk_at_once(self, *texts: str, query: str = "") -> None:
        """Run the turns without waiting for the trim after the last one."""
        self.page_request = replace(self.world.page_request(), query=query)
        for text in texts:
            await self.world.run_turn(self.page_request, text)
            # Pages learn of a turn's end before the hooks that run after it are started.
            while self.world.turns.is_running(self.page_request.conversation):  # noqa: ASYNC110
                await asyncio.sleep(0)

    async def next_begins_with(self) -> list[str | None]:
        await self.world.run_turn(self.page_request, "next")
        return [message.content for message in self.world.provider.requests[-1].messages[:-1]]


@pytest.fixture
def cache(world: World) -> CacheRecorder:
    world.provider = LocalScriptedProvider()
    world.provider.script = reply_script("I am well")
    return CacheRecorder(world)


@pytest.mark.parametrize("policy", ["lastN", "all", "none", "tokens"])
async def test_the_cache_is_trimmed_to_the_beginning_of_the_next_request(
    cache: CacheRecorder, policy: str
) -> None:
    query = f"historyPolicy={policy}&historyLength=3&historyTokens=200"
    await cache.talk("one", "two", "three", query=query)
    assert cache.conversations[-1] == cache.page_request.conversation
    assert cache.messages[-1] == await cache.next_begins_with()
    assert "three" in cache.messages[-1] or policy == "none"


async def test_messages_that_were_left_out_are_trimmed_without_another_turn(
    cache: CacheRecorder,
) -> None:
    await cache.talk("one", "two")
    assert "one" in cache.messages[-1]
    first = await Row.objects.aget(
        conversation__id=cache.page_request.conversation, seq__lt=2, role="user"
    )
    await marks.exclude_message(owner=ADA, message=str(first.id), on=True)
    cache.ahead.changed(cache.page_request.conversation)
    await cache.wait_for_trims()
    assert "one" not in cache.messages[-1] and "two" in cache.messages[-1]
    assert cache.messages[-1] == await cache.next_begins_with()


async def test_a_choice_for_the_conversation_is_trimmed_to_without_another_turn(
    cache: CacheRecorder,
) -> None:
    await cache.talk("one", "two", "three")
    assert "one" in cache.messages[-1]
    id = cache.page_request.conversation
    choice = {"historyLength": "2"}
    await lifecycle.choose_history(owner=ADA, conversation=id, history=choice)
    cache.ahead.changed(id)
    await cache.wait_for_trims()
    assert "one" not in cache.messages[-1] and "three" in cache.messages[-1]
    assert cache.messages[-1] == await cache.next_begins_with()


async def test_a_question_sent_at_once_cancels_the_waiting_trim(cache: CacheRecorder) -> None:
    cache.ahead.quiet = 3_600
    await cache.talk_at_once("one")
    [waiting] = cache.ahead._trimming.values()
    cache.world.provider.script = endless_script("and ")
    _, reader = await cache.world.turns.snapshots.open(cache.page_request)
    await cache.world.turns.send(cache.page_request, client_id=new_id(), text="two")
    while not isinstance(await reader.read(), Delta):
        pass
    assert waiting.cancelled() and cache.ahead._trimming == {}
    await cache.world.turns.stop(cache.page_request.owner, cache.page_request.conversation)
    await read_until_end(reader)


async def test_a_mark_set_while_an_answer_is_written_is_trimmed_after_the_answer(
    cache: CacheRecorder,
) -> None:
    await cache.talk("one")
    cache.messages.clear()
    cache.world.provider.script = endless_script("and ")
    _, reader = await cache.world.turns.snapshots.open(cache.page_request)
    await cache.world.turns.send(cache.page_request, client_id=new_id(), text="two")
    cache.ahead.changed(cache.page_request.conversation)
    await cache.wait_for_trims()
    assert cache.messages == []
    await cache.world.turns.stop(cache.page_request.owner, cache.page_request.conversation)
    await read_until_end(reader)
    while not cache.messages:  # noqa: ASYNC110 - another task's turn
        await asyncio.sleep(0.01)
    assert "two" in cache.messages[-1]


async def test_nothing_is_decided_where_nothing_can_be_trimmed(cache: CacheRecorder) -> None:
    cache.in_slot = False
    await cache.talk("one")
    cache.ahead.changed(cache.page_request.conversation)
    await cache.wait_for_trims()
    assert cache.messages == []


async def test_only_the_last_sixteen_conversations_are_remembered(cache: CacheRecorder) -> None:
    for _ in range(KEPT + 2):
        await cache.talk("one")
    assert len(cache.ahead._last) == KEPT and cache.page_request.conversation in cache.ahead._last


@pytest.mark.parametrize("policy", ["relevant", "strategy"])
async def test_a_policy_that_depends_on_the_next_message_trims_nothing_in_advance(
    cache: CacheRecorder, policy: str
) -> None:
    cache.world.fields = {"chatSettings": {"historyPolicy": policy}}
    await cache.talk("one")
    cache.ahead.changed(cache.page_request.conversation)
    assert cache.messages == [] and cache.ahead._trimming == {}


async def test_the_cache_of_another_machine_is_not_trimmed(world: World) -> None:
    world.provider = ScriptedProvider()
    world.provider.script = reply_script("I am well")
    cache = CacheRecorder(world)
    await cache.talk("one", "two")
    assert cache.messages == []


async def test_a_conversation_that_moved_to_another_owner_is_not_trimmed(
    cache: CacheRecorder,
) -> None:
    await cache.talk("one")
    before_turn = len(cache.messages)
    context = cache.ahead._last[cache.page_request.conversation]
    cache.ahead._last[cache.page_request.conversation] = context.with_owner(BOB)
    cache.ahead.changed(cache.page_request.conversation)
    await cache.wait_for_trims()
    assert len(cache.messages) == before_turn
