"""One answer being written: its work is begun, saved meanwhile, and ended exactly once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from chatsite.conversations.values.records import Checkpoint, FinishedTurn, StartedTurn
from chatsite.errors import ChatsiteError, ProviderError
from chatsite.events import TurnEnded
from chatsite.messages import Message, TokenCount
from chatsite.providers.base.provider import Finished
from chatsite.turns.answer.checkpoints import CheckpointSaver
from chatsite.turns.answer.feed import Feed, Generation
from chatsite.turns.answer.progress import TurnProgress
from chatsite.turns.answer.rounds import Rounds
from chatsite.turns.context.decider import Decider
from chatsite.views import Problem, State

logger = logging.getLogger("chatsite.turns")
# An answer's id, its length and the decision that it was asked with.
_State = tuple[str, int, Mapping[str, Any] | None]
# Before the second and third attempt to store an answer's end.
AGAIN_SECONDS = (0.2, 1.0)

EMPTY = Problem(
    code="empty_answer", message="The model gave an empty answer. Your message is kept; ask again."
)
EMPTY_BECAUSE = {
    "length": Problem(
        code="empty_answer",
        message="The model used up the longest length this agent allows before it said anything. "
        "Your message is kept; ask again, or have the limit raised.",
    ),
    "content_filter": Problem(
        code="content_filter",
        message="The provider's filter held the answer back. Your message is kept; ask in other "
        "words.",
    ),
}
NOT_STORED = Problem(
    code="not_stored",
    message="The end of this answer couldn't be stored. What was saved before is kept; ask again.",
)


@dataclass(slots=True, eq=False)
class AnswerWriter:
    """The task that ends a turn is never cancelled; Stop cancels the work inside it."""

    begun: StartedTurn
    feed: Feed
    decider: Decider
    saver: CheckpointSaver
    work: Callable[[TurnProgress], Rounds]
    progress: TurnProgress = field(init=False)
    rounds: Rounds = field(init=False)
    ending: Literal["stopped", "interrupted"] | None = None
    _work: asyncio.Task[None] | None = None
    _seen: _State = ("", 0, None)
    _saved: _State = ("", 0, None)

    def __post_init__(self) -> None:
        begun = self.begun
        generation = Generation(begun.turn, text=begun.text, reasoning=begun.reasoning)
        self.progress = TurnProgress(begun.answer, generation)
        self.feed.begin(generation)
        self.rounds = self.work(self.progress)

    def cancel(self, ending: Literal["stopped", "interrupted"]) -> None:
        """End the answer with what has been written; the provider's stream is closed."""
        if self.ending is None:
            self.ending = ending
            if self._work is not None:
                self._work.cancel()

    def start(self) -> None:
        """Begin the work; `run` sees it through."""
        self._work = asyncio.create_task(self.rounds.run())

    async def run(self) -> None:
        assert self._work is not None
        with self.saver.saving(self):
            await asyncio.wait({self._work})
        state, problem = self._outcome(self._work)
        await self._end(state, problem)

    def unsaved(self) -> Checkpoint | None:
        """What has been written since it was last `saved`, with the receipt where that is new."""
        progress, generation = self.progress, self.progress.generation
        answer, length, receipt = self._saved
        self._seen = (progress.answer, generation.length, progress.receipt)
        if self._seen[:2] == (answer, length):
            return None
        return Checkpoint(
            turn=self.begun.turn,
            answer=progress.answer,
            text=generation.text,
            reasoning=generation.reasoning,
            receipt=None if progress.receipt is receipt else self._receipt(),
        )

    def saved(self) -> None:
        self._saved = self._seen

    def _outcome(self, work: asyncio.Task[None]) -> tuple[State, Problem | None]:
        """The turn's last state: complete only with a finish reason and a text."""
        written = self.progress.has_written
        if work.cancelled():
            return self.ending or "interrupted", None
        error = work.exception()
        if error is not None and self.ending is not None:  # the cancelled stream's own complaint
            return self.ending, None
        if error is None and self.progress.finished is not None:
            return self._whole(self.progress.finished)
        if error is None:
            error = ProviderError("The answer broke off.", code="interrupted")
        state: State = "interrupted" if written else "failed"
        if not isinstance(error, ChatsiteError):
            logger.error("turn %s failed", self.begun.turn, exc_info=error)
            return state, Problem(
                code="internal", message="Something went wrong here. What you wrote is kept."
            )
        if isinstance(error, ProviderError) and error.detail:
            logger.warning("turn %s: %s (%s)", self.begun.turn, error.code, error.detail)
        return state, Problem(code=error.code, message=error.message)

    def _whole(self, finished: Finished) -> tuple[State, Problem | None]:
        """Of an answer that came to its end."""
        if not self.progress.generation.text.strip():
            return "failed", EMPTY_BECAUSE.get(finished.reason, EMPTY)
        cut = self.progress.cut
        return "complete", Problem(code="server_cut", message=cut.sentence) if cut else None

    async def _end(self, state: State, problem: Problem | None) -> None:
        """Store answer, receipt and usage in one transaction, then tell the readers."""
        ended = await self._stored_end(state, problem)
        self.feed.end()
        if ended is not None:
            self.feed.publish(
                TurnEnded(
                    turn=ended.turn,
                    state=ended.state,
                    message=ended.message,
                    receipt=ended.receipt,
                    problem=ended.problem,
                    messages=ended.messages,
                )
            )

    async def _stored_end(self, state: State, problem: Problem | None) -> FinishedTurn | None:
        """Where it can't be stored the readers are told so, and the turn is ended in storage when
        somebody next looks at the conversation: it never blocks it."""
        for seconds in (*AGAIN_SECONDS, None):
            try:
                return await self._store_end(state, problem)
            except Exception:
                logger.exception("turn %s couldn't be ended", self.begun.turn)
            if seconds is not None:
                await asyncio.sleep(seconds)
        return FinishedTurn(
            turn=self.begun.turn,
            state="interrupted",
            message=None,
            receipt=None,
            problem=NOT_STORED,
        )

    async def _store_end(self, state: State, problem: Problem | None) -> FinishedTurn | None:
        generation, finished = self.progress.generation, self.progress.finished
        answer = Message.assistant(
            generation.text,
            id=self.progress.answer,
            reasoning=generation.reasoning or None,
            metadata=finished.metadata if finished else "",
        )
        return await self.decider.run(
            self.decider.writes.end_turn,
            turn=self.begun.turn,
            state=state,
            text=generation.text,
            reasoning=generation.reasoning,
            tokens=await self._count(answer),
            finish_reason=finished.reason if finished else "",
            metadata=answer.metadata,
            receipt=self._receipt(),
            problem=problem,
        )

    async def _count(self, answer: Message) -> TokenCount | None:
        """The answer's tokens, or None where they can't be counted now: they are made up later."""
        if not answer.content:
            return None
        try:
            counting = self.decider.counting(self.rounds.asking, self.rounds.answering)
            return (await counting.of([answer]))[0]
        except Exception:
            logger.exception("turn %s: its answer couldn't be counted", self.begun.turn)
            return None

    def _receipt(self) -> dict[str, Any] | None:
        model = self.rounds.answering.model
        return self.progress.full_receipt(model.price)
