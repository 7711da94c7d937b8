"""One answer being written: decide, ask the provider, keep what comes, end exactly once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal

from chatsite.conversations.records import Begun, Ended
from chatsite.errors import ChatsiteError, ProviderError
from chatsite.events import Decided, Problem, State, TurnEnded
from chatsite.messages import UNSOUND, Message
from chatsite.providers.base import Finished, Text, Usage
from chatsite.providers.prices import price_of
from chatsite.turns.answering import Answering
from chatsite.turns.deciding import Asking, Decider, token_counts
from chatsite.turns.feed import Feed, Generation
from chatsite.turns.log import log_decision
from chatsite.turns.requests import fingerprint

logger = logging.getLogger("chatsite.turns")
# What a killed process loses is at most a second of text: saved a little more often than that.
SAVE_SECONDS = 0.8
# Before the second and third attempt to store an answer's end.
AGAIN_SECONDS = (0.2, 1.0)

EMPTY = Problem(
    code="empty_answer", message="The model gave an empty answer. Your message is kept; ask again."
)
NOT_STORED = Problem(
    code="not_stored",
    message="The end of this answer couldn't be stored. What was saved before is kept; ask again.",
)


@dataclass(slots=True)
class Progress:
    """What is known so far of an answer: filled while it is written, read when it ends."""

    generation: Generation
    receipt: dict[str, Any] | None = None
    finished: Finished | None = None
    first_token_ms: int | None = None


@dataclass(slots=True)
class Writing:
    """The task that ends a turn is never cancelled; Stop cancels the work inside it."""

    asking: Asking
    answering: Answering
    begun: Begun
    feed: Feed
    decider: Decider
    clock: Callable[[], float]
    progress: Progress = field(init=False)
    ending: Literal["stopped", "interrupted"] | None = None
    _work: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.progress = Progress(Generation(self.begun.turn))
        self.feed.begin(self.progress.generation)

    def cancel(self, ending: Literal["stopped", "interrupted"]) -> None:
        """End the answer with what has been written; the provider's stream is closed."""
        if self.ending is None:
            self.ending = ending
            if self._work is not None:
                self._work.cancel()

    async def run(self) -> None:
        self._work = asyncio.create_task(self._answer())
        if self.ending is not None:
            self._work.cancel()
        saving = asyncio.create_task(self._keep_saving())
        await asyncio.wait({self._work})
        saving.cancel()
        await asyncio.wait({saving})
        state, problem = self._outcome(self._work)
        await self._end(state, problem)

    async def _answer(self) -> None:
        started = self.clock()
        decision = await self.decider.for_turn(
            self.asking, self.answering, reply_to=self.begun.messages[-1].message.reply_to
        )
        log_decision(decision)
        model = self.answering.model
        receipt = decision.to_dict() | {
            "turn": self.begun.turn,
            "number": self.begun.number,
            "provider": {"kind": model.provider, "model": model.name, "label": model.label},
            "asked": self.answering.parameters,
            # 5 us a message: everybody else's answers would stand still for a long one.
            "fingerprint": await asyncio.to_thread(fingerprint, decision.request),
        }
        self.progress.receipt = receipt
        self.feed.publish(Decided(turn=self.begun.turn, receipt=receipt))
        request = self.answering.request(self.asking.conversation, decision.request)
        async with aclosing(self.answering.provider.stream(request)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Text):
                    if self.progress.first_token_ms is None:
                        self.progress.first_token_ms = round((self.clock() - started) * 1000)
                    # Some providers cut a character in two.
                    self.feed.write(UNSOUND.sub("\N{REPLACEMENT CHARACTER}", chunk.text))
                else:
                    self.progress.finished = chunk

    async def _keep_saving(self) -> None:
        """The text so far and, once, the receipt: a killed server leaves both."""
        saved, receipt = 0, None
        while True:
            await asyncio.sleep(SAVE_SECONDS)
            generation = self.progress.generation
            if generation.length != saved:
                first = receipt is None
                saved, receipt = generation.length, self._receipt()
                try:
                    await self.decider.run(
                        self.decider.writes.checkpoint,
                        turn=self.begun.turn,
                        text=generation.text,
                        receipt=receipt if first else None,
                    )
                except Exception:
                    logger.exception("turn %s couldn't be saved in between", self.begun.turn)

    def _outcome(self, work: asyncio.Task[None]) -> tuple[State, Problem | None]:
        """The turn's last state: complete only with a finish reason and a text."""
        written = self.progress.generation.length > 0
        if work.cancelled():
            return self.ending or "interrupted", None
        error = work.exception()
        if error is not None and self.ending is not None:  # the cancelled stream's own complaint
            return self.ending, None
        if error is None and self.progress.finished is not None:
            return ("complete", None) if written else ("failed", EMPTY)
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
                )
            )

    async def _stored_end(self, state: State, problem: Problem | None) -> Ended | None:
        """Where it can't be stored the readers are told so, and the turn is ended in storage when
        somebody next looks at the conversation: it never blocks it."""
        for seconds in (*AGAIN_SECONDS, None):
            try:
                return await self._store_end(state, problem)
            except Exception:
                logger.exception("turn %s couldn't be ended", self.begun.turn)
            if seconds is not None:
                await asyncio.sleep(seconds)
        return Ended(
            turn=self.begun.turn,
            state="interrupted",
            message=None,
            receipt=None,
            problem=NOT_STORED,
        )

    async def _store_end(self, state: State, problem: Problem | None) -> Ended | None:
        text = self.progress.generation.text
        finished = self.progress.finished
        answer = Message.assistant(
            text, id=self.begun.answer, metadata=finished.metadata if finished else ""
        )
        return await self.decider.run(
            self.decider.writes.end_turn,
            turn=self.begun.turn,
            state=state,
            text=text,
            tokens=await self._count(answer),
            finish_reason=finished.reason if finished else "",
            metadata=answer.metadata,
            receipt=self._receipt(),
            problem=problem,
        )

    async def _count(self, answer: Message) -> Any:
        """The answer's tokens, or None where they can't be counted now: they are made up later."""
        try:
            tokenizer = self.answering.provider.tokenizer(self.answering.model)
            return (await token_counts(tokenizer, [answer]))[0] if answer.content else None
        except Exception:
            logger.exception("turn %s: its answer couldn't be counted", self.begun.turn)
            return None

    def _receipt(self) -> dict[str, Any] | None:
        if self.progress.receipt is None:
            return None
        usage = self.progress.finished.usage if self.progress.finished else None
        reported = {
            "prompt": usage.prompt if usage else None,
            "cached": usage.cached if usage else None,
            "completion": usage.completion if usage else None,
            "cost": self._cost(usage) if usage else None,
            "first_token_ms": self.progress.first_token_ms,
        }
        return self.progress.receipt | {"reported": reported}

    def _cost(self, usage: Usage) -> float | None:
        """In US dollars, estimated from list prices; None where the price or the count of the
        prompt isn't known."""
        price = price_of(self.answering.model.provider, self.answering.model.name)
        if price is None or usage.prompt is None:
            return None
        return price.cost(
            prompt=usage.prompt, cached=usage.cached or 0, answer=usage.completion or 0
        )
