"""Makes turns for one account, through the same `Turns` and store as the server's, without a model.

A running server may use the same database: every write is a unit of work of the store.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from django.conf import settings

from chatsite import storage
from chatsite.agents.catalogue import Catalogue
from chatsite.agents.template import Template
from chatsite.cluster.presence import Presence
from chatsite.conversations.files.uploads import store_upload
from chatsite.conversations.owners import Owner
from chatsite.conversations.path.queries import agent_of
from chatsite.conversations.search.text_search import older_messages
from chatsite.errors import NotFound
from chatsite.events import Delta, Snapshot, TurnEnded
from chatsite.files.intake import Intake
from chatsite.history.policies.summary import SUMMARY
from chatsite.tools.search_history import SearchHistory
from chatsite.tools.tool import Tool
from chatsite.turns.agents.resolved_agent import ResolvedAgent, missing_agent, resolve_agent
from chatsite.turns.answer.feed import ConversationFeeds
from chatsite.turns.context.decider import Decider
from chatsite.turns.context.turn_context import Contexts, PageRequest
from chatsite.turns.evidence.looking_back import RecallTool
from chatsite.turns.evidence.recall import Recaller
from chatsite.turns.evidence.running_summary import Summariser
from chatsite.turns.running_turns import TurnLimits
from chatsite.turns.turns import Turns
from chatsite.wiring.parts import builtin
from tests.seed.scripted_provider import Answer, ScriptedProvider


class Seeder:
    """Writes conversations for `owner`. `environment` holds history variables for its turns."""

    def __init__(self, owner: Owner, *, environment: Mapping[str, str] | None = None) -> None:
        self.owner = owner
        self.provider = ScriptedProvider()
        self.intake = Intake(settings.FILES_DIR)
        self._catalogue = Catalogue(settings.AGENTS_DIR)
        self.feeds = ConversationFeeds()
        summariser = Summariser(publish=self.feeds.publish)
        self.turns = Turns(
            presence=Presence(),
            contexts=Contexts(environment=environment or {}, resolve_agent=self._resolve_agent),
            decider=Decider(gatherers={SUMMARY.evidence: summariser}),
            describe=lambda slug, *, staff: missing_agent(slug),
            limits=TurnLimits(answers=1, per_owner=1),
            feeds=self.feeds,
        )

    def close(self) -> None:
        storage.close()

    # ---- who answers -------------------------------------------------------------------------
    def agent(self, preferred: str) -> str:
        """`preferred`, or the first usable agent where AGENTS_DIR has no such one. Raises NotFound
        where it has none at all."""
        usable = [one.slug for one in self._catalogue.all() if isinstance(one, Template)]
        if not usable:
            raise NotFound("There is no agent that can be used. Set AGENTS_DIR.")
        return preferred if preferred in usable else usable[0]

    def _resolve_agent(self, agent: str, model: str = "", *, staff: bool = False) -> ResolvedAgent:
        template = self._catalogue.get(agent)
        found = resolve_agent(template, {"echo": self.provider})
        return replace(found, tools=self._tools(template))

    def _tools(self, template: Template) -> tuple[Tool, ...]:
        makers = builtin(
            now=lambda: datetime.now(UTC),
            search_history=SearchHistory(older_messages),
            recall=RecallTool(Recaller()),
        )
        return tuple(makers[name]({}) for name in template.tools if name in makers)

    def request(self, conversation: str, agent: str) -> PageRequest:
        return PageRequest(owner=self.owner, conversation=conversation, agent=agent, query="")

    # ---- turns -------------------------------------------------------------------------------
    async def say(
        self,
        request: PageRequest,
        text: str,
        *answers: Answer,
        reply_to: str | None = None,
        attachments: Sequence[str] = (),
    ) -> TurnEnded:
        """One whole turn, or one that is stopped where an answer waits; its end."""
        self.provider.answers = list(answers)
        reader = self.feeds.of(request.conversation).join()
        try:
            await self.turns.send(
                request,
                client_id=new_id(),
                text=text,
                reply_to=reply_to,
                attachments=attachments,
            )
            while not isinstance(event := await reader.read(), TurnEnded):
                if isinstance(event, Delta) and any(answer.waits for answer in answers):
                    await self.turns.stop(request.owner, request.conversation)
        finally:
            reader.close()
        return event

    async def say_again(self, request: PageRequest, message: str, answer: Answer) -> TurnEnded:
        """Another version of the answer `message`; the turn's end."""
        self.provider.answers = [answer]
        reader = self.feeds.of(request.conversation).join()
        try:
            await self.turns.again(request, client_id=new_id(), message=message, mode="again")
            while not isinstance(event := await reader.read(), TurnEnded):
                pass
        finally:
            reader.close()
        return event

    async def upload(self, name: str, content: bytes) -> str:
        """Store a file as if it was dropped on the page; its id."""

        async def blocks() -> AsyncIterator[bytes]:
            yield content

        async with self.intake.taken(blocks(), owner=self.owner.key) as taken:
            stored = await store_upload(self.owner, name=name, taken=taken)
        return stored.id

    async def open(self, conversation: str) -> Snapshot:
        """What a page that opens the conversation is shown. Raises NotFound."""
        agent = await agent_of(owner=self.owner, conversation=conversation)
        snapshot, reader = await self.turns.snapshots.open(self.request(conversation, agent))
        reader.close()
        return snapshot


def new_id() -> str:
    return str(uuid.uuid4())
