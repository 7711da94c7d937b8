"""One round of tools: the calls are stored, run at once, and each has its result, come what may."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from chatsite.errors import ProviderError
from chatsite.events import CallEnded, CallsStarted, MessageView
from chatsite.messages import UNSOUND, Message, ToolCall
from chatsite.providers.base import Called, Finished
from chatsite.tools.base import Using
from chatsite.tools.calling import failure, result_of
from chatsite.turns.answering import Answering
from chatsite.turns.asking import Asking
from chatsite.turns.deciding import Decider
from chatsite.turns.feed import Feed, Generation
from chatsite.turns.progress import Progress

logger = logging.getLogger("chatsite.turns")
T = TypeVar("T")
# What a call says as long as it has no result: it must have one at every moment.
NOT_RUN = failure("NotRun", "This call has no result: the turn ended first.")
# A result may take a quarter of the prompt's room, at four characters a token; this much always.
LEAST_RESULT = 2_000
AGAIN_SECONDS = 0.2


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
        calls = _calls_of(finished.calls)
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
        view = await self._stored(message)
        if view is not None:
            self.feed.publish(CallEnded(turn=self.turn, message=view))

    async def _stored(self, message: Message) -> MessageView | None:
        """Tried again once: without its result a round is lost, and the tool has run already."""
        writes = self.decider.writes
        try:
            return await self.decider.run(writes.end_call, turn=self.turn, message=message)
        except Exception:
            logger.exception("turn %s: the result of a call couldn't be stored", self.turn)
        await asyncio.sleep(AGAIN_SECONDS)
        return await self.decider.run(writes.end_call, turn=self.turn, message=message)

    async def _counted(self, messages: list[Message]) -> list[Message]:
        counts = await self.decider.counting(self.asking, self.answering).of(messages)
        return [replace(m, tokens=count) for m, count in zip(messages, counts, strict=True)]


def _calls_of(calls: Sequence[Called]) -> tuple[ToolCall, ...]:
    """As they are stored. An id that is missing or was used before in this answer becomes one of
    our own: results are found by it, and a group that doesn't pair is sent to nobody."""
    found: dict[str, ToolCall] = {}
    for called in calls:
        id = sound(called.id)
        if not id or id in found:
            id = f"call_{uuid.uuid4().hex[:24]}"
        found[id] = ToolCall(id=id, name=sound(called.name), arguments=_arguments(called))
    return tuple(found.values())


def _arguments(called: Called) -> dict[str, object]:
    """What is no JSON object is stored as none; the call's result says so."""
    try:
        said = sound(json.loads(called.arguments or "{}"))
    except (ValueError, RecursionError):
        said = None
    return said if isinstance(said, dict) else {}


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
