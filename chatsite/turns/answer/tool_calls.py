"""One round of tools: calls are stored and run at the same time, and each gets a result."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from chatsite.conversations.turn.rounds import begin_calls, end_call
from chatsite.errors import ProviderError
from chatsite.events import CallEnded, CallsStarted
from chatsite.history import Decision, StoredRun
from chatsite.history.anchors import telling_values
from chatsite.messages import Message, ToolCall, repair_text
from chatsite.providers.base.provider import Finished, WrittenCall
from chatsite.providers.base.received import LONGEST_ID
from chatsite.tools.tool import ToolContext, ToolError, parse_arguments
from chatsite.tools.toolbox import call_tool, content_within, error_content
from chatsite.turns.answer.feed import Generation
from chatsite.turns.answer.progress import TurnProgress, TurnServices
from chatsite.views import MessageView
from chatsite.wording import say

logger = logging.getLogger("chatsite.turns")
T = TypeVar("T")
# The result of a call that has none yet: every stored call must have one at every moment.
NO_RESULT = error_content(
    "NoResult",
    "The turn ended before this call had its result. It may have been carried out all the same.",
)
# The results of one round share so many percent of what is left of the prompt's room: the next
# rounds and the answer need the rest. No result takes more than a quarter of the whole room.
SHARED = 60
# Characters to a token, at first; what has fewer is cut again when it is counted. A result of so
# few tokens as the second is left as it is.
CHARACTERS, LEAST = 4, 150
# However large a window is, a result is stored, shown, and sent again with every later turn.
LONGEST = 100_000
# Each word of a question is looked for in the whole result.
LONGEST_QUESTION = 2_000
# A tool server gets no more calls of one answer at once.
AT_ONCE = 8
AGAIN_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class ToolRound:
    """`room` are the tokens by which the turn may still grow; `decision` is that of the request."""

    turn: TurnProgress
    services: TurnServices
    room: int
    decision: Decision

    async def run(self, finished: Finished) -> None:
        """Run the calls that `finished` asks for. Stop ends them; a call without a result keeps
        the sentence that says so."""
        places, most = await finish_despite_stop(self._begin(finished))
        few = asyncio.Semaphore(AT_ONCE)

        async def run(called: WrittenCall, place: Message) -> None:
            async with few:
                await self._result(called, place, most)

        async with asyncio.TaskGroup() as group:
            for called, place in zip(finished.calls, places, strict=True):
                group.create_task(run(called, place))

    async def _begin(self, finished: Finished) -> tuple[list[Message], int]:
        """Store the calls, each with a place for its result, and begin the next message. Returns
        the places, and how many tokens each result may take."""
        turn, generation = self.turn, self.turn.generation
        calls = _calls_of(finished.calls)
        message = Message.assistant(
            generation.text or None,
            id=turn.answer,
            calls=calls,
            reasoning=generation.reasoning or None,
            metadata=finished.metadata,
        )
        results = [Message.tool(NO_RESULT, id=str(uuid.uuid4()), call_id=call.id) for call in calls]
        counted, *places = await self._counted([message, *results])
        answer = str(uuid.uuid4())
        views = await begin_calls(
            turn=turn.id,
            message=counted,
            results=places,
            answer=answer,
            quoted=self.decision.quoted,
        )
        if views is None:
            raise ProviderError(say("This answer was ended elsewhere."), code="interrupted")
        turn.begin_message(answer, Generation(turn.id))
        turn.feed.publish(CallsStarted(turn=turn.id, messages=views))
        left = self.room - (counted.tokens.count if counted.tokens else 0)
        share = left * SHARED // 100 // len(places)
        return places, max(0, min(share, turn.context.agent.window.room // CHARACTERS))

    async def _result(self, called: WrittenCall, place: Message, most: int) -> None:
        context = self.turn.context
        result = await call_tool(
            called.name,
            called.arguments,
            context.agent.tools,
            ToolContext(
                owner=context.owner,
                conversation=context.conversation,
                asked=min(v.first for v in self.decision.verdicts if v.reason == "current"),
                sent=tuple(run for run in self.decision.layout if isinstance(run, StoredRun)),
                note=self.turn.looked_back.append,
            ),
            seconds=self.services.tool_seconds,
            room_characters=min(most * CHARACTERS, LONGEST),
        )
        message = await self._fitted(replace(place, content=result.content, tokens=None), most)
        # Stop may come while it is stored; the tool has done its work by then.
        await finish_despite_stop(self._end(message))

    async def _fitted(self, result: Message, most: int) -> Message:
        """With its tokens; cut once more where its script has fewer characters to a token."""
        (counted,) = await self._counted([result])
        taken = counted.tokens.count if counted.tokens else 0
        if taken <= max(most, LEAST):
            return counted
        characters = len(result.content or "") * max(most, LEAST) // taken
        shorter = await asyncio.to_thread(
            content_within, json.loads(result.content or ""), characters
        )
        (counted,) = await self._counted([replace(result, content=shorter)])
        return counted

    async def _end(self, message: Message) -> None:
        texts = (m.content or "" for m in reversed(self.decision.request) if m.role == "user")
        question = next(texts, "")[:LONGEST_QUESTION]
        anchors = await asyncio.to_thread(telling_values, message.content or "", question)
        view = await self._stored(message, anchors)
        if view is not None:
            self.turn.feed.publish(CallEnded(turn=self.turn.id, message=view))

    async def _stored(self, message: Message, anchors: str) -> MessageView | None:
        """Tried again once: without its result a round is lost, and the tool has run already."""
        try:
            return await end_call(turn=self.turn.id, message=message, anchors=anchors)
        except Exception:
            logger.exception("turn %s: the result of a call couldn't be stored", self.turn.id)
        await asyncio.sleep(AGAIN_SECONDS)
        return await end_call(turn=self.turn.id, message=message, anchors=anchors)

    async def _counted(self, messages: list[Message]) -> list[Message]:
        counter = self.services.decider.counter(self.turn.context)
        return await counter.with_counts(messages)


def _calls_of(calls: Sequence[WrittenCall]) -> tuple[ToolCall, ...]:
    """As they are stored. An id that is missing, endless or was used before in this answer becomes
    one of our own: results are found by it, and a group that doesn't pair is sent to nobody."""
    found: dict[str, ToolCall] = {}
    for called in calls:
        id = repair_text(called.id)
        if not id or len(id) > LONGEST_ID or id in found:
            id = f"call_{uuid.uuid4().hex[:24]}"
        found[id] = ToolCall(id=id, name=repair_text(called.name), arguments=_arguments(called))
    return tuple(found.values())


def _arguments(called: WrittenCall) -> dict[str, object]:
    """What can't be read is stored as none; the call's result says so."""
    try:
        return parse_arguments(called.arguments)
    except ToolError:
        return {}


async def finish_despite_stop(work: Coroutine[Any, Any, T]) -> T:
    """A step that Stop may not cut in two: what it stores and what is known of it are one."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # marks it as seen: the turn is over anyway
        raise
