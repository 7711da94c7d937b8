"""The work of a turn: decide, ask, let tools run, and again, until the model has answered."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from chatsite.conversations.path.queries import current_owner
from chatsite.errors import ProviderError
from chatsite.events import Calling, Reading, Waiting
from chatsite.history import Decision
from chatsite.messages import UNSOUND, repair_text
from chatsite.providers.base.provider import (
    CallBegun,
    Chunk,
    Divided,
    Finished,
    PromptProgress,
    PromptRead,
    ReasoningPiece,
    Request,
    TextPiece,
)
from chatsite.turns.answer.feed import Part
from chatsite.turns.answer.progress import TurnProgress, TurnServices
from chatsite.turns.answer.retries import open_answer
from chatsite.turns.answer.round_request import RoundRequest, decide_round, publish_decision
from chatsite.turns.answer.tool_calls import ToolRound
from chatsite.wording import later, say

LAST_ROUND = later(
    "The model called tools in {rounds} rounds, as many as this agent allows. It was then asked to "
    "answer without them."
)


# A server that knows none of the optional fields names them one at a time.
_REFUSALS = 8


@dataclass(slots=True)
class Rounds:
    """Fills `turn`; raises what ended the turn before its answer was whole."""

    turn: TurnProgress
    services: TurnServices
    _publishing: asyncio.Task[None] | None = None
    _begun: Mapping[Part, int] = field(default_factory=dict)

    async def run(self) -> None:
        agent = self.turn.context.agent
        most = agent.template.max_steps if agent.tools else 0
        request: RoundRequest | None = None
        for number in range(1, most + 2):
            if number > 1:
                # A guest may have signed in while the tools ran: it is the account's now.
                conversation = self.turn.context.conversation
                self.turn.change_owner(await current_owner(conversation=conversation))
            if most and number > most:
                self.turn.notes.append(say(LAST_ROUND, rounds=most))
            request, finished = await self._answered(number, request, may_call=number <= most)
            # Calls of an answer that was cut off are not whole, even where they can be read.
            if number > most or finished.reason != "tool_calls" or not finished.calls:
                return
            decision = request.decision
            tools = ToolRound(self.turn, self.services, _room_left(decision), decision)
            await tools.run(finished)
            self.turn.finished = None

    async def _answered(
        self, number: int, before: RoundRequest | None, *, may_call: bool
    ) -> tuple[RoundRequest, Finished]:
        """The round's request and its answer. Where a refusal taught something of the model, the
        round is decided once more, which may leave more out or have more room, and asked again."""
        refusals: list[ProviderError] = []
        while True:
            request = await decide_round(self.turn, self.services, number, before)
            if refusals:
                self.turn.rounds[-1].retried = refusals[-1].again
            try:
                return request, await self._ask(request, may_call=may_call)
            except ProviderError as error:
                same = [one for one in refusals if one.code == error.code]
                if (
                    not error.again
                    or len(refusals) == _REFUSALS
                    or (same and error.code in ("too_large", "no_tools"))
                ):
                    raise same[0] if same else error from None
                refusals.append(error)
                self._show_waiting(error.again, 0.0)
                self.turn.ask_otherwise(error)

    async def _ask(self, request: RoundRequest, *, may_call: bool) -> Finished:
        """One request; its answer is written into the feed as it arrives."""
        # Sent before the decision is written down, which takes as long as making it.
        self._publishing = asyncio.create_task(publish_decision(self.turn, request))
        try:
            sent = request.for_provider(self.turn, self.services, may_call=may_call)
            finished = await self._read(sent)
            if finished is None:
                raise ProviderError(say("The answer broke off."), code="interrupted")
            self.turn.finished = finished
        finally:
            await self._publishing
        this = self.turn.rounds[-1]
        this.usage = finished.usage
        called = finished.calls if finished.reason == "tool_calls" and may_call else ()
        this.calls = tuple(call.name for call in called)
        self.turn.look_for_cut(request.decision, last=request.decided.last)
        return finished

    async def _read(self, request: Request) -> Finished | None:
        agent, feed = self.turn.context.agent, self.turn.feed
        started = self.services.clock()
        self._begun = dict(self.turn.generation.lengths)
        answer = open_answer(
            agent.provider,
            request,
            label=agent.model.label,
            breaker=self.services.breaker,
            clock=self.services.clock,
            waiting=self._show_waiting,
            reading=self._show_reading,
        )
        async with answer as (first, chunks):
            if first is None:
                return None
            if self._publishing is not None:  # the page gets the decision first
                await self._publishing
            self._note_first_token(started)
            finished = self._take(first)
            async for chunk in chunks:
                if isinstance(chunk, TextPiece) and not UNSOUND.search(chunk.text):
                    feed.write(chunk.text)  # nearly every chunk
                else:
                    finished = self._take(chunk) or finished
        return finished

    def _take(self, chunk: Chunk) -> Finished | None:
        """Write or note a chunk; returned is the last one."""
        turn = self.turn
        match chunk:
            case TextPiece(text):
                # Some providers cut a character in two.
                turn.feed.write(repair_text(text))
            case ReasoningPiece(text):
                turn.feed.write(repair_text(text), "reasoning")
            case PromptRead(account):
                turn.rounds[-1].cache = account
            case CallBegun(name):
                turn.generation.calling += (name,)
                turn.feed.publish(Calling(turn=turn.id, name=name))
            case PromptProgress():
                self._show_reading(chunk)
            case Divided(text=text, reasoning=reasoning):
                turn.feed.divide(
                    self._begun, text=repair_text(text), reasoning=repair_text(reasoning)
                )
            case Finished():
                return chunk
        return None

    # ---- what the page is shown meanwhile ----------------------------------------------------
    def _note_first_token(self, started: float) -> None:
        this = self.turn.rounds[-1]
        this.first_token_ms = round((self.services.clock() - started) * 1000)
        self.turn.generation.waiting = ""
        self.turn.generation.reading = (0, 0)

    def _show_reading(self, chunk: PromptProgress) -> None:
        self.turn.generation.reading = (chunk.read, chunk.total)
        self.turn.feed.publish(Reading(turn=self.turn.id, read=chunk.read, total=chunk.total))

    def _show_waiting(self, sentence: str, seconds: float) -> None:
        self.turn.rounds[-1].retried = sentence
        self.turn.generation.waiting = sentence
        self.turn.feed.publish(Waiting(turn=self.turn.id, sentence=sentence, seconds=seconds))


def _room_left(decision: Decision) -> int:
    """Tokens that this turn may still grow by: all but what every request of it takes."""
    stays = {"system", "prefilled", "tools", "current"}
    return decision.limit - sum(part.tokens for part in decision.parts if part.name in stays)
