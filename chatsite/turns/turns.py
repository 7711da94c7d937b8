"""Every turn of the process. A turn is a task of its own: closing a page doesn't end it."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from chatsite.cluster.presence import Presence
from chatsite.conversations.owners import Owner
from chatsite.conversations.path.queries import agent_of
from chatsite.conversations.records import NewTurn, StartedTurn
from chatsite.conversations.turn.begin import AnotherChoice, begin_turn
from chatsite.conversations.turn.end import end_interrupted
from chatsite.conversations.turn.retry import begin_edit, begin_retry
from chatsite.conversations.turn.rounds import ask_to_stop
from chatsite.errors import BadCommand, PromptTooLarge, TurnRunning
from chatsite.events import TurnStarted
from chatsite.history.settings.choosers import Choice
from chatsite.messages import Message, Source
from chatsite.turns.answer.checkpoints import CheckpointSaver
from chatsite.turns.answer.feed import ConversationFeeds
from chatsite.turns.answer.progress import TurnProgress, TurnServices
from chatsite.turns.answer.retries import CircuitBreaker
from chatsite.turns.answer.writer import AnswerWriter
from chatsite.turns.context.decider import Decider
from chatsite.turns.context.drafts import CacheFacts, Drafts, nothing_known
from chatsite.turns.context.turn_context import (
    NO_HOOKS,
    Contexts,
    PageRequest,
    TurnContext,
    TurnHooks,
)
from chatsite.turns.elsewhere.other_servers import OtherServers
from chatsite.turns.running_turns import RunningTurn, RunningTurns, TurnLimits
from chatsite.turns.snapshots import Describe, Snapshots
from chatsite.wording import say

# For how long an end that can't be stored is tried again: a disk may be full for ever, a database
# that is restarted or fails over is back in 10 to 60 s.
END_SECONDS, END_SECONDS_IN_A_CLUSTER = 1.2, 120.0
# Stores the beginning of a turn.
Store = Callable[[TurnContext], Awaitable[StartedTurn]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Where a user message was written, by whom where that isn't the conversation's owner, and the
    id under which it is stored ("" for a new one)."""

    source: Source = "web"
    speaker: str = ""
    id: str = ""


IN_THE_PAGE = Written()


@dataclass(kw_only=True, eq=False)
class Turns:
    """Begins and stops turns, by conversation; built once by `wiring`."""

    contexts: Contexts
    decider: Decider
    describe: Describe
    limits: TurnLimits
    feeds: ConversationFeeds
    presence: Presence
    others: OtherServers | None = None
    hooks: TurnHooks = NO_HOOKS
    tool_seconds: float = 30.0
    cache_facts: CacheFacts = nothing_known
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.running = RunningTurns(self.limits)
        self.drafts = Drafts(
            contexts=self.contexts, decider=self.decider, cache_facts=self.cache_facts
        )
        self.services = TurnServices(
            decider=self.decider,
            checkpoints=CheckpointSaver(),
            breaker=CircuitBreaker(self.clock),
            clock=self.clock,
            tool_seconds=self.tool_seconds,
            end_seconds=END_SECONDS if self.others is None else END_SECONDS_IN_A_CLUSTER,
        )
        self.snapshots = Snapshots(
            feeds=self.feeds,
            running=self.running,
            presence=self.presence,
            others=self.others,
            contexts=self.contexts,
            describe=self.describe,
            clock=self.clock,
        )

    def is_running(self, conversation: str) -> bool:
        """Whether a turn of this process runs there."""
        return conversation in self.running

    # ---- beginning ---------------------------------------------------------------------------
    async def send(
        self,
        request: PageRequest,
        *,
        client_id: str,
        text: str,
        reply_to: str | None = None,
        attachments: Sequence[str] = (),
        written: Written = IN_THE_PAGE,
    ) -> TurnStarted:
        """Store a user message and start its answer; a resend finds the turn it started.

        `reply_to` is the id of a message on the path, `attachments` those of uploaded files;
        `written` says where the message came from.
        A choice for this answer alone (`request.once`) isn't kept with the conversation.
        Raises BadCommand, Refused (TurnRunning, TooMany), NotFound, PromptTooLarge or
        ProviderError: nothing has been stored then, and the page keeps the draft.
        """
        once = request.once is not None

        async def store(context: TurnContext) -> StartedTurn:
            user = await self._user_message(request, text, attachments, reply_to, written)
            kept = request.history if once else context.page_request.history
            return await self._store_message(context, client_id, user, kept, once=once)

        return await self._start(request, client_id, store, knows_choice=not once)

    async def edit(
        self,
        request: PageRequest,
        *,
        client_id: str,
        message: str,
        text: str,
        attachments: Sequence[str] = (),
    ) -> TurnStarted:
        """Ask the user message `message` of the path otherwise: a new branch, beside the former
        one. It replies to the same message. Raises as `send` does."""

        async def store(context: TurnContext) -> StartedTurn:
            services = self.services
            user = await self._user_message(request, text, attachments)
            (user,) = await services.decider.counter(context).with_counts([user])
            await services.decider.require_room(context, user)
            new = self._new_turn(context, client_id)
            started = await begin_edit(new, message=message, user=user)
            await self.hooks.changed(request)
            return started

        return await self._start(request, client_id, store)

    async def again(
        self,
        request: PageRequest,
        *,
        client_id: str,
        message: str,
        mode: Literal["again", "continue"],
        once: bool = False,
    ) -> TurnStarted:
        """Answer a message of the path once more, or continue the last answer. The request's model
        is kept with the conversation unless it answers `once`. Raises as `send` does."""

        async def store(context: TurnContext) -> StartedTurn:
            new = self._new_turn(context, client_id)
            started = await begin_retry(new, message=message, mode=mode, once=once)
            await self.hooks.changed(request)
            return started

        return await self._start(request, client_id, store)

    async def _user_message(
        self,
        request: PageRequest,
        text: str,
        attachments: Sequence[str],
        reply_to: str | None = None,
        written: Written = IN_THE_PAGE,
    ) -> Message:
        """Raises BadCommand for an empty one, NotFound or Refused for its files."""
        files = await self.drafts.attachments(request, attachments) if attachments else ()
        content = text if text.strip() or not files else None
        user = Message.user(
            content,
            *files,
            id=written.id or str(uuid.uuid4()),
            source=written.source,
            speaker=written.speaker,
            reply_to=reply_to,
        )
        try:
            user.validate()
        except ValueError:
            raise BadCommand(say("There is nothing to send: the message is empty.")) from None
        return user

    async def _start(
        self, request: PageRequest, client_id: str, store: Store, *, knows_choice: bool = False
    ) -> TurnStarted:
        while (known := self.running.get(request.conversation)) is not None:
            await self._require_own(request.owner, request.conversation, known)
            if known.owner != request.owner.key and known.writer is None:
                # Somebody tries with another person's id, and is refused in a moment.
                await asyncio.wait([known.started])
                continue
            if known.client_id != client_id:
                raise TurnRunning(say("An answer is still being written here. Your text is kept."))
            return replace(await asyncio.shield(known.started), resent=True)
        running = self.running.admit(request.conversation, request.owner.key, client_id)
        try:
            started = await self._begin(request, running, store, knows_choice=knows_choice)
        except BaseException as error:
            self.running.forget(request.conversation, running)
            if not running.started.done():
                running.started.set_exception(error)
                running.started.exception()  # marks it as seen: a resend may never ask
            raise
        running.started.set_result(started)
        return started

    async def _require_own(
        self, owner: Owner, conversation: str, running: RunningTurn | None
    ) -> None:
        """Raise NotFound unless the conversation is this owner's. A guest may have signed in since
        the turn began: then only storage knows."""
        if running is None or running.owner != owner.key:
            await agent_of(owner=owner, conversation=conversation)

    async def _begin(
        self, request: PageRequest, running: RunningTurn, store: Store, *, knows_choice: bool
    ) -> TurnStarted:
        await self.hooks.ready(request)
        context, stored = await self._stored(request, store, knows_choice=knows_choice)
        event = _event_of(stored, running.client_id)
        if stored.resent:
            self.running.forget(request.conversation, running)
            return event
        self.hooks.before(context)
        feed = self.feeds.of(request.conversation)
        running.writer = AnswerWriter(TurnProgress(context, stored, feed), self.services)
        # Started before the event goes out: the provider is asked sooner by as long as that takes.
        running.writer.start()
        feed.publish(event)
        running.task = asyncio.create_task(self._write(running.writer, running))
        return event

    async def _stored(
        self, request: PageRequest, store: Store, *, knows_choice: bool
    ) -> tuple[TurnContext, StartedTurn]:
        """`knows_choice`: the request has the kept choice as its page knows it. Only where storage
        finds another one is it read first, which is one more way to a thread and back."""
        while True:
            if knows_choice:
                context = self.contexts.of(request)
            else:
                context = await self.drafts.context(request)
            try:
                return context, await self._stored_once(context, store)
            except AnotherChoice:
                pass
            except PromptTooLarge:
                if not knows_choice:
                    raise
                kept = await self.drafts.with_kept_choice(request)
                if (kept.history, kept.tuning) == (request.history, request.tuning):
                    raise
            knows_choice = False

    async def _stored_once(self, context: TurnContext, store: Store) -> StartedTurn:
        try:
            return await store(context)
        except TurnRunning:
            # Where no other server writes it, it runs in storage only, since this task holds the
            # conversation's place: the end of a turn couldn't be stored, and would block the
            # conversation until a restart.
            of = context.conversation
            ended = await end_interrupted(conversation=of, own=self.presence.id)
            if ended and self.others is not None:
                self.others.reopen(of)
            return await store(context)

    async def _store_message(
        self, context: TurnContext, client_id: str, user: Message, kept: Choice, *, once: bool
    ) -> StartedTurn:
        services = self.services
        # Outside the page nobody reads a greeting.
        greets = user.source == "web"
        greeting = [replace(one, id=str(uuid.uuid4())) for one in context.greeting if greets]
        *greeting, user = await services.decider.counter(context).with_counts([*greeting, user])
        await services.decider.require_room(context, user)
        new = self._new_turn(context, client_id)
        return await begin_turn(new, user=user, greeting=greeting, history=kept, once=once)

    def _new_turn(self, context: TurnContext, client_id: str) -> NewTurn:
        request = context.page_request
        return NewTurn(
            owner=request.owner,
            conversation=request.conversation,
            agent=context.agent.slug,
            client_id=client_id,
            answer=str(uuid.uuid4()),
            reach=context.reach,
            model=request.model,
            tuning=request.tuning,
            server=self.presence.id,
            most=None if self.others is None else self.running.limits.per_owner,
            temporary=request.temporary,
        )

    async def _write(self, writer: AnswerWriter, running: RunningTurn) -> None:
        try:
            await writer.run()
        finally:
            self.running.forget(writer.turn.context.conversation, running)
        self.hooks.after(writer.turn.context)

    async def ended(self, conversation: str, client_id: str) -> None:
        """Wait until no turn that this client id began runs there."""
        running = self.running.get(conversation)
        if running is not None and running.client_id == client_id:
            await asyncio.wait([running.started])
            if running.task is not None:
                await asyncio.wait([running.task])
        elif running is None and self.others is not None:
            await self.others.until_ended(conversation, client_id)

    async def idle(self, conversation: str) -> None:
        """Wait until nothing is being answered there."""
        while (running := self.running.get(conversation)) is not None:
            await self.ended(conversation, running.client_id)
        if self.others is not None:
            await self.others.until_ended(conversation)

    # ---- ending ------------------------------------------------------------------------------
    async def stop(self, owner: Owner, conversation: str) -> bool:
        """Stop the answer being written, from whichever page; False where none is.

        Raises NotFound, the same for a conversation that doesn't exist and for another owner's.
        """
        running = self.running.get(conversation)
        if running is None and self.others is not None:
            server = await ask_to_stop(owner=owner, conversation=conversation)
            if server is not None:
                self.others.ask([server], "stop", conversation)
            return server is not None
        await self._require_own(owner, conversation, running)
        return self.stop_here(conversation)

    def stop_here(self, conversation: str) -> bool:
        """Stop what this server writes there, for somebody who may; False where it writes
        nothing."""
        running = self.running.get(conversation)
        if running is None or running.writer is None:
            return False
        running.writer.cancel("stopped")
        return True


def _event_of(stored: StartedTurn, client_id: str) -> TurnStarted:
    return TurnStarted(
        conversation=stored.conversation,
        turn=stored.turn,
        client_id=client_id,
        messages=stored.messages,
        resent=stored.resent,
        gone_from=stored.gone_from,
        text=stored.text,
        reasoning=stored.reasoning,
    )
