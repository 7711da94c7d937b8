"""One answer being written: its work is begun, saved meanwhile, and ended exactly once."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from chatsite.conversations.records import Checkpoint, FinishedTurn
from chatsite.conversations.turn.end import end_turn
from chatsite.conversations.versions.versions import finish_branches
from chatsite.errors import ChatsiteError, ProviderError, Refused
from chatsite.events import PathChanged, TurnEnded
from chatsite.messages import Message, TokenCount
from chatsite.providers.base.provider import Finished
from chatsite.turns.answer.progress import TurnProgress, TurnServices
from chatsite.turns.answer.rounds import Rounds
from chatsite.views import Problem, State
from chatsite.wording import later, say

logger = logging.getLogger("chatsite.turns")
# An answer's id, its length and the decision that it was asked with.
_State = tuple[str, int, Mapping[str, Any] | None]
# A panic in a library written in Rust is neither an Exception nor one of these; nothing but these
# may keep a turn from its end.
_NOT_CAUGHT = (asyncio.CancelledError, KeyboardInterrupt, SystemExit)
# Before the second attempt to store an answer's end, and the following ones.
AGAIN_SECONDS, LATER_SECONDS = 0.2, 1.0

EMPTY = Problem(
    code="empty_answer",
    message=later("The model gave an empty answer. Your message is kept; ask again."),
)
EMPTY_BECAUSE = {
    "length": Problem(
        code="empty_answer",
        message=later(
            "The model reached this agent's length limit before it said anything. Your message is "
            "kept; ask again, or have the limit raised."
        ),
    ),
    "content_filter": Problem(
        code="content_filter",
        message=later(
            "The provider's content filter stopped the answer. Your message is kept; ask in other "
            "words."
        ),
    ),
}
NOT_STORED = Problem(
    code="not_stored",
    message=later(
        "The end of this answer couldn't be stored. What was saved before is kept; ask again."
    ),
)


@dataclass(slots=True, eq=False)
class AnswerWriter:
    """The task that ends a turn is never cancelled; Stop cancels the work inside it."""

    turn: TurnProgress
    services: TurnServices
    ending: Literal["stopped", "interrupted"] | None = None
    _work: asyncio.Task[None] | None = None
    _refused: Refused | None = None
    _seen: _State = ("", 0, None)
    _saved: _State = ("", 0, None)

    def cancel(self, ending: Literal["stopped", "interrupted"]) -> None:
        """End the answer with what has been written; the provider's stream is closed."""
        if self.ending is None:
            self.ending = ending
            if self._work is not None:
                self._work.cancel()

    def no_room(self, refused: Refused) -> None:
        """End the answer as it is: its owner's quota or the disk is full."""
        self._refused = refused
        self.cancel("interrupted")

    def start(self) -> None:
        """Begin the work; `run` waits for it."""
        self._work = asyncio.create_task(Rounds(self.turn, self.services).run())

    async def run(self) -> None:
        assert self._work is not None
        with self.services.checkpoints.saving(self):
            await asyncio.wait({self._work})
        state, problem = self._outcome(self._work)
        await self._end(state, problem)

    def unsaved(self) -> Checkpoint | None:
        """What has been written since it was last `saved`, with the receipt where that is new."""
        turn, generation = self.turn, self.turn.generation
        answer, length, receipt = self._saved
        self._seen = (turn.answer, generation.length, turn.receipt)
        if self._seen[:2] == (answer, length):
            return None
        return Checkpoint(
            turn=self.turn.id,
            answer=turn.answer,
            text=generation.text,
            reasoning=generation.reasoning,
            receipt=None if turn.receipt is receipt else turn.full_receipt(),
        )

    def saved(self) -> None:
        self._saved = self._seen

    def _outcome(self, work: asyncio.Task[None]) -> tuple[State, Problem | None]:
        """The turn's last state: complete only with a finish reason and a text."""
        if self._refused is not None:
            return "interrupted", Problem(code=self._refused.code, message=self._refused.message)
        if work.cancelled():
            return self.ending or "interrupted", None
        error = work.exception()
        if error is not None and self.ending is not None:  # the cancelled stream's own complaint
            return self.ending, None
        if error is None and self.turn.finished is not None:
            return self._whole(self.turn.finished)
        if error is None:
            error = ProviderError(say("The answer broke off."), code="interrupted")
        written = self.turn.generation.length or any(round.calls for round in self.turn.rounds)
        state: State = "interrupted" if written else "failed"
        if not isinstance(error, ChatsiteError):
            logger.error("turn %s failed", self.turn.id, exc_info=error)
            return state, Problem(
                code="internal", message=say("Something went wrong here. What you wrote is kept.")
            )
        if isinstance(error, ProviderError) and error.detail:
            logger.warning("turn %s: %s (%s)", self.turn.id, error.code, error.detail)
        wait = error.retry_after if isinstance(error, ProviderError) else None
        seconds = math.ceil(wait or 0)
        return state, Problem(code=error.code, message=error.message, seconds=seconds)

    def _whole(self, finished: Finished) -> tuple[State, Problem | None]:
        """The state of an answer that arrived whole."""
        if not self.turn.generation.text.strip():
            return "failed", EMPTY_BECAUSE.get(finished.reason, EMPTY).said()
        cut = self.turn.cut
        return "complete", Problem(code="server_cut", message=cut.sentence) if cut else None

    async def _end(self, state: State, problem: Problem | None) -> None:
        """Store answer, receipt and usage in one transaction, then send the event."""
        ended = await self._stored_end(state, problem)
        self.turn.feed.end()
        if ended is None:
            self.turn.feed.reopen()
        else:
            self.turn.feed.publish(
                TurnEnded(
                    turn=ended.turn,
                    state=ended.state,
                    message=ended.message,
                    reported=self.turn.report() if self.turn.receipt else None,
                    problem=ended.problem,
                    messages=ended.messages,
                )
            )
            if ended.below is not None:
                of = self.turn.context.conversation
                await finish_branches(conversation=of)
                self.turn.feed.publish(PathChanged(below=ended.below))

    async def _stored_end(self, state: State, problem: Problem | None) -> FinishedTurn | None:
        """Where the end can't be stored, the readers get an event that says so, and the turn is
        ended in storage when the conversation is next opened: it never blocks it."""
        waited, seconds = 0.0, AGAIN_SECONDS
        while True:
            try:
                return await self._store_end(state, problem)
            except _NOT_CAUGHT:
                raise
            except BaseException as error:
                logger.error(
                    "turn %s couldn't be ended", self.turn.id, exc_info=None if waited else error
                )
            if waited >= self.services.end_seconds:
                break
            await asyncio.sleep(seconds)
            waited, seconds = waited + seconds, LATER_SECONDS
        return FinishedTurn(
            turn=self.turn.id,
            state="interrupted",
            message=None,
            problem=NOT_STORED.said(),
        )

    async def _store_end(self, state: State, problem: Problem | None) -> FinishedTurn | None:
        generation, finished = self.turn.generation, self.turn.finished
        text, reasoning = generation.text, generation.reasoning
        answer = Message.assistant(
            text,
            id=self.turn.answer,
            reasoning=reasoning or None,
            metadata=finished.metadata if finished else "",
        )
        return await end_turn(
            turn=self.turn.id,
            state=state,
            text=text,
            reasoning=reasoning,
            tokens=await self._count(answer),
            finish_reason=finished.reason if finished else "",
            metadata=answer.metadata,
            receipt=self.turn.full_receipt(),
            problem=problem,
        )

    async def _count(self, answer: Message) -> TokenCount | None:
        """The answer's tokens, or None where they can't be counted now: they are made up later."""
        if not answer.content:
            return None
        try:
            counter = self.services.decider.counter(self.turn.context)
            return (await counter.of([answer]))[0]
        except _NOT_CAUGHT:
            raise
        except BaseException:
            logger.exception("turn %s: its answer couldn't be counted", self.turn.id)
            return None
