"""What a conversation's next request begins with is told to this machine's cache in advance."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from chatsite.conversations.models import Message as Row
from chatsite.conversations.upkeep import marks
from chatsite.events import Delta
from chatsite.messages import Message
from chatsite.turns.context.turn_context import TurnContext, TurnHooks
from chatsite.turns.what_if.trim_ahead import KEPT, TrimAhead
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
class Told:
    """What the cache was told, in order."""

    world: World
    conversations: list[str] = field(default_factory=list)
    messages: list[list[str | None]] = field(default_factory=list)
    in_slot: bool = True

    def __post_init__(self) -> None:
        turns = self.world.turns
        self.ahead = TrimAhead(
            drafts=turns.drafts, cache=self, running=turns.is_running, quiet=0.01
        )
        turns.hooks = TurnHooks(before=self.before, after=self.ahead.after_turn)

    def before(self, context: TurnContext) -> None:
        self.ahead.give_way(context.conversation)

    def can_trim(self, conversation: str) -> bool:
        return self.in_slot

    async def trim(self, conversation: str, messages: Sequence[Message]) -> None:
        self.conversations.append(conversation)
        assert messages[-1].content == ""
        self.messages.append([message.content for message in messages[:-1]])

    async def settled(self) -> None:
        while tasks := list(self.ahead._trimming.values()):
            await asyncio.wait(tasks)

    async def talk(self, *said: str, query: str = "") -> None:
        await self.talk_at_once(*said, query=query)
        await self.settled()

    async def talk_at_once(self, *said: str, query: str = "") -> None:
        """Nobody waits for what comes after the last turn."""
        self.asking = replace(self.world.asking(), query=query)
        for text in said:
            await self.world.say(self.asking, text)
            # Its end is told before what comes after it is begun.
            while self.world.turns.is_running(self.asking.conversation):  # noqa: ASYNC110
                await asyncio.sleep(0)

    async def next_begins_with(self) -> list[str | None]:
        await self.world.say(self.asking, "next")
        return [message.content for message in self.world.provider.requests[-1].messages[:-1]]


@pytest.fixture
def told(world: World) -> Told:
    world.provider = LocalScriptedProvider()
    world.provider.script = reply_script("I am well")
    return Told(world)


@pytest.mark.parametrize("policy", ["lastN", "all", "none", "tokens"])
async def test_it_is_what_the_next_request_will_begin_with(told: Told, policy: str) -> None:
    query = f"historyPolicy={policy}&historyLength=3&historyTokens=200"
    await told.talk("one", "two", "three", query=query)
    assert told.conversations[-1] == told.asking.conversation
    assert told.messages[-1] == await told.next_begins_with()
    assert "three" in told.messages[-1] or policy == "none"


async def test_messages_that_were_left_out_are_trimmed_without_another_turn(told: Told) -> None:
    await told.talk("one", "two")
    assert "one" in told.messages[-1]
    first = await Row.objects.aget(
        conversation__id=told.asking.conversation, seq__lt=2, role="user"
    )
    await told.world.run(marks.exclude_message, owner=ADA, message=str(first.id), on=True)
    told.ahead.changed(told.asking.conversation)
    await told.settled()
    assert "one" not in told.messages[-1] and "two" in told.messages[-1]
    assert told.messages[-1] == await told.next_begins_with()


async def test_a_question_that_comes_at_once_trims_by_itself(told: Told) -> None:
    told.ahead.quiet = 3_600
    await told.talk_at_once("one")
    [waiting] = told.ahead._trimming.values()
    told.world.provider.script = endless_script("and ")
    _, reader = await told.world.turns.snapshots.open(told.asking)
    await told.world.turns.send(told.asking, client_id=new_id(), text="two")
    while not isinstance(await reader.read(), Delta):
        pass
    assert waiting.cancelled() and told.ahead._trimming == {}
    await told.world.turns.stop(told.asking)
    await read_until_end(reader)


async def test_what_is_marked_while_an_answer_is_written_is_trimmed_after_it(told: Told) -> None:
    await told.talk("one")
    told.messages.clear()
    told.world.provider.script = endless_script("and ")
    _, reader = await told.world.turns.snapshots.open(told.asking)
    await told.world.turns.send(told.asking, client_id=new_id(), text="two")
    told.ahead.changed(told.asking.conversation)
    await told.settled()
    assert told.messages == []
    await told.world.turns.stop(told.asking)
    await read_until_end(reader)
    while not told.messages:  # noqa: ASYNC110 - another task's turn
        await asyncio.sleep(0.01)
    assert "two" in told.messages[-1]


async def test_nothing_is_decided_where_nothing_can_be_trimmed(told: Told) -> None:
    told.in_slot = False
    await told.talk("one")
    told.ahead.changed(told.asking.conversation)
    await told.settled()
    assert told.messages == []


async def test_the_last_sixteen_conversations_are_known(told: Told) -> None:
    for _ in range(KEPT + 2):
        await told.talk("one")
    assert len(told.ahead._last) == KEPT and told.asking.conversation in told.ahead._last


@pytest.mark.parametrize("policy", ["relevant", "strategy"])
async def test_where_the_next_words_decide_nothing_is_known_in_advance(
    told: Told, policy: str
) -> None:
    told.world.fields = {"chatSettings": {"historyPolicy": policy}}
    await told.talk("one")
    told.ahead.changed(told.asking.conversation)
    assert told.messages == [] and told.ahead._trimming == {}


async def test_another_machines_cache_isnt_ours_to_trim(world: World) -> None:
    world.provider = ScriptedProvider()
    world.provider.script = reply_script("I am well")
    told = Told(world)
    await told.talk("one", "two")
    assert told.messages == []


async def test_a_conversation_that_went_to_somebody_else_is_left_alone(told: Told) -> None:
    await told.talk("one")
    before = len(told.messages)
    context = told.ahead._last[told.asking.conversation]
    told.ahead._last[told.asking.conversation] = context.with_owner(BOB)
    told.ahead.changed(told.asking.conversation)
    await told.settled()
    assert len(told.messages) == before
