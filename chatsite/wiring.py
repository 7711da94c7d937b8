"""Where the parts meet: one `Site`, built at the server's start, holds what lives as long."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import IO

from django.conf import settings

from chatsite.agents.catalogue import Catalogue
from chatsite.agents.strategy.worker import StrategyWorker
from chatsite.conversations import store
from chatsite.conversations.database.lock import lock
from chatsite.conversations.values.owners import Owner
from chatsite.events import CacheChanged, SummaryChanged
from chatsite.files.intake import Intake
from chatsite.history import Settings, may_use_url
from chatsite.history.policies.lexical import LEXICAL
from chatsite.history.policies.strategy import STRATEGY
from chatsite.history.policies.summary import SUMMARY
from chatsite.history.policies.triage import TRIAGE
from chatsite.kv import Place
from chatsite.providers.echo import EchoProvider
from chatsite.providers.embedded.cache.cache import Cache
from chatsite.providers.embedded.cache.sessions import Sessions
from chatsite.providers.embedded.engine import Engine
from chatsite.providers.embedded.provider import EmbeddedProvider
from chatsite.providers.http.streaming import Timeouts
from chatsite.providers.reachable import Providers
from chatsite.providers.tokens.sentence_vectors import SentenceVectors, describe_vectors
from chatsite.tools.builtin import builtin
from chatsite.tools.mcp.connections import ToolServers
from chatsite.tools.search_history import SearchHistory
from chatsite.tools.toolbox import Toolbox
from chatsite.turns.agents.agents import Agents
from chatsite.turns.agents.model_choice import ModelChoice
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.turns.context.decider import Decider
from chatsite.turns.context.stored_files import StoredFiles
from chatsite.turns.context.turn_context import PageRequest
from chatsite.turns.evidence.recall import Recaller
from chatsite.turns.evidence.running_summary import Summariser
from chatsite.turns.evidence.strategy import StrategyGatherer
from chatsite.turns.evidence.triage import Triager
from chatsite.turns.registry import TurnLimits
from chatsite.turns.sockets import Sockets
from chatsite.turns.turns import TurnHooks, Turns
from chatsite.turns.what_if.cleanup_preview import CleanupPreview
from chatsite.turns.what_if.comparison import PolicyComparison
from chatsite.turns.what_if.trim_ahead import TrimAhead

logger = logging.getLogger("chatsite")
DRAIN_SECONDS = 20.0


class Site:
    """The running server: agents, models, tools, turns and the store's threads."""

    def __init__(self) -> None:
        self.run = store.StorageThreads()
        self.sockets = Sockets()
        self.intake = Intake(settings.FILES_DIR)
        self.catalogue = Catalogue(settings.AGENTS_DIR)
        self.engine = Engine(
            settings.CHAT_MODEL_PATH or None,
            log_path=settings.VAR_DIR / "engine.log",
            sessions=settings.KV_SESSIONS_DIR if settings.KV_SESSIONS_MB else None,
        )
        # Where nothing is to be saved, what was saved before goes with the first sweep.
        self.sessions = Sessions(
            settings.KV_SESSIONS_DIR,
            limit=settings.KV_SESSIONS_MB * 1024 * 1024,
            run=self.run,
            rows=store,
        )
        saving = self.sessions if settings.KV_SESSIONS_MB else None
        self.cache = Cache(self.engine, sessions=saving, store_places=self._placed)
        self.models = models()
        self.tool_servers = ToolServers(settings.TOOL_SERVERS, logs=settings.VAR_DIR)
        self.tools = Toolbox(
            builtin(
                now=lambda: datetime.now(UTC),
                search_history=SearchHistory(run=self.run, reads=store),
            ),
            self.tool_servers,
        )
        embedded = EmbeddedProvider(self.engine, self.cache)
        self.agents = Agents(
            catalogue=self.catalogue,
            remote=self.models,
            embedded=embedded,
            echo=EchoProvider(),
            tools=self.tools,
            choosing=ModelChoice(
                who=settings.MODEL_CHOICE, offered=settings.MODELS.offered, reach=self.models
            ),
            start_engine=self.engine.start if settings.CHAT_ENGINE != "off" else None,
        )
        self.summariser = Summariser(
            run=self.run,
            reads=store,
            writes=store,
            answering=self.agents.answering,
            publish=lambda conversation, event: self.turns.publish(conversation, event),
        )
        self.strategies = StrategyWorker()
        self.vectors = SentenceVectors.find()
        self.recaller = Recaller(run=self.run, reads=store, vectors=self.vectors)
        self.turns = Turns(
            decider=self._decider(),
            answering=self.agents.answering,
            describe=self.agents.describe,
            caps=TurnLimits(answers=settings.MAX_ANSWERS, per_owner=settings.MAX_ANSWERS_PER_OWNER),
            uploads=store,
            around=TurnHooks(
                ready=self._tools_ready,
                before=self._before_turn,
                after=self._after_turn,
                changed=self._path_changed,
            ),
            tool_seconds=settings.TOOL_SECONDS,
        )
        self.ahead = TrimAhead(
            decider=self.turns.decider,
            cache=embedded,
            running=self.turns.is_running,
        )
        self.comparing = PolicyComparison(
            decider=self.turns.decider,
            reads=store,
            offering=self.turns.offering,
            answering=self.agents.answering,
            vectors=self.vectors,
        )
        self.cleaning = CleanupPreview(decider=self.turns.decider, answering=self.agents.answering)
        self._lock: IO[str] | None = None
        self.keeping = store.Maintenance(self.run, self.sessions.sweep)

    def _decider(self) -> Decider:
        return Decider(
            environment=settings.HISTORY_ENVIRONMENT,
            run=self.run,
            loads=store,
            reads=store,
            writes=store,
            files=lambda owner: StoredFiles(run=self.run, reads=store, owner=owner),
            gatherers={
                LEXICAL.evidence: self.recaller,
                TRIAGE.evidence: Triager(),
                SUMMARY.evidence: self.summariser,
                STRATEGY.evidence: StrategyGatherer(
                    strategies=self.strategies, file=self.catalogue.strategy
                ),
            },
            cache_cleanup=settings.CACHE_CLEANUP,
        )

    async def _placed(self, conversation: str, places: Mapping[str, Place]) -> None:
        """Write down where the messages lie now, and tell the pages."""
        changed = await self.run(
            store.place_books,
            conversation=conversation,
            places={id: (place.start, place.size) for id, place in places.items()},
        )
        self.turns.publish(conversation, CacheChanged(status=changed))

    def _before_turn(self, asking: PageRequest, answering: ResolvedAgent) -> None:
        self.summariser.give_way(asking, answering)
        self.ahead.give_way(asking.conversation)

    def _after_turn(
        self, asking: PageRequest, answering: ResolvedAgent, settings: Settings
    ) -> None:
        self.summariser.after_turn(asking, answering, settings)
        self.ahead.after_turn(asking, answering, settings)

    async def _tools_ready(self, asking: PageRequest) -> None:
        await self.tools.ready(self.catalogue.get(asking.agent).tools)

    async def _path_changed(self, asking: PageRequest) -> None:
        """An answer left the path or is being written further: nothing may be made of its text as
        it was."""
        self.recaller.forget(asking.conversation)
        standing = await self.summariser.standing(asking.owner, asking.conversation)
        self.turns.publish(asking.conversation, SummaryChanged(summary=standing.view))

    # ---- starting and stopping ---------------------------------------------------------------
    async def start(self) -> None:
        """Raises Refused where another server uses the same folder."""
        self._lock = await asyncio.to_thread(lock, settings.VAR_DIR / "server.lock")
        await self.run(store.end_interrupted)
        logger.info("The selector lexical finds older messages %s.", describe_vectors(self.vectors))
        await self.models.warm()
        self.tool_servers.start()
        self.agents.all()  # starts the engine where an agent needs it: it takes a few seconds
        self.keeping.start()

    async def stop(self) -> None:
        await self.turns.drain(DRAIN_SECONDS)
        await self.summariser.drain()
        self.ahead.stop()
        await self.recaller.drain()
        await self.strategies.stop()
        self.keeping.stop()
        await self.tool_servers.stop()
        await self.cache.close()
        await self.engine.stop()
        await self.models.aclose()
        self.run.close()
        if self._lock is not None:
            self._lock.close()

    # ---- who asks ----------------------------------------------------------------------------
    def asking(
        self,
        *,
        owner: Owner,
        staff: bool,
        conversation: str,
        agent: str,
        query: str,
        model: str = "",
    ) -> PageRequest:
        return PageRequest(
            owner=owner,
            conversation=conversation,
            agent=agent,
            query=query,
            url_allowed=may_use_url(settings.HISTORY_ENVIRONMENT, staff=staff),
            model=model,
            staff=staff,
        )

    def may_debug(self, *, staff: bool) -> bool:
        allowed = {"everyone": True, "staff": staff, "off": False}
        return allowed[settings.DEBUG_PANEL]

    def may_see_request(self, *, staff: bool) -> bool:
        return staff or settings.DEBUG


def models() -> Providers:
    """The model servers that the settings name, and those that are found on this machine."""
    return Providers(
        servers=settings.MODEL_SERVERS,
        ready=settings.MODEL_SERVERS_READY,
        keys=settings.API_KEYS,
        own=settings.MODELS.facts,
        timeouts=Timeouts(
            connect=settings.CONNECT_SECONDS,
            first_token=settings.FIRST_TOKEN_SECONDS,
            between_tokens=settings.BETWEEN_TOKENS_SECONDS,
        ),
        chat_model=settings.CHAT_MODEL,
        fast_model=settings.FAST_MODEL,
        look=settings.LOCAL_SERVERS,
    )
