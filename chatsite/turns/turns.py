"""Every turn of the process. A turn is a task of its own: closing a page doesn't end it."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from chatsite.conversations.values.records import StartedTurn
from chatsite.errors import BadCommand, TurnRunning
from chatsite.events import TurnStarted
from chatsite.history import Settings
from chatsite.messages import Attachment, Message
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.turns.answer.checkpoints import CheckpointSaver
from chatsite.turns.answer.circuit_breaker import CircuitBreaker
from chatsite.turns.answer.progress import TurnProgress
from chatsite.turns.answer.rounds import Rounds
from chatsite.turns.answer.writer import AnswerWriter
from chatsite.turns.context.decider import Decider
from chatsite.turns.context.file_forms import draft_file_notes
from chatsite.turns.context.policy_offers import Offering
from chatsite.turns.context.turn_context import PageRequest, greeting_messages
from chatsite.turns.ports import Uploads
from chatsite.turns.registry import RunningTurn, RunningTurns, TurnLimits
from chatsite.turns.snapshots import AgentResolver, Following

# What makes way for a turn, and what is begun after its end; neither is waited for.
BeforeTurn = Callable[[PageRequest, ResolvedAgent], None]
AfterTurn = Callable[[PageRequest, ResolvedAgent, Settings], None]
# Waited for.
Meanwhile = Callable[[PageRequest], Awaitable[None]]


async def _nothing(asking: PageRequest) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnHooks:
    """What others do around turns: what must be `ready` before it is known who answers, `before`
    an answer is begun, `after` it has ended, and when a path `changed` otherwise than by growing.
    """

    ready: Meanwhile = _nothing
    before: BeforeTurn = lambda asking, answering: None
    after: AfterTurn = lambda asking, answering, settings: None
    changed: Meanwhile = _nothing


NO_HOOKS = TurnHooks()


class Turns(Following):
    """Begins and stops turns, by conversation; built once by `wiring`."""

    def __init__(
        self,
        *,
        decider: Decider,
        answering: AgentResolver,
        describe: Callable[[str], dict[str, Any] | None],
        caps: TurnLimits,
        uploads: Uploads | None = None,
        clock: Callable[[], float] = time.monotonic,
        around: TurnHooks = NO_HOOKS,
        tool_seconds: float = 30.0,
    ) -> None:
        super().__init__(decider=decider, answering=answering, describe=describe, clock=clock)
        self.uploads = uploads
        self.around = around
        self.tool_seconds = tool_seconds
        self.offering = Offering(decider.environment)
        self.breaker = CircuitBreaker(clock)
        self.saver = CheckpointSaver(decider.run, decider.writes)
        self._running = RunningTurns(caps)
        self._toolless: set[str] = set()

    def is_running(self, conversation: str) -> bool:
        return conversation in self._running

    async def preview(
        self,
        asking: PageRequest,
        draft: str,
        *,
        reply_to: str | None = None,
        attachments: Sequence[str] = (),
    ) -> dict[str, Any]:
        """What the draft would be sent with; nothing is stored and no model is called."""
        answering = self.answering(asking.agent, asking.model, staff=asking.staff)
        attached = await self.attachments(asking, attachments)
        decision = await self.decider.for_draft(
            asking, answering, draft, reply_to=reply_to, attachments=attached
        )
        return decision.to_dict() | {
            "files": list(draft_file_notes(decision.request, attached, answering.model)),
            "offers": self.offering.offers(asking, answering),
        }

    async def attachments(self, asking: PageRequest, ids: Sequence[str]) -> tuple[Attachment, ...]:
        """Raises NotFound or Refused for what can't be attached here by this owner."""
        if not ids:
            return ()
        if self.uploads is None:
            raise BadCommand("Files can't be sent here.")
        return await self.decider.run(
            self.uploads.attachments_of, asking.owner, ids, conversation=asking.conversation
        )

    # ---- beginning ---------------------------------------------------------------------------
    async def send(
        self,
        asking: PageRequest,
        *,
        client_id: str,
        text: str,
        reply_to: str | None = None,
        attachments: Sequence[str] = (),
    ) -> TurnStarted:
        """Store a user message and start its answer; a resend finds the turn it started.

        `reply_to` is the id of a message on the path, `attachments` those of uploaded files.
        Raises BadCommand, Refused (TurnRunning, TooMany), NotFound, PromptTooLarge or
        ProviderError: nothing has been stored then, and the page keeps the draft.
        """

        async def stored(answering: ResolvedAgent) -> StartedTurn:
            found = await self.attachments(asking, attachments)
            said = text if text.strip() or not found else None
            user = Message.user(said, *found, id=_new_id(), reply_to=reply_to)
            try:
                user.validate()
            except ValueError:
                raise BadCommand("There is nothing to send: the message is empty.") from None
            return await self._store(asking, answering, client_id, user)

        return await self._start(asking, client_id, stored)

    async def again(
        self,
        asking: PageRequest,
        *,
        client_id: str,
        message: str,
        mode: Literal["again", "continue"],
    ) -> TurnStarted:
        """Answer the last message once more, or write its answer further. Raises as `send` does."""

        async def stored(answering: ResolvedAgent) -> StartedTurn:
            begun = await self.decider.run(
                self.decider.writes.begin_retry,
                owner=asking.owner,
                conversation=asking.conversation,
                agent=asking.agent,
                client_id=client_id,
                message=message,
                mode=mode,
                answer=_new_id(),
                reach=self.decider.reach(asking, answering),
                model=asking.model,
            )
            await self.around.changed(asking)
            return begun

        return await self._start(asking, client_id, stored)

    async def _start(
        self,
        asking: PageRequest,
        client_id: str,
        store: Callable[[ResolvedAgent], Awaitable[StartedTurn]],
    ) -> TurnStarted:
        known = self._running.get(asking.conversation)
        if known is not None:
            await self._require_own(asking, known)
            if known.client_id != client_id:
                raise TurnRunning("An answer is still being written here. Your text is kept.")
            return replace(await asyncio.shield(known.started), resent=True)
        running = self._running.admit(asking.conversation, asking.owner.key, client_id)
        try:
            started = await self._begin(asking, running, store)
        except BaseException as error:
            self._running.forget(asking.conversation, running)
            if not running.started.done():
                running.started.set_exception(error)
                running.started.exception()  # marks it as seen: a resend may never ask
            raise
        running.started.set_result(started)
        return started

    async def _require_own(self, asking: PageRequest, running: RunningTurn | None) -> None:
        """Raise NotFound unless the conversation is this owner's. A guest may have signed in since
        the turn began: then only storage knows."""
        if running is None or running.owner != asking.owner.key:
            await self.decider.run(
                self.decider.reads.agent_of, owner=asking.owner, conversation=asking.conversation
            )

    async def _begin(
        self,
        asking: PageRequest,
        running: RunningTurn,
        store: Callable[[ResolvedAgent], Awaitable[StartedTurn]],
    ) -> TurnStarted:
        await self.around.ready(asking)
        answering = self.answering(asking.agent, asking.model, staff=asking.staff)
        try:
            begun = await store(answering)
        except TurnRunning:
            # In storage only, since this task has the conversation's place: the end of a turn
            # couldn't be stored, and would block the conversation until a restart.
            await self.decider.run(
                self.decider.writes.end_interrupted, conversation=asking.conversation
            )
            begun = await store(answering)
        started = TurnStarted(
            conversation=begun.conversation,
            turn=begun.turn,
            client_id=running.client_id,
            messages=begun.messages,
            resent=begun.resent,
            gone=begun.gone,
            text=begun.text,
            reasoning=begun.reasoning,
        )
        if begun.resent:
            self._running.forget(asking.conversation, running)
            return started
        self.around.before(asking, answering)
        feed = self.feed(asking.conversation)

        def rounds(progress: TurnProgress) -> Rounds:
            return Rounds(
                asking=asking,
                answering=answering,
                begun=begun,
                feed=feed,
                decider=self.decider,
                progress=progress,
                breaker=self.breaker,
                clock=self.clock,
                tool_seconds=self.tool_seconds,
                toolless=self._toolless,
            )

        running.writing = AnswerWriter(begun, feed, self.decider, self.saver, rounds)
        # Begun before it is told: the provider is asked sooner by as long as telling takes.
        running.writing.start()
        feed.publish(started)
        running.task = asyncio.create_task(self._write(asking, answering, running))
        return started

    async def _store(
        self, asking: PageRequest, answering: ResolvedAgent, client_id: str, user: Message
    ) -> StartedTurn:
        greeting = [replace(said, id=_new_id()) for said in greeting_messages(answering)]
        messages = [*greeting, user]
        counts = await self.decider.counting(asking, answering).of(messages)
        counted = [replace(m, tokens=count) for m, count in zip(messages, counts, strict=True)]
        await self.decider.require_room(asking, answering, counted[-1])
        return await self.decider.run(
            self.decider.writes.begin_turn,
            owner=asking.owner,
            conversation=asking.conversation,
            agent=asking.agent,
            client_id=client_id,
            user=counted[-1],
            answer=_new_id(),
            greeting=counted[:-1],
            reach=self.decider.reach(asking, answering),
            model=asking.model,
        )

    async def _write(
        self, asking: PageRequest, answering: ResolvedAgent, running: RunningTurn
    ) -> None:
        assert running.writing is not None
        try:
            await running.writing.run()
        finally:
            self._running.forget(asking.conversation, running)
        self.around.after(asking, answering, self.decider.settings(asking, answering))

    # ---- ending ------------------------------------------------------------------------------
    async def stop(self, asking: PageRequest) -> bool:
        """Stop the answer being written, from whichever page; False where none is.

        Raises NotFound, the same for a conversation that isn't there and for another's.
        """
        running = self._running.get(asking.conversation)
        await self._require_own(asking, running)
        if running is None or running.writing is None:
            return False
        running.writing.cancel("stopped")
        return True

    async def drain(self, seconds: float) -> None:
        """Refuse new turns, let those under way end, then keep what is written of the rest."""
        await self._running.drain(seconds)


def _new_id() -> str:
    return str(uuid.uuid4())
