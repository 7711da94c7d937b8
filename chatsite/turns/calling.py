"""One round of tools: the calls are stored, run at once, and each has its result, come what may."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from chatsite.errors import ProviderError
from chatsite.events import CallEnded, CallsStarted
from chatsite.messages import UNSOUND, Message, ToolCall
from chatsite.providers.base import Called, Finished
from chatsite.tools.base import Using
from chatsite.tools.calling import failure, result_of
from chatsite.turns.answering import Answering
from chatsite.turns.asking import Asking
from chatsite.turns.deciding import Decider
from chatsite.turns.feed import Feed, Generation
from chatsite.turns.progress import Progress

T = TypeVar("T")
# What a call says as long as it has no result: it must have one at every moment.
NOT_RUN = failure("NotRun", "This call has no result: the turn ended first.")
# A result may take a quarter of the prompt's room, at four characters a token; this much always.
LEAST_RESULT = 2_000


@dataclass(frozen=True, slots=True)
class Calls:
    """`seconds` is what one call may take."""

    asking: Asking
    answering: Answering
    turn: str
    feed: Feed
    decider: Decider
    progress: Progress
    seconds: float

    async def run(self, finished: Finished) -> None:
        """The calls that `finished` asks for. Stop ends them; what has no result then keeps the
        words that say so."""
        places = await unbroken(self._begin(finished))
        async with asyncio.TaskGroup() as group:
            for called, place in zip(finished.calls, places, strict=True):
                group.create_task(self._result(called, place))

    async def _begin(self, finished: Finished) -> list[Message]:
        """Store the calls, each with a place for its result, and begin the next message."""
        progress, generation = self.progress, self.progress.generation
        calls = tuple(_call_of(called) for called in finished.calls)
        message = Message.assistant(
            generation.text or None,
            id=progress.answer,
            calls=calls,
            reasoning=generation.reasoning or None,
            metadata=finished.metadata,
        )
        results = [Message.tool(NOT_RUN, id=_new_id(), call_id=call.id) for call in calls]
        counted, *places = await self._counted([message, *results])
        answer = _new_id()
        views = await self.decider.run(
            self.decider.writes.begin_calls,
            turn=self.turn,
            message=counted,
            results=places,
            answer=answer,
        )
        if views is None:
            raise ProviderError("This answer was ended elsewhere.", code="interrupted")
        progress.answer, progress.generation = answer, Generation(self.turn)
        self.feed.begin(progress.generation)
        self.feed.publish(CallsStarted(turn=self.turn, messages=views))
        return places

    async def _result(self, called: Called, place: Message) -> None:
        result = await result_of(
            called.name,
            called.arguments,
            self.answering.tools,
            Using(owner=self.asking.owner, conversation=self.asking.conversation),
            seconds=self.seconds,
            room_characters=max(LEAST_RESULT, self.answering.window.room),
        )
        (message,) = await self._counted([replace(place, content=result.content, tokens=None)])
        view = await self.decider.run(self.decider.writes.end_call, turn=self.turn, message=message)
        if view is not None:
            self.feed.publish(CallEnded(turn=self.turn, message=view))

    async def _counted(self, messages: list[Message]) -> list[Message]:
        counts = await self.decider.counting(self.asking, self.answering).of(messages)
        return [replace(m, tokens=count) for m, count in zip(messages, counts, strict=True)]


def _call_of(called: Called) -> ToolCall:
    """Arguments that are no JSON object are stored as none; the call's result says so."""
    try:
        said = sound(json.loads(called.arguments or "{}"))
    except (ValueError, RecursionError):
        said = None
    return ToolCall(
        id=called.id, name=called.name, arguments=said if isinstance(said, dict) else {}
    )


def sound(value: Any) -> Any:
    """A JSON value without what can't be stored in any text of it."""
    match value:
        case str():
            return UNSOUND.sub("\N{REPLACEMENT CHARACTER}", value)
        case list():
            return [sound(item) for item in value]
        case dict():
            return {sound(key): sound(item) for key, item in value.items()}
    return value


def _new_id() -> str:
    return str(uuid.uuid4())


async def unbroken(work: Coroutine[Any, Any, T]) -> T:
    """A step that Stop may not cut in two: what it stores and what is known of it are one."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
