"""Asks agents what people ask outside the page, under the limits that hold in it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from chatsite.channels.channel import Answer, Question
from chatsite.conversations.turn.rounds import answer_of
from chatsite.errors import ChatsiteError, TooMany, TurnRunning
from chatsite.events import TurnStarted
from chatsite.limits.limiter import Limiter
from chatsite.limits.table import MESSAGES
from chatsite.turns.turns import Turns, Written
from chatsite.views import Problem

logger = logging.getLogger("chatsite.channels")
# As long as a person waits in a room without wondering.
ACKNOWLEDGE_SECONDS = 3.0
# Where nobody knows when a place is free.
WAIT_SECONDS = 5.0
# Of a turn that a killed server left: the first message of the answer was never carried anywhere.
AGAIN = ":2"

# Called with the turn's id.
Acknowledge = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Answers questions. Nothing is lost: what is over a limit waits, and what a killed server left
    unanswered is asked once more."""

    turns: Turns
    limiter: Limiter
    acknowledge_seconds: float = ACKNOWLEDGE_SECONDS

    async def answer(self, question: Question, acknowledge: Acknowledge) -> Answer:
        """Gives the question's answer, once it is complete or has failed: the same for the same
        client id, however often the question comes."""
        conversation = question.request.conversation
        known = await self._answer_of(question, question.client_id)
        if known is None:
            return await self._ask(question, acknowledge)
        await self.turns.ended(conversation, question.client_id)
        known = await self._answer_of(question, question.client_id) or known
        if known.state not in ("running", "interrupted"):
            return known
        return await self._ask_again(question, known, acknowledge)

    async def _answer_of(self, question: Question, client_id: str) -> Answer | None:
        return await answer_of(
            owner=question.request.owner,
            conversation=question.request.conversation,
            client_id=client_id,
        )

    async def _ask(self, question: Question, acknowledge: Acknowledge) -> Answer:
        send = partial(
            self.turns.send,
            question.request,
            client_id=question.client_id,
            text=question.text,
            reply_to=question.reply_to,
            attachments=question.attachments,
            written=Written(source=question.source, speaker=question.speaker, id=question.id),
        )
        return await self._written(question, question.client_id, send, acknowledge)

    async def _ask_again(
        self, question: Question, left: Answer, acknowledge: Acknowledge
    ) -> Answer:
        """Lets the answer be written anew, once, after the server was killed while it was
        written."""
        client_id = f"{question.client_id}{AGAIN}"
        if (known := await self._answer_of(question, client_id)) is not None:
            await self.turns.ended(question.request.conversation, client_id)
            return await self._answer_of(question, client_id) or known

        again = partial(
            self.turns.again,
            question.request,
            client_id=client_id,
            message=left.asked,
            mode="again",
        )
        return await self._written(question, client_id, again, acknowledge)

    async def _written(
        self,
        question: Question,
        client_id: str,
        begin: Callable[[], Awaitable[TurnStarted]],
        acknowledge: Acknowledge,
    ) -> Answer:
        try:
            turn = await self._begun(question, begin)
        except ChatsiteError as error:
            return _failed(error.code, error.message)
        async with _after(self.acknowledge_seconds, lambda: acknowledge(turn)):
            await self.turns.ended(question.request.conversation, client_id)
        return await self._answer_of(question, client_id) or _failed("not_found", "")

    async def _begun(self, question: Question, begin: Callable[[], Awaitable[TurnStarted]]) -> str:
        """Waits for the limits, and for an answer that is being written in the conversation.
        Returns the turn's id."""
        conversation = question.request.conversation
        person = question.person or question.request.owner.key
        counted = False
        while True:
            try:
                if not counted:
                    await self.limiter.take(MESSAGES, person=person)
                    counted = True
                return (await begin()).turn
            except TurnRunning:
                await self.turns.idle(conversation)
            except TooMany as error:
                await asyncio.sleep(error.seconds or WAIT_SECONDS)


def _failed(code: str, message: str) -> Answer:
    problem = Problem(code=code, message=message)
    return Answer(turn="", state="failed", text="", problem=problem, receipt=None)


@asynccontextmanager
async def _after(seconds: float, do: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Calls `do` unless the block ends before. What goes wrong with the call harms nothing."""

    async def wait() -> None:
        await asyncio.sleep(seconds)
        try:
            await do()
        except Exception:
            logger.exception("an acknowledgement failed")

    task = asyncio.create_task(wait())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
