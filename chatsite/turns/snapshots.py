"""What a page that opens a conversation is shown, and how it follows what happens there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from chatsite.conversations.values.records import OpenConversation
from chatsite.errors import ChatsiteError, NotFound
from chatsite.events import Engine, Event, Snapshot
from chatsite.providers.base.provider import Status
from chatsite.turns.agents.resolved_agent import ResolvedAgent, missing_agent
from chatsite.turns.answer.feed import Feed, FeedReader
from chatsite.turns.context.decider import Decider
from chatsite.turns.context.turn_context import PageRequest
from chatsite.views import TurnView

# To look costs 1 to 2 ms, and 200 pages look at about the same time.
FRESH_SECONDS = 0.2


class AgentResolver(Protocol):
    """Who answers for an agent; `model` is the one chosen in the page, "" for the agent's own."""

    def __call__(self, agent: str, model: str = "", *, staff: bool = False) -> ResolvedAgent: ...


class Following:
    """The feeds of the conversations that somebody has open or that are being answered."""

    def __init__(
        self,
        *,
        decider: Decider,
        answering: AgentResolver,
        describe: Callable[[str], dict[str, Any] | None],
        clock: Callable[[], float],
    ) -> None:
        self.decider = decider
        self.answering = answering
        self.describe = describe
        self.clock = clock
        self._feeds: dict[str, Feed] = {}
        self._engines: dict[tuple[str, str, bool], Engine] = {}
        self._looked = -FRESH_SECONDS

    def is_running(self, conversation: str) -> bool:
        """Whether a turn of this process runs there."""
        raise NotImplementedError

    def feed(self, conversation: str) -> Feed:
        feed = self._feeds.get(conversation)
        if feed is None:
            feed = Feed(self.clock, lambda: self._feeds.pop(conversation, None))
            self._feeds[conversation] = feed
        return feed

    def publish(self, conversation: str, event: Event) -> None:
        """Tell whoever has the conversation open."""
        if conversation in self._feeds:
            self._feeds[conversation].publish(event)

    async def open(self, asking: PageRequest) -> tuple[Snapshot, FeedReader]:
        """A snapshot and a reader of all that follows; close the reader when done.

        The reader is there before the snapshot is read, so that nothing falls between: an event
        may come twice, never not at all. Raises NotFound for another owner's conversation.
        """
        reader = self.feed(asking.conversation).join()
        try:
            return await self._snapshot(asking, reader), reader
        except BaseException:
            reader.close()
            raise

    async def _snapshot(self, asking: PageRequest, reader: FeedReader) -> Snapshot:
        opened = await self._opened(asking)
        if opened.running is not None and not self.is_running(asking.conversation):
            # This turn alone: the next one may begin while we wait.
            await self.decider.run(self.decider.writes.end_interrupted, turn=opened.running)
            opened = await self._opened(asking)
        agent = opened.conversation.agent if opened.conversation else asking.agent
        model = opened.conversation.model if opened.conversation else ""
        described = self.describe(agent)
        if opened.conversation is None and described is None:
            raise NotFound("There is no such agent.")
        turn = None
        if opened.running is not None:
            generation = self.feed(asking.conversation).generation
            user = opened.running_user or ""
            turn = TurnView(id=opened.running, user_message=user)
            if generation is not None and generation.turn == opened.running:
                reader.join(generation)
                turn = generation.view(user_message=user)
        return Snapshot(
            conversation_id=asking.conversation,
            conversation=opened.conversation,
            agent=described or missing_agent(agent),
            messages=opened.messages,
            earlier=opened.earlier,
            turn=turn,
            receipt=opened.receipt,
            engine=self.engine(agent, model, staff=asking.staff).to_dict(),
            forget_above=opened.forget_above,
            summary=opened.summary,
        )

    async def _opened(self, asking: PageRequest) -> OpenConversation:
        return await self.decider.run(
            self.decider.reads.open_conversation,
            owner=asking.owner,
            conversation=asking.conversation,
        )

    def engine(self, agent: str, model: str = "", *, staff: bool = False) -> Engine:
        """Whether the provider can answer now: that of `model`, or the agent's own for "".

        Every open page asks again and again, most of them for the same.
        """
        now = self.clock()
        if now - self._looked > FRESH_SECONDS:
            self._engines.clear()
            self._looked = now
        asked = (agent, model, staff)
        if asked not in self._engines:
            self._engines[asked] = self._engine(agent, model, staff=staff)
        return self._engines[asked]

    def _engine(self, agent: str, model: str, *, staff: bool) -> Engine:
        try:
            status = self.answering(agent, model, staff=staff).provider.status()
        except ChatsiteError as error:
            status = Status(state="unavailable", sentence=error.message)
        return Engine(
            state=status.state,
            sentence=status.sentence,
            progress=status.progress,
            provider=(self.describe(agent) or missing_agent(agent))["provider"],
        )
