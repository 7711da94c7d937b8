"""The work of a turn: decide, ask, let tools run, and again, until the model has answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from itertools import takewhile

from chatsite.conversations.values.records import LoadedPath, StartedTurn
from chatsite.errors import PromptTooLarge, ProviderError
from chatsite.events import CacheChanged, Calling, Decided, Reading, Waiting
from chatsite.history import Decision, Entry, Head
from chatsite.messages import Message
from chatsite.providers.base.provider import (
    CallBegun,
    Finished,
    PromptProgress,
    PromptRead,
    ReasoningPiece,
    Request,
    TextPiece,
)
from chatsite.providers.base.text import repair_text
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.turns.answer.circuit_breaker import CircuitBreaker
from chatsite.turns.answer.continuation import continued
from chatsite.turns.answer.feed import Feed, Part
from chatsite.turns.answer.log import log_decision
from chatsite.turns.answer.progress import Round, TurnProgress
from chatsite.turns.answer.retries import reliably
from chatsite.turns.answer.sent_requests import fingerprinted
from chatsite.turns.answer.server_cuts import look_for_cut
from chatsite.turns.answer.tool_calls import ToolRound
from chatsite.turns.answer.truncation import has_media
from chatsite.turns.context.decider import Decider, RoundDecision
from chatsite.turns.context.file_forms import RenderedRequest, file_notes
from chatsite.turns.context.turn_context import PageRequest

NO_TOOLS = "This model can't use tools, so it was asked without them."
TOO_MUCH = (
    "What the tools brought, with this message, is more than the model can be sent. What was done "
    "so far is kept. Ask for less at a time, or choose a model with a larger window."
)
LAST_ROUND = (
    "The model called tools in {rounds} rounds, as many as this agent allows. It was then asked to "
    "answer without them."
)


@dataclass(slots=True)
class Rounds:
    """Fills `progress`; raises what ended the turn before its answer was whole. `toolless` are the
    models, as `provider:name`, that are known to take no tools; shared by all turns."""

    asking: PageRequest
    answering: ResolvedAgent
    begun: StartedTurn
    feed: Feed
    decider: Decider
    progress: TurnProgress
    breaker: CircuitBreaker
    clock: Callable[[], float]
    tool_seconds: float
    toolless: set[str]
    sent: RenderedRequest = RenderedRequest(())
    _telling: asyncio.Task[None] | None = None

    async def run(self) -> None:
        if self.answering.tools and self.answering.full_name in self.toolless:
            return await self._run_without_tools()
        most = self.answering.template.max_steps if self.answering.tools else 0
        ruling: RoundDecision | None = None
        for number in range(1, most + 2):
            if number > 1:
                await self._look_who_asks()
            ruling = await self._decide(number, ruling)
            if most and number > most:
                self.progress.notes.append(LAST_ROUND.format(rounds=most))
            try:
                finished = await self._ask(ruling, may_call=number <= most)
            except ProviderError as error:
                if error.code != "no_tools" or not self.answering.tools:
                    raise
                self.toolless.add(self.answering.full_name)
                return await self._run_without_tools()
            # Calls of an answer that was cut off are not whole, even where they can be read.
            if number > most or finished.reason != "tool_calls" or not finished.calls:
                return
            await self._call(finished, ruling)

    async def _run_without_tools(self) -> None:
        """For a model whose server refuses them: decided anew, since there is more room now."""
        self.answering = replace(self.answering, tools=())
        self.progress.notes.append(NO_TOOLS)
        self.progress.rounds.clear()
        await self.run()

    async def _look_who_asks(self) -> None:
        """A guest may have signed in while the tools ran: the conversation moved with them."""
        owner = await self.decider.run(
            self.decider.reads.current_owner, conversation=self.asking.conversation
        )
        self.asking = replace(self.asking, owner=owner)

    # ---- deciding ----------------------------------------------------------------------------
    async def _decide(self, number: int, before: RoundDecision | None) -> RoundDecision:
        try:
            ruling = await self.decider.for_turn(
                self.asking,
                self.answering,
                await self._loaded(number),
                before=before,
                written=self._written() if number == 1 else None,
            )
        except PromptTooLarge:
            if number == 1:
                raise
            raise PromptTooLarge(TOO_MUCH) from None
        decision = ruling.decision
        if number == 1 and self.begun.text:
            decision = continued(decision, place=self.begun.place, above=ruling.above)
            ruling = replace(ruling, decision=decision)
        if decision.unloads:
            await self._unload(decision.unloads)
        self.progress.rounds.append(Round(number, decision.tokens))
        self.sent = await self.decider.counting(self.asking, self.answering).as_sent(
            decision.request
        )
        return ruling

    async def _unload(self, turns: Sequence[int]) -> None:
        """What the cleanup left out stays out of later requests, too."""
        changed = await self.decider.run(
            self.decider.writes.mark_turns, conversation=self.asking.conversation, turns=turns
        )
        self.feed.publish(CacheChanged(status=changed))

    async def _tell(self, decision: Decision) -> None:
        """Write the decision down, for the page, the log and whoever asks later."""
        await asyncio.sleep(0)  # until the request is on its way
        if len(self.progress.rounds) == 1:
            log_decision(decision)
        model = self.answering.model
        receipt = decision.to_dict() | {
            "turn": self.begun.turn,
            "number": self.begun.number,
            "provider": {"kind": model.provider, "model": model.name, "label": model.label},
            "asked": self.answering.parameters,
            "fingerprint": await fingerprinted(decision.request),
            "files": list(file_notes(decision.request, model)),
        }
        if self.sent.given:
            receipt["given"] = [file.to_dict() for file in self.sent.given]
        if has_media(decision.request, model):
            receipt["media"] = True
        self.progress.receipt = receipt
        self.feed.publish(Decided(turn=self.begun.turn, receipt=receipt))

    async def _loaded(self, number: int) -> LoadedPath:
        """What was read as the turn began; of a later round, with what its tools brought."""
        if number == 1 and self.begun.loaded is not None:
            return self.begun.loaded
        wanted = self.decider.reach(self.asking, self.answering)
        return await self.decider.load(self.asking, wanted, reply_to=self.begun.reply_to)

    def _written(self) -> Entry | None:
        """The answer that is to be continued: it stands at the end of what the model sees."""
        if not self.begun.text:
            return None
        message = Message.assistant(self.begun.text, id=self.begun.answer)
        return Entry(message=message, seq=self.begun.place)

    async def _call(self, finished: Finished, ruling: RoundDecision) -> None:
        calls = ToolRound(
            asking=self.asking,
            answering=self.answering,
            turn=self.begun.turn,
            feed=self.feed,
            decider=self.decider,
            progress=self.progress,
            seconds=self.tool_seconds,
            room=_room_left(ruling.decision),
        )
        await calls.run(finished)
        self.progress.finished = None

    # ---- asking ------------------------------------------------------------------------------
    async def _ask(self, ruling: RoundDecision, *, may_call: bool) -> Finished:
        # The request goes first: to write the decision down takes as long as to make it.
        self._telling = asyncio.create_task(self._tell(ruling.decision))
        try:
            finished = await self._answer(ruling.decision, may_call=may_call)
        finally:
            await self._telling
        this = self.progress.rounds[-1]
        this.usage = finished.usage
        called = finished.calls if finished.reason == "tool_calls" and may_call else ()
        this.calls = tuple(call.name for call in called)
        look_for_cut(self.progress, ruling.decision, self.answering.model, last=ruling.last)
        return finished

    async def _answer(self, decision: Decision, *, may_call: bool) -> Finished:
        """One request, written into the generation as it comes."""
        counting = self.decider.counting(self.asking, self.answering)
        request = self.answering.request(
            self.asking.conversation,
            self.sent.messages,
            files=counting.files,
            may_call=may_call,
            head=_leading(self.answering.head, decision),
            answer=self.progress.answer,
        )
        finished = await self._read(request)
        if finished is None:
            raise ProviderError("The answer broke off.", code="interrupted")
        self.progress.finished = finished
        return finished

    async def _read(self, request: Request) -> Finished | None:
        started = self.clock()
        stream = reliably(
            self.answering.provider,
            request,
            label=self.answering.model.label,
            breaker=self.breaker,
            clock=self.clock,
            waiting=self._wait,
        )
        finished = None
        first = True
        async with aclosing(stream) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, PromptProgress):
                    self._reads(chunk)
                    continue
                if first:
                    first = False
                    if self._telling is not None:  # the page knows of the decision first
                        await self._telling
                    self._first_sign(started)
                match chunk:
                    case PromptRead(account):
                        self.progress.rounds[-1].cache = account
                    case TextPiece(text):
                        self._write(text, "text")
                    case ReasoningPiece(text):
                        self._write(text, "reasoning")
                    case CallBegun(name):
                        self.progress.generation.calling += (name,)
                        self.feed.publish(Calling(turn=self.begun.turn, name=name))
                    case Finished():
                        finished = chunk
        return finished

    def _first_sign(self, started: float) -> None:
        this = self.progress.rounds[-1]
        this.first_token_ms = round((self.clock() - started) * 1000)
        self.progress.generation.waiting = ""
        self.progress.generation.reading = (0, 0)

    def _reads(self, chunk: PromptProgress) -> None:
        self.progress.generation.reading = (chunk.read, chunk.total)
        self.feed.publish(Reading(turn=self.begun.turn, read=chunk.read, total=chunk.total))

    def _write(self, text: str, part: Part) -> None:
        # Some providers cut a character in two.
        self.feed.write(repair_text(text), part)

    def _wait(self, sentence: str, seconds: float) -> None:
        self.progress.rounds[-1].retried = sentence
        self.progress.generation.waiting = sentence
        self.feed.publish(Waiting(turn=self.begun.turn, sentence=sentence, seconds=seconds))


def _leading(head: Head, decision: Decision) -> int:
    """How many messages the request begins with are the agent's own. Stored instructions stand
    before its prefilled turns, and these are no longer at the beginning then."""
    own = {message.id for message in head.messages}
    return sum(1 for _ in takewhile(lambda message: message.id in own, decision.request))


def _room_left(decision: Decision) -> int:
    """Tokens that this turn may still grow by: all but what every request of it takes."""
    stays = {"system", "prefilled", "tools", "current"}
    return decision.limit - sum(part.tokens for part in decision.parts if part.name in stays)
