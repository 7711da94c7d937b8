"""One `Site`, built when the server starts, holds everything that lives as long as it does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import IO

from django.conf import settings

from chatsite import storage
from chatsite.accounts.removal import rights_of
from chatsite.accounts.sign_ins import SignIns
from chatsite.accounts.watch import AccountWatch, Sockets, follow_accounts
from chatsite.agents.catalogue import Catalogue
from chatsite.agents.strategy.worker import StrategyWorker
from chatsite.channels.channel import Rooms
from chatsite.channels.desk import Desk
from chatsite.channels.supervisor import Channels
from chatsite.cluster.presence import Presence
from chatsite.conversations.imports.tasks import Imports
from chatsite.conversations.lifecycle import remove_imports
from chatsite.conversations.owners import Owner
from chatsite.conversations.path.cache_places import place_books
from chatsite.conversations.summaries.queries import SummaryState
from chatsite.conversations.versions.edits import TextChange
from chatsite.events import CacheChanged, MessagesChanged, PathChanged, SummaryChanged
from chatsite.files.intake import Intake
from chatsite.history import may_use_url
from chatsite.history.policies.lexical import LEXICAL
from chatsite.history.policies.strategy import STRATEGY
from chatsite.history.policies.summary import SUMMARY
from chatsite.history.policies.triage import TRIAGE
from chatsite.kv_cache.books import Place
from chatsite.kv_cache.cleanup_preview import CleanupPreview
from chatsite.kv_cache.slots.cache import Cache
from chatsite.kv_cache.trim_ahead import TrimAhead
from chatsite.own_agents.known import OwnAgents
from chatsite.providers.echo import EchoProvider
from chatsite.providers.embedded.provider import EmbeddedProvider
from chatsite.providers.tokens.sentence_vectors import SentenceVectors, describe_vectors
from chatsite.storage import lock
from chatsite.temporary.closing import TemporaryChats
from chatsite.tools.mcp.connections import ToolServers
from chatsite.turns.agents.agents import Agents
from chatsite.turns.agents.model_choice import ModelChoice
from chatsite.turns.answer.feed import ConversationFeeds
from chatsite.turns.context.decider import Decider, Gatherer
from chatsite.turns.context.turn_context import Contexts, PageRequest, TurnContext, TurnHooks
from chatsite.turns.elsewhere.other_servers import OtherServers
from chatsite.turns.evidence.compacting import Compactor
from chatsite.turns.evidence.looking_back import RecallTool
from chatsite.turns.evidence.recall import Recaller
from chatsite.turns.evidence.running_summary import Summariser
from chatsite.turns.evidence.strategy import StrategyGatherer
from chatsite.turns.evidence.triage import Triager
from chatsite.turns.history_choice import HistoryChoices
from chatsite.turns.running_turns import TurnLimits
from chatsite.turns.titles.titler import Titler
from chatsite.turns.turns import Turns
from chatsite.turns.what_if.comparison import PolicyComparison
from chatsite.turns.what_if.cost_question import CostQuestion
from chatsite.wiring import parts
from chatsite.wiring.features import FEATURES
from chatsite.wiring.maintenance import Maintenance, bring_up_to_date

logger = logging.getLogger("chatsite")
# Answers that run on while the server stops: pages follow them on other servers, if there are any.
DRAIN_SECONDS, DRAIN_SECONDS_IN_A_CLUSTER = 20.0, 120.0


class Site:
    """The running server: agents, models, tools and turns."""

    def __init__(self) -> None:
        self.limiter = parts.limiter()
        self.sign_ins = SignIns(self.limiter)
        self.sockets = Sockets(elsewhere=self._end_session_elsewhere)
        self.feeds = ConversationFeeds()
        self.presence = Presence(
            fenced=self._taken_for_dead,
            interrupted=lambda conversation: self._reopen(conversation),
        )
        self.rooms = Rooms()
        self.others = None
        if not self.presence.is_alone:
            self.others = OtherServers(
                self.feeds,
                self.presence,
                do={
                    "stop": lambda conversation: self.turns.stop_here(conversation),
                    "end_session": self.sockets.end_here,
                },
                changed=lambda conversation: self.recaller.forget(conversation),
                writes=lambda conversation: self.turns.is_running(conversation),
                look=self.rooms.look,
            )
        self.intake = Intake(settings.FILES_DIR)
        self.own_agents = OwnAgents()
        self.catalogue = Catalogue(settings.AGENTS_DIR, others=self.own_agents.find)
        self._build_engine()
        self._build_gatherers()
        self._build_agents()
        self._build_turns()
        self._build_previews()
        # A management command stops what it never started.
        self._unfollow: Callable[[], object] = lambda: None
        self.accounts = self._account_watch()
        self.temporary = TemporaryChats(
            turns=self.turns, feeds=self.feeds, presence=self.presence, forget=self._forget_chat
        )
        self.maintenance = Maintenance(
            self.sessions.sweep, self.presence, erased=self.temporary.erased
        )
        self.imports = Imports(self.limiter, server=lambda: self.presence.id, intake=self.intake)
        self.channels = self._channels()
        self._lock: IO[str] | None = None
        self._may_use_url = cache(_may_use_url)

    # ---- building ----------------------------------------------------------------------------
    def _build_engine(self) -> None:
        """The model on this machine, and its KV cache."""
        self.engine = parts.engine()
        self.sessions = parts.saved_sessions()
        saving = self.sessions if settings.KV_SESSIONS_MB else None
        self.cache = Cache(self.engine, sessions=saving, store_places=self._store_places)
        self.embedded = EmbeddedProvider(self.engine, self.cache)

    def _build_agents(self) -> None:
        """The agents, with the models and tools that they can have."""
        self.models = parts.model_servers()
        self.tool_servers = ToolServers(settings.TOOL_SERVERS, logs=settings.VAR_DIR)
        self.tools = parts.toolbox(self.tool_servers, self.recall)
        self.agents = Agents(
            catalogue=self.catalogue,
            own=self.own_agents,
            remote=self.models,
            embedded=self.embedded,
            echo=EchoProvider(),
            tools=self.tools,
            model_choice=ModelChoice(
                who=settings.MODEL_CHOICE, offered=settings.MODELS.offered, remote=self.models
            ),
            start_engine=self.engine.start if settings.CHAT_ENGINE != "off" else None,
            debug=settings.DEBUG,
        )

    def _build_gatherers(self) -> None:
        """What policies need besides the stored path."""
        self.vectors = SentenceVectors.find()
        self.recaller = Recaller(vectors=self.vectors)
        self.recall = RecallTool(self.recaller)
        self.summariser = Summariser(publish=self.feeds.publish)
        self.strategies = StrategyWorker()
        self.gatherers: dict[str, Gatherer] = {
            LEXICAL.evidence: self.recaller,
            TRIAGE.evidence: Triager(),
            SUMMARY.evidence: self.summariser,
            STRATEGY.evidence: StrategyGatherer(
                strategies=self.strategies, file=self.catalogue.strategy
            ),
        }

    def _build_turns(self) -> None:
        self.contexts = Contexts(
            environment=settings.HISTORY_ENVIRONMENT,
            resolve_agent=self.agents.resolve,
            recall=self.recall,
            may_use=self.own_agents.may_use,
        )
        self.decider = Decider(gatherers=self.gatherers, cache_cleanup=settings.CACHE_CLEANUP)
        self.turns = Turns(
            contexts=self.contexts,
            decider=self.decider,
            describe=self.agents.describe,
            limits=TurnLimits(
                answers=settings.MAX_ANSWERS, per_owner=settings.MAX_ANSWERS_PER_OWNER
            ),
            feeds=self.feeds,
            presence=self.presence,
            others=self.others,
            hooks=TurnHooks(
                ready=self._tools_ready,
                before=self._before_turn,
                after=self._after_turn,
                changed=self._path_changed,
            ),
            tool_seconds=settings.TOOL_SECONDS,
            cache_facts=partial(self.models.table.cache_rules, pays_writes=False),
        )
        self.titler = Titler(on=settings.TITLES == "model", publish=self.feeds.publish)
        self.drafts, self.snapshots = self.turns.drafts, self.turns.snapshots
        self.compactor = Compactor(drafts=self.drafts, tell=self._tell_compaction)
        self.trim_ahead = TrimAhead(
            drafts=self.drafts, cache=self.embedded, running=self.turns.is_running
        )
        self.choices = HistoryChoices(
            drafts=self.drafts,
            feeds=self.feeds,
            changed=self.trim_ahead.changed,
        )

    def _build_previews(self) -> None:
        """What the panel shows: the same turn under other policies, and cleanups of the cache."""
        self.comparison = PolicyComparison(drafts=self.drafts, vectors=self.vectors)
        self.cleanups = CleanupPreview(drafts=self.drafts)
        self.cost_question = CostQuestion(self.comparison, *settings.WARN_COST)

    def _channels(self) -> Channels:
        """The ways besides the page, such as rooms and mail."""
        desk = Desk(turns=self.turns, limiter=self.limiter)
        channels = [one for feature in FEATURES for one in feature.channels(self)]
        return Channels(channels, desk, presence=self.presence)

    def _account_watch(self) -> AccountWatch:
        running = self.turns.running
        return AccountWatch(
            rights_of=rights_of,
            answering=lambda: [
                user for key in running.owners() if (user := Owner.account_of(key)) is not None
            ],
            stop_answers=lambda user: running.stop_all(Owner(user=user).key),
        )

    # ---- around turns ------------------------------------------------------------------------
    async def _store_places(self, conversation: str, places: Mapping[str, Place]) -> None:
        """Store where the messages are in the KV cache now, and tell the pages."""
        changed = await place_books(conversation=conversation, places=places)
        self.feeds.publish(conversation, CacheChanged(status=changed))

    async def _tools_ready(self, request: PageRequest) -> None:
        await self.tools.ready(self.catalogue.get(request.agent).tools)

    def _before_turn(self, context: TurnContext) -> None:
        self.summariser.give_way(context)
        self.trim_ahead.give_way(context.conversation)

    def _after_turn(self, context: TurnContext) -> None:
        self.summariser.after_turn(context)
        self.trim_ahead.after_turn(context)
        if self.titler.on:
            self.titler.after_turn(context)

    async def _path_changed(self, request: PageRequest) -> None:
        """An answer left the path or is being continued: nothing may be made of its old text."""
        self.recaller.forget(request.conversation)
        await self._tell_summary(request.owner, request.conversation)

    def _end_session_elsewhere(self, digest: str) -> None:
        if self.others is not None:
            self.others.ask(self.presence.others, "end_session", digest)

    def _taken_for_dead(self) -> None:
        """The others ended what was written here, and know this server by another number now."""
        self.turns.running.give_up()
        if self.others is not None:
            self.others.renew()

    def _reopen(self, conversation: str) -> None:
        """What pages were told of an answer isn't how it ended."""
        if self.others is not None:
            self.others.reopen(conversation)
        else:
            self.feeds.reopen(conversation)

    # ---- changed messages --------------------------------------------------------------------
    async def tell_text_change(
        self, owner: Owner, change: TextChange
    ) -> PathChanged | MessagesChanged:
        """Tells pages of a changed text, and drops what was made of the old one. Returns the event
        that pages get."""
        await self.drop_old_text(change.conversation)
        event = PathChanged(below=change.below) if change.below is not None else change.changed
        await self.tell_path_change(owner, change.conversation, event)
        return event

    async def tell_path_change(
        self, owner: Owner, conversation: str, event: PathChanged | MessagesChanged
    ) -> None:
        """Tells pages of a changed path, and of the summary that it has now."""
        self.trim_ahead.changed(conversation)
        self.feeds.publish(conversation, event)
        await self._tell_summary(owner, conversation)

    async def _forget_chat(self, conversation: str) -> None:
        """Leaves nothing of its text in memory, in the engine and in the engine's saved files."""
        self.recaller.forget(conversation)
        self.trim_ahead.give_way(conversation)
        await self.cache.erase(conversation)

    async def drop_old_text(self, conversation: str) -> None:
        """Drops what was made of the conversation's text for the model."""
        self.recaller.forget(conversation)
        await self.cache.drop(conversation)

    def _tell_compaction(self, conversation: str, state: SummaryState) -> None:
        self.trim_ahead.changed(conversation)
        self.feeds.publish(conversation, SummaryChanged(summary=state.view))

    async def _tell_summary(self, owner: Owner, conversation: str) -> None:
        state = await self.summariser.state(owner, conversation)
        self.feeds.publish(conversation, SummaryChanged(summary=state.view))

    # ---- starting and stopping ---------------------------------------------------------------
    async def start(self) -> None:
        """Bring the database up to date and begin. Raises Refused where another server uses the
        same folder, and for a database that can't be used."""
        self._lock = await asyncio.to_thread(lock, settings.VAR_DIR / "server.lock")
        await bring_up_to_date(settings.VAR_DIR)
        if self.others is not None:
            await self.others.start()
        await self.presence.start()
        if self.presence.is_alone:
            await remove_imports()
        await self.temporary.start()
        await self.rooms.look()
        await self.own_agents.look()
        logger.info("The selector lexical finds older messages %s.", describe_vectors(self.vectors))
        await self.models.warm()
        if self.vectors is not None:
            # A turn that comes earlier waits for the rest of it: with its words alone it would
            # recall other messages than the next turn. Behind the models' tokenizer: read at the
            # same time, both leave holes in the memory that nobody fills, 20 MB.
            asyncio.get_running_loop().run_in_executor(None, self.vectors.warm)
        self.recaller.warm_up()
        self.tool_servers.start()
        # Starts the engine where an agent needs it, which takes a few seconds.
        self.agents.all(staff=False)
        self.maintenance.start()
        self.accounts.start()
        self._unfollow = follow_accounts(self.accounts.look_now)
        self.channels.start()

    @property
    def draining(self) -> bool:
        """Whether this server stops, and only ends what it has begun."""
        return self.turns.running.draining

    async def drain(self) -> None:
        """Begin nothing more, let running answers end, and let another server lead meanwhile."""
        self.channels.stop_receiving()
        if self.presence.is_alone:
            await self.turns.running.drain(DRAIN_SECONDS)
            await self.channels.drain()
        else:
            ended = asyncio.create_task(self.turns.running.drain(DRAIN_SECONDS_IN_A_CLUSTER))
            await self.channels.drain()
            await self.presence.resign()
            await ended

    async def stop(self) -> None:
        self._unfollow()
        self.accounts.stop()
        if not self.draining:
            await self.drain()
        await self.summariser.drain()
        await self.titler.drain()
        self.trim_ahead.stop()
        await self.recaller.drain()
        await self.strategies.stop()
        await self.temporary.stop()
        self.maintenance.stop()
        await self.imports.drain()
        await self.tool_servers.stop()
        await self.cache.close()
        await self.engine.stop()
        await self.models.aclose()
        if self.others is not None:
            await self.others.stop()
        await self.presence.stop()
        await storage.drain()
        storage.close()
        if self._lock is not None:
            self._lock.close()

    # ---- who asks ----------------------------------------------------------------------------
    def page_request(
        self,
        *,
        owner: Owner,
        staff: bool,
        conversation: str,
        agent: str,
        query: str,
        model: str = "",
        tuning: Mapping[str, float] | None = None,
    ) -> PageRequest:
        opened = self.rooms.of(conversation)
        return PageRequest(
            owner=owner,
            conversation=conversation,
            agent=agent,
            query=query,
            url_allowed=self._may_use_url(staff),
            model=model,
            staff=staff,
            room=opened.room if opened else None,
            tuning=tuning,
            instructions=self.own_agents.instructions.get(owner.key, ""),
        )

    def may_debug(self, *, staff: bool) -> bool:
        allowed = {"everyone": True, "staff": staff, "off": False}
        return allowed[settings.DEBUG_PANEL]

    def may_see_request(self, *, staff: bool) -> bool:
        return staff or settings.DEBUG


def _may_use_url(staff: bool) -> bool:
    return may_use_url(settings.HISTORY_ENVIRONMENT, staff=staff)
