"""Fixtures that run turns over the real store, with a provider that follows a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, TypeVar

import pytest
from django.db import connections

from chatsite import storage
from chatsite.agents.template import Template
from chatsite.agents.template_file import parse_template
from chatsite.cluster.presence import Presence
from chatsite.conversations.path.queries import receipt_of
from chatsite.events import TurnEnded
from chatsite.history import Settings, show_receipt
from chatsite.providers.base.provider import (
    Chunk,
    Finished,
    Model,
    Provider,
    ReasoningPiece,
    Request,
    TextPiece,
)
from chatsite.providers.echo import EchoProvider
from chatsite.storage import Unit, reading
from chatsite.tools.tool import Tool
from chatsite.turns.agents.resolved_agent import ResolvedAgent, missing_agent, resolve_agent
from chatsite.turns.answer.feed import ConversationFeeds, FeedReader
from chatsite.turns.context.decider import Decider
from chatsite.turns.context.turn_context import Contexts, PageRequest, TurnContext
from chatsite.turns.running_turns import TurnLimits
from chatsite.turns.turns import Turns
from tests.conversations.builders import ADA, new_id

P = ParamSpec("P")
T = TypeVar("T")
Script = Callable[[Request], AsyncGenerator[Chunk, None]]


class ScriptedProvider(EchoProvider):
    """A provider whose next streams are produced by `script`."""

    def __init__(self) -> None:
        super().__init__(delay=0)
        self.script: Script = super().stream
        self.requests: list[Request] = []

    def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        self.requests.append(request)
        return self.script(request)


class LocalScriptedProvider(ScriptedProvider):
    """A provider on this machine, whose cache the site may clean up; `window` is the model's."""

    kind = "embedded"

    def __init__(self, *, window: int = 4_096) -> None:
        super().__init__()
        self.window = window

    def model(self, name: str | None) -> Model:
        return replace(super().model(name), window=self.window)


def reply_script(*pieces: str, error: BaseException | None = None, whole: bool = True) -> Script:
    async def script(request: Request) -> AsyncGenerator[Chunk, None]:
        for piece in pieces:
            yield TextPiece(piece)
        if error is not None:
            raise error
        if whole:
            yield Finished(reason="stop")

    return script


def endless_script(
    piece: str,
    *,
    closing: Exception | None = None,
    pause: float = 0.01,
    of: type[TextPiece] | type[ReasoningPiece] = TextPiece,
) -> Script:
    async def script(request: Request) -> AsyncGenerator[Chunk, None]:
        try:
            while True:
                yield of(piece)
                await asyncio.sleep(pause)
        finally:
            if closing is not None:
                raise closing

    return script


class FailingWrites:
    """The units of work named in `failures` fail that many times before they run."""

    def __init__(self) -> None:
        self.failures: dict[str, int] = {}
        self.error: BaseException = OSError("the disk is full")

    def patch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run = Unit.__call__

        async def fail_first(unit: Unit[..., Any], *args: Any, **kwargs: Any) -> Any:
            if self.failures.get(unit.__name__, 0) > 0:
                self.failures[unit.__name__] -= 1
                raise self.error
            return await run(unit, *args, **kwargs)

        monkeypatch.setattr(Unit, "__call__", fail_first)


def settings_for(llm: str, **parameters: Any) -> dict[str, Any]:
    """What a template says of its model."""
    return {"nodes": [f"llm.{llm}"], "nodeConfigurations": {f"llm.{llm}": parameters}}


def template(**more: Any) -> Template:
    return parse_template("demo", {"name": "Memo", "personality": "You are Memo.", **more})


def context_of(agent: ResolvedAgent, settings: Settings) -> TurnContext:
    """Ada's turn with this agent, under these settings."""
    request = PageRequest(owner=ADA, conversation="c", agent=agent.slug, query="")
    contexts = Contexts(environment={}, resolve_agent=lambda slug, model="", *, staff=False: agent)
    return replace(contexts.of(request), settings=settings)


@dataclass
class World:
    provider: ScriptedProvider = field(default_factory=ScriptedProvider)
    writes: FailingWrites = field(default_factory=FailingWrites)
    caps: TurnLimits = TurnLimits(answers=5, per_owner=2)
    tools: tuple[Tool, ...] = ()
    fields: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.contexts = Contexts(environment={}, resolve_agent=self.resolve_agent)
        self.feeds = ConversationFeeds()
        self.turns = Turns(
            presence=Presence(),
            contexts=self.contexts,
            decider=Decider(),
            describe=lambda slug, *, staff: missing_agent(slug),
            limits=self.caps,
            feeds=self.feeds,
        )

    async def run(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """What a test asks of the database itself, on a thread of storage."""
        return await reading(work)(*args, **kwargs)

    @property
    def decider(self) -> Decider:
        return self.turns.services.decider

    @decider.setter
    def decider(self, decider: Decider) -> None:
        self.turns.services = replace(self.turns.services, decider=decider)
        self.turns.drafts = replace(self.turns.drafts, decider=decider)

    def context(self, page_request: PageRequest) -> TurnContext:
        return self.contexts.of(page_request)

    def resolve_agent(self, agent: str, model: str = "", *, staff: bool = False) -> ResolvedAgent:
        providers: dict[str, Provider] = {"echo": self.provider}
        named = replace(template(**self.fields), slug=agent)
        return replace(resolve_agent(named, providers), tools=self.tools)

    def page_request(self, conversation: str = "") -> PageRequest:
        return PageRequest(owner=ADA, conversation=conversation or new_id(), agent="demo", query="")

    async def run_turn(
        self, page_request: PageRequest, text: str = "Hello"
    ) -> tuple[str, TurnEnded]:
        """Run one whole turn. Returns the streamed text and the event that ended the turn."""
        _, reader = await self.turns.snapshots.open(page_request)
        await self.turns.send(page_request, client_id=new_id(), text=text)
        return await read_until_end(reader)

    async def receipt(self, ended: TurnEnded) -> dict[str, Any]:
        """The receipt that is stored with an answer, as a page reads it."""
        found = await receipt_of(owner=ADA, turn=ended.turn)
        assert found is not None
        return show_receipt(found)


async def read_until_end(reader: FeedReader) -> tuple[str, TurnEnded]:
    text = ""
    while True:
        event = await asyncio.wait_for(reader.read(), 20)
        if isinstance(event, TurnEnded):
            reader.close()
            return text, event
        text += getattr(event, "text", "")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, transactional_db: None) -> Iterator[World]:
    """Everything that runs turns. The store's threads close the connections that they open."""
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    turns_world = World()
    turns_world.writes.patch(monkeypatch)
    yield turns_world
    storage.close()
