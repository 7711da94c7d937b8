"""Every turn of the process. A turn is a task of its own: closing a page doesn't end it."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from chatsite.conversations.records import Begun, Opened
from chatsite.errors import BadCommand, ChatsiteError, NotFound, TooMany, TurnRunning
from chatsite.events import Engine, Event, Snapshot, TurnStarted, TurnView
from chatsite.history import Settings
from chatsite.messages import Message
from chatsite.providers.base import Status
from chatsite.turns.answering import Answering, nobody
from chatsite.turns.deciding import Asking, Decider, greetings, token_counts
from chatsite.turns.feed import Feed, Reader
from chatsite.turns.offering import Offering
from chatsite.turns.writing import Writing


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """How many answers may be written at once."""

    answers: int
    per_owner: int


# What makes way for a turn, and what is begun after its end; neither is waited for.
BeforeTurn = Callable[[Answering], None]
AfterTurn = Callable[[Asking, Answering, Settings], None]


@dataclass(slots=True, eq=False)
class Running:
    """A turn from the moment it is admitted until it has ended."""

    owner: str
    client_id: str
    started: asyncio.Future[TurnStarted]
    writing: Writing | None = None
    task: asyncio.Task[None] | None = None


class Turns:
    """Begins, follows and stops turns, by conversation; built once by `wiring`."""

    def __init__(
        self,
        *,
        decider: Decider,
        answering: Callable[[str], Answering],
        describe: Callable[[str], dict[str, Any] | None],
        caps: Caps,
        clock: Callable[[], float] = time.monotonic,
        before_turn: BeforeTurn = lambda answering: None,
        after_turn: AfterTurn = lambda asking, answering, settings: None,
    ) -> None:
        self.decider = decider
        self.answering = answering
        self.describe = describe
        self.caps = caps
        self.clock = clock
        self.before_turn = before_turn
        self.after_turn = after_turn
        self.offering = Offering(decider.environment)
        self._feeds: dict[str, Feed] = {}
        self._running: dict[str, Running] = {}
        self._owners: Counter[str] = Counter()
        self._draining = False

    # ---- following ---------------------------------------------------------------------------
    def _feed(self, conversation: str) -> Feed:
        feed = self._feeds.get(conversation)
        if feed is None:
            feed = Feed(self.clock, lambda: self._feeds.pop(conversation, None))
            self._feeds[conversation] = feed
        return feed

    def publish(self, conversation: str, event: Event) -> None:
        """Tell whoever has the conversation open."""
        if conversation in self._feeds:
            self._feeds[conversation].publish(event)

    async def open(self, asking: Asking) -> tuple[Snapshot, Reader]:
        """A snapshot and a reader of all that follows; close the reader when done.

        The reader is there before the snapshot is read, so that nothing falls between: an event
        may come twice, never not at all. Raises NotFound for another owner's conversation.
        """
        reader = self._feed(asking.conversation).join()
        try:
            return await self._snapshot(asking, reader), reader
        except BaseException:
            reader.close()
            raise

    async def _snapshot(self, asking: Asking, reader: Reader) -> Snapshot:
        opened = await self._opened(asking)
        if opened.running is not None and asking.conversation not in self._running:
            # This turn alone: the next one may begin while we wait.
            await self.decider.run(self.decider.writes.end_interrupted, turn=opened.running)
            opened = await self._opened(asking)
        agent = opened.conversation.agent if opened.conversation else asking.agent
        described = self.describe(agent)
        if opened.conversation is None and described is None:
            raise NotFound("There is no such agent.")
        turn = None
        if opened.running is not None:
            generation = self._feed(asking.conversation).generation
            if generation is not None and generation.turn == opened.running:
                text = reader.join(generation)
            else:
                text = ""
            turn = TurnView(id=opened.running, user_message=opened.running_user or "", text=text)
        return Snapshot(
            conversation_id=asking.conversation,
            conversation=opened.conversation,
            agent=described or nobody(agent),
            messages=opened.messages,
            earlier=opened.earlier,
            turn=turn,
            receipt=opened.receipt,
            engine=self.engine(agent).to_dict(),
            forget_above=opened.forget_above,
            summary=opened.summary,
        )

    async def _opened(self, asking: Asking) -> Opened:
        return await self.decider.run(
            self.decider.reads.open_conversation,
            owner=asking.owner,
            conversation=asking.conversation,
        )

    def engine(self, agent: str) -> Engine:
        """Whether the agent's provider can answer now."""
        try:
            status = self.answering(agent).provider.status()
        except ChatsiteError as error:
            status = Status(state="unavailable", sentence=error.message)
        return Engine(
            state=status.state,
            sentence=status.sentence,
            progress=status.progress,
            provider=(self.describe(agent) or nobody(agent))["provider"],
        )

    async def preview(
        self, asking: Asking, draft: str, *, reply_to: str | None = None
    ) -> dict[str, Any]:
        """What the draft would be sent with; nothing is stored and no model is called."""
        answering = self.answering(asking.agent)
        decision = await self.decider.for_draft(asking, answering, draft, reply_to=reply_to)
        return decision.to_dict() | {"offers": self.offering.offers(asking, answering)}

    # ---- beginning ---------------------------------------------------------------------------
    async def send(
        self, asking: Asking, *, client_id: str, text: str, reply_to: str | None = None
    ) -> TurnStarted:
        """Store a user message and start its answer; a resend finds the turn it started.

        `reply_to` is the id of a message on the path. Raises BadCommand, Refused (TurnRunning,
        TooMany), NotFound, PromptTooLarge or ProviderError: nothing has been stored then, and
        the page keeps the draft.
        """
        known = self._running.get(asking.conversation)
        if known is not None:
            await self._require_own(asking, known)
            if known.client_id != client_id:
                raise TurnRunning("An answer is still being written here. Your text is kept.")
            return replace(await asyncio.shield(known.started), resent=True)
        self._admit(asking.owner.key)
        running = Running(asking.owner.key, client_id, asyncio.Future())
        self._running[asking.conversation] = running
        self._owners[running.owner] += 1
        try:
            started = await self._begin(asking, running, text, reply_to)
        except BaseException as error:
            self._forget(asking.conversation, running)
            if not running.started.done():
                running.started.set_exception(error)
                running.started.exception()  # marks it as seen: a resend may never ask
            raise
        running.started.set_result(started)
        return started

    async def _require_own(self, asking: Asking, running: Running | None) -> None:
        """Raise NotFound unless the conversation is this owner's. A guest may have signed in since
        the turn began: then only storage knows."""
        if running is None or running.owner != asking.owner.key:
            await self.decider.run(
                self.decider.reads.agent_of, owner=asking.owner, conversation=asking.conversation
            )

    def _admit(self, owner: str) -> None:
        if self._draining:
            raise TooMany("The server is restarting. Your text is kept; send it again in a moment.")
        if self._owners[owner] >= self.caps.per_owner:
            raise TooMany(
                f"{self.caps.per_owner} answers of yours are being written. "
                "Wait for one to end or stop one; your text is kept."
            )
        if len(self._running) >= self.caps.answers:
            raise TooMany("Too many answers are being written right now. Your text is kept.")

    async def _begin(
        self, asking: Asking, running: Running, text: str, reply_to: str | None
    ) -> TurnStarted:
        answering = self.answering(asking.agent)
        user = Message.user(text, id=str(uuid.uuid4()), reply_to=reply_to)
        try:
            user.validate()
        except ValueError:
            raise BadCommand("There is nothing to send: the message is empty.") from None
        try:
            begun = await self._store(asking, answering, running.client_id, user)
        except TurnRunning:
            # In storage only, since this task has the conversation's place: the end of a turn
            # couldn't be stored, and would block the conversation until a restart.
            await self.decider.run(
                self.decider.writes.end_interrupted, conversation=asking.conversation
            )
            begun = await self._store(asking, answering, running.client_id, user)
        started = TurnStarted(
            conversation=begun.conversation,
            turn=begun.turn,
            client_id=running.client_id,
            messages=begun.messages,
            resent=begun.resent,
        )
        if begun.resent:
            self._forget(asking.conversation, running)
            return started
        self.before_turn(answering)
        feed = self._feed(asking.conversation)
        running.writing = Writing(asking, answering, begun, feed, self.decider, self.clock)
        feed.publish(started)
        running.task = asyncio.create_task(self._write(asking.conversation, running))
        return started

    async def _store(
        self, asking: Asking, answering: Answering, client_id: str, user: Message
    ) -> Begun:
        greeting = [replace(said, id=str(uuid.uuid4())) for said in greetings(answering)]
        tokenizer = answering.provider.tokenizer(answering.model)
        messages = [*greeting, user]
        counts = await token_counts(tokenizer, messages)
        counted = [replace(m, tokens=count) for m, count in zip(messages, counts, strict=True)]
        await self.decider.require_room(asking, answering, counted[-1])
        return await self.decider.run(
            self.decider.writes.begin_turn,
            owner=asking.owner,
            conversation=asking.conversation,
            agent=asking.agent,
            client_id=client_id,
            user=counted[-1],
            answer=str(uuid.uuid4()),
            greeting=counted[:-1],
        )

    async def _write(self, conversation: str, running: Running) -> None:
        assert running.writing is not None
        try:
            await running.writing.run()
        finally:
            self._forget(conversation, running)
        asking, answering = running.writing.asking, running.writing.answering
        self.after_turn(asking, answering, self.decider.settings(asking, answering))

    def _forget(self, conversation: str, running: Running) -> None:
        if self._running.get(conversation) is running:
            del self._running[conversation]
            self._owners[running.owner] -= 1
            if self._owners[running.owner] <= 0:
                del self._owners[running.owner]

    # ---- ending ------------------------------------------------------------------------------
    async def stop(self, asking: Asking) -> bool:
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
        self._draining = True
        tasks = {running.task for running in self._running.values() if running.task}
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=seconds)
        for running in list(self._running.values()):
            if running.writing is not None:
                running.writing.cancel("interrupted")
        if late:
            await asyncio.wait(late)
