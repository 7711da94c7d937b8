"""What a page that opens a conversation is shown first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from chatsite.cluster.presence import Presence
from chatsite.conversations.path.queries import open_conversation
from chatsite.conversations.records import OpenConversation
from chatsite.conversations.turn.end import end_interrupted
from chatsite.conversations.turn.rounds import written_so_far
from chatsite.errors import ChatsiteError, NotFound
from chatsite.events import EngineStatus, Snapshot
from chatsite.providers.base.provider import Status
from chatsite.turns.agents.resolved_agent import missing_agent
from chatsite.turns.answer.feed import ConversationFeeds, FeedReader
from chatsite.turns.context.turn_context import Contexts, PageRequest
from chatsite.turns.elsewhere.other_servers import OtherServers
from chatsite.turns.running_turns import RunningTurns
from chatsite.views import TurnView
from chatsite.wording import say

# Asking a provider takes 1 to 2 ms, and 200 pages ask at about the same time.
FRESH_SECONDS = 0.2


class Describe(Protocol):
    """An agent as the page shows it, None where there is none; staff see more of what is wrong."""

    def __call__(self, slug: str, *, staff: bool) -> dict[str, Any] | None: ...


@dataclass(kw_only=True, eq=False)
class Snapshots:
    """Opens conversations for pages. `describe` gives an agent as the page shows it."""

    feeds: ConversationFeeds
    running: RunningTurns
    presence: Presence
    others: OtherServers | None
    contexts: Contexts
    describe: Describe
    clock: Callable[[], float]
    _engines: dict[tuple[str, str, bool], EngineStatus] = field(default_factory=dict, init=False)
    _asked_at: float = field(default=-FRESH_SECONDS, init=False)

    async def open(self, request: PageRequest) -> tuple[Snapshot, FeedReader]:
        """Return a snapshot and a reader of all that follows; close the reader when done.

        The reader joins before the snapshot is read, so that no event is missed; one may come
        twice. Raises NotFound for another owner's conversation.
        """
        reader = self.feeds.of(request.conversation).join()
        try:
            return await self._snapshot(request, reader), reader
        except BaseException:
            reader.close()
            raise

    async def _snapshot(self, request: PageRequest, reader: FeedReader) -> Snapshot:
        opened = await self._read(request)
        if opened.running is not None and request.conversation not in self.running:
            # Unless another server writes it. Ends this turn alone: the next one may begin while
            # storage is waited for.
            ended = await end_interrupted(turn=opened.running, own=self.presence.id)
            if ended and self.others is not None:
                self.others.reopen(request.conversation)
            opened = await self._read(request)
        agent = opened.conversation.agent if opened.conversation else request.agent
        model = opened.conversation.model if opened.conversation else ""
        # Somebody else's is one that doesn't exist, here and in what the engine says.
        found = agent if self.contexts.may_use(request.owner, agent) else ""
        described = self.describe(found, staff=request.staff)
        if opened.conversation is None and described is None:
            raise NotFound(say("There is no such agent."))
        turn, receipt = await self._running_turn(request.conversation, opened, reader)
        return Snapshot(
            conversation_id=request.conversation,
            conversation=opened.conversation,
            agent=described or missing_agent(agent),
            messages=opened.messages,
            earlier=opened.earlier,
            turn=turn,
            receipt=receipt or opened.receipt,
            engine=self.engine(found, model, staff=request.staff).to_dict(),
            forget_above=opened.forget_above,
            summary=opened.summary,
            room=request.room.name if request.room else "",
        )

    async def _read(self, request: PageRequest) -> OpenConversation:
        return await open_conversation(owner=request.owner, conversation=request.conversation)

    async def _running_turn(
        self, conversation: str, opened: OpenConversation, reader: FeedReader
    ) -> tuple[TurnView | None, Mapping[str, Any] | None]:
        """The turn under way, with its text so far, which the reader follows from there; and its
        receipt once it was decided."""
        if opened.running is None:
            return None, None
        feed, user = self.feeds.of(conversation), opened.running_user or ""
        decided = feed.decided.receipt if feed.decided is not None else None
        for writing in (feed.generation, feed.relayed):
            if writing is not None and writing.turn == opened.running:
                if writing.relayed and self.others is not None:
                    self.others.shows(conversation, opened.running)
                reader.join(writing)
                return writing.view(user_message=user), decided
        if self.others is not None:
            self.others.shows(conversation, opened.running)
            # The other server sends the text once more, from its beginning on.
            written = await written_so_far(turn=opened.running)
            if written is not None:
                view = TurnView(
                    id=opened.running,
                    user_message=user,
                    text=written.text,
                    reasoning=written.reasoning,
                )
                return view, written.receipt
        return TurnView(id=opened.running, user_message=user), None

    def engine(self, agent: str, model: str = "", *, staff: bool = False) -> EngineStatus:
        """Return whether the provider can answer now: that of `model`, or the agent's own for "".

        Every open page asks again and again, most of them for the same one.
        """
        now = self.clock()
        if now - self._asked_at > FRESH_SECONDS:
            self._engines.clear()
            self._asked_at = now
        wanted = (agent, model, staff)
        if wanted not in self._engines:
            self._engines[wanted] = self._engine_status(agent, model, staff=staff)
        return self._engines[wanted]

    def _engine_status(self, agent: str, model: str, *, staff: bool) -> EngineStatus:
        try:
            status = self.contexts.resolve_agent(agent, model, staff=staff).provider.status()
        except ChatsiteError as error:
            status = Status(state="unavailable", sentence=error.message)
        return EngineStatus(
            state=status.state,
            sentence=say(status.sentence) if status.sentence else "",
            progress=status.progress,
            provider=(self.describe(agent, staff=staff) or missing_agent(agent))["provider"],
        )
