"""Turns over the real store, with a provider that does what the test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from django.db import connections

from chatsite.agents.template import Template
from chatsite.agents.template_file import parse_template
from chatsite.conversations import store
from chatsite.conversations.database.work import StorageThreads
from chatsite.events import Event, TurnEnded
from chatsite.history import Settings
from chatsite.providers.base.model import Model
from chatsite.providers.base.provider import Chunk, Finished, Provider, Request, TextPiece
from chatsite.providers.echo import EchoProvider
from chatsite.tools.tool import Tool
from chatsite.turns.agents.resolved_agent import ResolvedAgent, missing_agent, resolve_agent
from chatsite.turns.answer.feed import ConversationFeeds, FeedReader
from chatsite.turns.context.decider import Decider
from chatsite.turns.context.turn_context import Contexts, PageRequest, TurnContext
from chatsite.turns.running_turns import TurnLimits
from chatsite.turns.turns import Turns
from chatsite.wiring import storage_on
from tests.conversations.builders import ADA, new_id

Script = Callable[[Request], AsyncGenerator[Chunk, None]]


class Scripted(EchoProvider):
    """`script` is what its next streams do."""

    def __init__(self) -> None:
        super().__init__(delay=0)
        self.script: Script = super().stream
        self.requests: list[Request] = []

    def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        self.requests.append(request)
        return self.script(request)


class OnThisMachine(Scripted):
    """One of the kind whose cache is ours to clean up; `window` is its model's."""

    kind = "embedded"

    def __init__(self, *, window: int = 4_096) -> None:
        super().__init__()
        self.window = window

    def model(self, name: str | None) -> Model:
        return replace(super().model(name), window=self.window)


def saying(*pieces: str, error: Exception | None = None, whole: bool = True) -> Script:
    async def script(request: Request) -> AsyncGenerator[Chunk, None]:
        for piece in pieces:
            yield TextPiece(piece)
        if error is not None:
            raise error
        if whole:
            yield Finished(reason="stop")

    return script


def endless(piece: str, *, closing: Exception | None = None) -> Script:
    async def script(request: Request) -> AsyncGenerator[Chunk, None]:
        try:
            while True:
                yield TextPiece(piece)
                await asyncio.sleep(0.01)
        finally:
            if closing is not None:
                raise closing

    return script


class Failing:
    """The store, with units of work that fail a number of times first."""

    def __init__(self) -> None:
        self.failures: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        if self.failures.get(name, 0) > 0:
            self.failures[name] -= 1
            return self._fail
        return getattr(store, name)

    def _fail(self, **fields: Any) -> None:
        raise OSError("the disk is full")


def template(**more: Any) -> Template:
    return parse_template("demo", {"name": "Demo", "personality": "You are Demo.", **more})


def context_of(agent: ResolvedAgent, settings: Settings) -> TurnContext:
    """Ada's turn with this agent, under these settings."""
    request = PageRequest(owner=ADA, conversation="c", agent=agent.slug, query="")
    contexts = Contexts(environment={}, resolve_agent=lambda slug, model="", *, staff=False: agent)
    return replace(contexts.of(request), settings=settings)


@dataclass
class World:
    provider: Scripted = field(default_factory=Scripted)
    writes: Failing = field(default_factory=Failing)
    run: StorageThreads = field(default_factory=StorageThreads)
    caps: TurnLimits = TurnLimits(answers=5, per_owner=2)
    tools: tuple[Tool, ...] = ()
    fields: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.storage = replace(storage_on(self.run), writes=self.writes)
        self.contexts = Contexts(environment={}, resolve_agent=self.resolve_agent)
        self.feeds = ConversationFeeds()
        self.turns = Turns(
            storage=self.storage,
            contexts=self.contexts,
            decider=Decider(storage=self.storage),
            describe=missing_agent,
            limits=self.caps,
            feeds=self.feeds,
        )

    @property
    def decider(self) -> Decider:
        return self.turns.services.decider

    @decider.setter
    def decider(self, decider: Decider) -> None:
        self.turns.services = replace(self.turns.services, decider=decider)
        self.turns.drafts = replace(self.turns.drafts, decider=decider)

    def context(self, asking: PageRequest) -> TurnContext:
        return self.contexts.of(asking)

    def resolve_agent(self, agent: str, model: str = "", *, staff: bool = False) -> ResolvedAgent:
        providers: dict[str, Provider] = {"echo": self.provider}
        named = replace(template(**self.fields), slug=agent)
        return replace(resolve_agent(named, providers), tools=self.tools)

    def asking(self, conversation: str = "") -> PageRequest:
        return PageRequest(owner=ADA, conversation=conversation or new_id(), agent="demo", query="")

    async def say(self, asking: PageRequest, text: str = "Hello") -> tuple[str, TurnEnded]:
        """One whole turn; the text that was told piece by piece, and its end."""
        _, reader = await self.turns.snapshots.open(asking)
        await self.turns.send(asking, client_id=new_id(), text=text)
        return await until_end(reader)


async def until_end(reader: FeedReader) -> tuple[str, TurnEnded]:
    text = ""
    while True:
        event: Event = await asyncio.wait_for(reader.read(), 20)
        if isinstance(event, TurnEnded):
            reader.close()
            return text, event
        text += getattr(event, "text", "")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, transactional_db: None) -> Iterator[World]:
    """The store's threads close the connections that they open."""
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    made = World()
    yield made
    made.run.close()
