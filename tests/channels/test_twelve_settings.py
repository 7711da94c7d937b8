"""The twelve settings of a conversation act in rooms and by mail alike."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from chatsite.agents.template_file import parse_template
from chatsite.channels.channel import Question
from chatsite.channels.desk import Desk
from chatsite.cluster.presence import Presence
from chatsite.conversations.models import Message
from chatsite.conversations.path.added_messages import add_message
from chatsite.history.policies.triage import TRIAGE
from chatsite.history.settings.table import CONVERSATION_ROWS
from chatsite.limits.limiter import Limiter
from chatsite.messages import Source
from chatsite.providers.base.provider import Provider
from chatsite.turns.agents.resolved_agent import ResolvedAgent, missing_agent, resolve_agent
from chatsite.turns.answer.feed import ConversationFeeds
from chatsite.turns.context.decider import Decider
from chatsite.turns.context.turn_context import Contexts, PageRequest, Room
from chatsite.turns.evidence.triage import Triager
from chatsite.turns.running_turns import TurnLimits
from chatsite.turns.turns import Turns
from tests.conversations.builders import ADA, new_id
from tests.fakes.openai_provider import provider_at
from tests.fakes.openai_server import FakeOpenAI
from tests.turns.conftest import World

pytestmark = pytest.mark.asyncio

TURNS = 9
NOTE = "It will rain at noon."
NOBODY = '{"relevant": []}'


@pytest.fixture(scope="module")
def shared() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as running:
        yield running


@pytest.fixture
def fake(shared: FakeOpenAI) -> FakeOpenAI:
    shared.script.clear()
    shared.requests.clear()
    return shared


@dataclass
class Held:
    """A conversation that is held over a channel. Its settings stand in the room's file, or in the
    agent's template where it is held by mail."""

    world: World
    provider: Provider
    fake: FakeOpenAI
    source: Source
    conversation: str = field(default_factory=new_id)

    def _chat(self, conversation: Mapping[str, Any]) -> dict[str, Any]:
        policy = {"historyPolicy": "relevant", "historySelector": "triage"}
        return {**policy, "conversation": dict(conversation)}

    def desk(self, chat: Mapping[str, Any]) -> Desk:
        described = {"name": "Memo", "personality": "", "nodes": ["llm.openai"]}
        template = parse_template("demo", {**described, "chatSettings": dict(chat)})

        def resolve(agent: str, model: str = "", *, staff: bool = False) -> ResolvedAgent:
            return resolve_agent(template, {"openai": self.provider})

        turns = Turns(
            presence=Presence(),
            contexts=Contexts(environment={}, resolve_agent=resolve),
            decider=Decider(gatherers={TRIAGE.evidence: Triager()}),
            describe=lambda slug, *, staff: missing_agent(slug),
            limits=TurnLimits(answers=5, per_owner=5),
            feeds=ConversationFeeds(),
        )
        return Desk(turns=turns, limiter=Limiter(now=time.monotonic))

    async def ask(
        self, text: str, *script: str, conversation: Mapping[str, Any]
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """The requests to the fast model, and the texts that the model got after its instructions,
        without the speaker's name."""
        chat, before = self._chat(conversation), len(self.fake.requests)
        room = Room(name="Quay", settings=chat) if self.source == "talk" else None
        self.fake.script.extend(script)
        request = PageRequest(
            owner=ADA, conversation=self.conversation, agent="demo", query="", room=room
        )
        question = Question(
            request=request,
            client_id=new_id(),
            text=text,
            source=self.source,
            speaker="Grace" if room else "",
        )

        async def nothing(turn: str) -> None:
            return None

        desk = self.desk({} if room else chat)
        answer = await desk.answer(question, nothing)
        assert answer.state == "complete", answer
        *asked, request_sent = self.fake.requests[before:]
        sent = [message["content"] for message in request_sent["messages"]]
        return asked, [text.removeprefix("Grace: ") for text in sent]

    async def begin(self) -> None:
        """Nine turns, of which the first four are a day old."""
        for number in range(1, TURNS + 1):
            await self.ask(
                f"question {number}", f"the long answer {number}", conversation={"enabled": False}
            )
        old = Message.objects.filter(conversation=UUID(self.conversation), seq__lte=8)
        yesterday = timezone.now() - timedelta(days=1)
        await sync_to_async(old.update)(created=yesterday)

    async def note(self) -> None:
        await add_message(conversation=self.conversation, source="briefing", text=NOTE)


@pytest.fixture(params=["talk", "email"])
async def held(request: pytest.FixtureRequest, world: World, fake: FakeOpenAI) -> Any:
    provider = provider_at(fake.base_url)
    found = Held(world=world, provider=provider, fake=fake, source=request.param)
    await found.begin()
    yield found
    await provider.aclose()


def numbers(sent: list[str]) -> list[int]:
    return [int(text.split()[-1]) for text in sent if text.startswith("question")]


def positions(asked: list[dict[str, Any]]) -> int:
    """How many turns the fast model chose from."""
    (question,) = asked
    return sum(f"\n[{place}]" in f"\n{question['messages'][1]['content']}" for place in range(20))


async def enabled(held: Held) -> None:
    asked, sent = await held.ask("Now?", "Ok.", conversation={"enabled": False})
    assert asked == [] and sent == ["Now?"]


async def lookback_count(held: Held) -> None:
    asked, sent = await held.ask("Now?", "Ok.", conversation={"lookback_count": 2})
    assert asked == [] and numbers(sent) == [8, 9]


async def context_recency_hours(held: Held) -> None:
    within = {"context_recency_hours": 2, "context_min_messages": 0}
    asked, sent = await held.ask("Now?", "Ok.", conversation=within)
    assert asked == [] and numbers(sent) == [5, 6, 7, 8, 9]


async def context_min_messages(held: Held) -> None:
    within = {"context_recency_hours": 2, "context_min_messages": 7, "use_selection": False}
    _, sent = await held.ask("Now?", "Ok.", conversation=within)
    assert numbers(sent) == [3, 4, 5, 6, 7, 8, 9]


async def skip_selection_threshold(held: Held) -> None:
    asked, sent = await held.ask("Now?", "Ok.", conversation={"skip_selection_threshold": 9})
    assert asked == [] and numbers(sent) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


async def always_include_recent(held: Held) -> None:
    recent = {"always_include_recent": 2}
    asked, sent = await held.ask("Now?", NOBODY, "Ok.", conversation=recent)
    assert positions(asked) == 7 and numbers(sent) == [8, 9]


async def use_selection(held: Held) -> None:
    asked, sent = await held.ask("Now?", "Ok.", conversation={"use_selection": False})
    assert asked == [] and len(numbers(sent)) == 9


async def selection_model(held: Held) -> None:
    named = {"selection_model": "tiny-judge"}
    asked, sent = await held.ask("Now?", NOBODY, "Ok.", conversation=named)
    assert asked[0]["model"] == "tiny-judge" and numbers(sent) == [5, 6, 7, 8, 9]


async def selection_timeout(held: Held) -> None:
    """After it nothing is left out: a failing selection never loses context without a word."""
    hurried = {"selection_timeout": 0.2}
    asked, sent = await held.ask("Now?", "[[mode=hang0]]", "Ok.", conversation=hurried)
    assert len(asked) == 1 and len(numbers(sent)) == 9


async def context_truncation(held: Held) -> None:
    cut = {"context_truncation": 8, "use_selection": False}
    _, sent = await held.ask("Now?", "Ok.", conversation=cut)
    assert sum("the long" in text and "shortened" in text for text in sent) == 9
    assert len(numbers(sent)) == 9, "what people wrote stays whole"


async def previous_tasks_count(held: Held) -> None:
    """Output of tasks in the background is in no context but as a note to the next message."""
    await held.note()
    _, sent = await held.ask("Now?", NOBODY, "Ok.", conversation={"previous_tasks_count": 0})
    assert not any(NOTE in text for text in sent)
    await held.note()
    _, sent = await held.ask("And?", NOBODY, "Ok.", conversation={"previous_tasks_count": 1})
    assert sum(NOTE in text for text in sent) == 1 and NOTE not in sent


async def talk_context_limit(held: Held) -> None:
    """In rooms alone: by mail the whole thread is read."""
    limit = {"talk_context_limit": 5, "use_selection": False}
    _, sent = await held.ask("Now?", "Ok.", conversation=limit)
    assert numbers(sent) == ([8, 9] if held.source == "talk" else [1, 2, 3, 4, 5, 6, 7, 8, 9])


CHECKS: dict[str, Callable[[Held], Awaitable[None]]] = {
    check.__name__: check
    for check in (
        *(enabled, lookback_count, context_recency_hours, context_min_messages),
        *(skip_selection_threshold, always_include_recent, use_selection, selection_model),
        *(selection_timeout, context_truncation, previous_tasks_count, talk_context_limit),
    )
}


@pytest.mark.parametrize("name", sorted(CHECKS))
async def test_a_setting_acts_in_rooms_and_by_mail(held: Held, name: str) -> None:
    await CHECKS[name](held)


async def test_each_of_the_settings_is_checked() -> None:
    assert set(CHECKS) == set(CONVERSATION_ROWS)
