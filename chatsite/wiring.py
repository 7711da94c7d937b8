"""Where the parts meet: one `Site`, built at the server's start, holds what lives as long."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar

from django.conf import settings
from django.db import close_old_connections

from chatsite.agents.catalogue import Catalogue
from chatsite.agents.strategy.file import in_words
from chatsite.agents.strategy.worker import Strategies
from chatsite.agents.template import Broken, Template
from chatsite.conversations import (
    loading,
    queries,
    receipts,
    said,
    store,
    summaries,
    summary_queries,
)
from chatsite.conversations.owners import Owner
from chatsite.errors import Refused
from chatsite.history import may_use_url
from chatsite.providers.base import Provider
from chatsite.providers.echo import EchoProvider
from chatsite.providers.embedded.engine import Engine
from chatsite.providers.embedded.provider import TRAINED_SYSTEM, EmbeddedProvider
from chatsite.providers.models import ModelTable
from chatsite.providers.openai import OpenAIProvider
from chatsite.providers.vectors import SentenceVectors
from chatsite.providers.vectors import in_words as vectors_in_words
from chatsite.turns.answering import Answering, answering, nobody
from chatsite.turns.comparing import Comparing
from chatsite.turns.deciding import Asking, Decider
from chatsite.turns.recalling import Recaller
from chatsite.turns.sockets import Sockets
from chatsite.turns.strategies import StrategyGatherer
from chatsite.turns.summarising import Summariser
from chatsite.turns.triaging import Triager
from chatsite.turns.turns import Caps, Turns

logger = logging.getLogger("chatsite")
P = ParamSpec("P")
T = TypeVar("T")
# SQLite writes one at a time; more threads than this only wait for each other.
STORE_THREADS = 6
DRAIN_SECONDS = 20.0


class Store:
    """Runs units of work of the store on a few threads, and hands connections back."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(STORE_THREADS, thread_name_prefix="store")

    async def __call__(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        call = functools.partial(_with_connection, work, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    def close(self) -> None:
        self._executor.shutdown()


def _with_connection(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    close_old_connections()
    try:
        return work(*args, **kwargs)
    finally:
        close_old_connections()


class Site:
    """The running server: agents, providers, turns and the store's threads."""

    def __init__(self) -> None:
        self.run = Store()
        self.sockets = Sockets()
        self.catalogue = Catalogue(settings.AGENTS_DIR)
        self.engine = Engine(
            settings.CHAT_MODEL_PATH or None,
            log_path=settings.VAR_DIR / "engine.log",
        )
        self.embedded = EmbeddedProvider(self.engine)
        self.echo = EchoProvider()
        self.openai = None
        if settings.OPENAI_API_KEY or settings.OPENAI_BASE_URL:
            self.openai = OpenAIProvider(
                server=settings.MODEL_SERVERS["openai"],
                api_key=settings.OPENAI_API_KEY,
                table=ModelTable(settings.MODELS.facts),
                model=settings.CHAT_MODEL or None,
                fast=settings.FAST_MODEL or None,
            )
        self.summariser = Summariser(
            run=self.run,
            reads=summary_queries,
            writes=summaries,
            answering=self.answering,
            publish=lambda conversation, event: self.turns.publish(conversation, event),
        )
        self.strategies = Strategies()
        self.vectors = SentenceVectors.find()
        self.recaller = Recaller(run=self.run, reads=said, vectors=self.vectors)
        self.turns = Turns(
            decider=Decider(
                environment=settings.HISTORY_ENVIRONMENT,
                run=self.run,
                loads=loading,
                reads=queries,
                writes=store,
                gatherers={
                    "lexical": self.recaller,
                    "triage": Triager(),
                    "summary": self.summariser,
                    "strategy": StrategyGatherer(
                        strategies=self.strategies, file=self.catalogue.strategy
                    ),
                },
            ),
            answering=self.answering,
            describe=self.describe,
            caps=Caps(answers=settings.MAX_ANSWERS, per_owner=settings.MAX_ANSWERS_PER_OWNER),
            before_turn=self.summariser.give_way,
            after_turn=self.summariser.after_turn,
        )
        self.comparing = Comparing(
            decider=self.turns.decider,
            reads=receipts,
            offering=self.turns.offering,
            answering=self.answering,
            vectors=self.vectors,
        )
        self._lock: IO[str] | None = None

    # ---- starting and stopping ---------------------------------------------------------------
    async def start(self) -> None:
        """Raises Refused where another server uses the same folder."""
        self._lock = await asyncio.to_thread(lock, settings.VAR_DIR / "server.lock")
        await self.run(store.end_interrupted)
        logger.info("The selector lexical finds older messages %s.", vectors_in_words(self.vectors))
        self.agents()  # starts the engine where an agent needs it: it takes a few seconds
        if self.openai is not None:
            await self.openai.warm()

    async def stop(self) -> None:
        await self.turns.drain(DRAIN_SECONDS)
        await self.summariser.drain()
        await self.recaller.drain()
        await self.strategies.stop()
        await self.engine.stop()
        if self.openai is not None:
            await self.openai.aclose()
        self.run.close()
        if self._lock is not None:
            self._lock.close()

    # ---- who answers -------------------------------------------------------------------------
    def providers(self) -> dict[str, Provider]:
        """Those that can be reached now; the engine while it is ready, loading or coming back."""
        found: dict[str, Provider] = {"echo": self.echo}
        if settings.CHAT_ENGINE != "off" and self.embedded.status().state != "unavailable":
            found["embedded"] = self.embedded
        if self.openai is not None:
            found["openai"] = self.openai
        return found

    def answering(self, slug: str) -> Answering:
        """Who answers for the agent; the engine is started for the first who needs it.

        Raises NotFound.
        """
        found = self.would_answer(slug)
        if found.provider is self.embedded:
            self.engine.start()
        return found

    def would_answer(self, slug: str) -> Answering:
        """The same, and nothing is started. Raises NotFound."""
        return answering(
            self.catalogue.get(slug),
            self.providers(),
            trained_system=TRAINED_SYSTEM if self.embedded.bundled else "",
        )

    def describe(self, slug: str) -> dict[str, Any] | None:
        """The agent as the page shows it, broken or not; None where there is none."""
        for agent in self.catalogue.all():
            if agent.slug == slug:
                return self._described(agent)
        return None

    def agents(self) -> list[dict[str, Any]]:
        return [self._described(agent) for agent in self.catalogue.all()]

    def _described(self, agent: Template | Broken) -> dict[str, Any]:
        if isinstance(agent, Broken):
            broken = {"file": agent.file, "key": agent.key, "reason": agent.reason}
            return nobody(agent.slug) | {"broken": broken}
        who = self.answering(agent.slug)
        provider = {"kind": who.model.provider, "label": who.model.label, "note": self._note(who)}
        return {
            "slug": agent.slug,
            "name": agent.name,
            "description": agent.description,
            "greeting": list(agent.greeting),
            "prompts": list(agent.prompts),
            "tags": list(agent.tags),
            "provider": provider,
            "broken": None,
        }

    def _note(self, who: Answering) -> str:
        """Why it is this provider, where that isn't the one the agent asks for; and what is wrong
        with the agent's strategy."""
        notes = [who.note]
        if who.provider is self.echo and settings.CHAT_ENGINE != "off":
            notes.append(self.embedded.status().sentence)
        notes.append(in_words(who.template, self.catalogue.strategy(who.agent)))
        return " ".join(note for note in notes if note)

    def asking(
        self, *, owner: Owner, staff: bool, conversation: str, agent: str, query: str
    ) -> Asking:
        return Asking(
            owner=owner,
            conversation=conversation,
            agent=agent,
            query=query,
            url_allowed=may_use_url(settings.HISTORY_ENVIRONMENT, staff=staff),
        )

    def may_debug(self, *, staff: bool) -> bool:
        allowed = {"everyone": True, "staff": staff, "off": False}
        return allowed[settings.DEBUG_PANEL]

    def may_see_request(self, *, staff: bool) -> bool:
        return staff or settings.DEBUG


def lock(path: Path) -> IO[str]:
    """One server a folder: generations live in its memory, and a second one would end them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a")
    try:
        import fcntl
    except ImportError:  # Windows has no flock; starting twice is then the person's own care.
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise Refused(
            f"Another server already uses {path.parent}. Stop it first, or set VAR_DIR."
        ) from None
    return file
