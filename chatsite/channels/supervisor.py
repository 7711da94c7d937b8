"""Runs the channels as long as the server: each begins anew after trouble, none stops another."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from chatsite.channels.channel import Channel, Trouble
from chatsite.channels.desk import Desk
from chatsite.cluster.presence import Presence
from chatsite.language import speak

logger = logging.getLogger("chatsite.channels")
# After the first trouble; twice as long after each further one.
FIRST_WAIT = 1.0
LONGEST_WAIT = 300.0
# What isn't carried back then is carried back after the next start.
DRAIN_SECONDS = 5.0


@dataclass(slots=True)
class Backoff:
    """How long to wait after the next trouble."""

    seconds: float

    def next(self, at_least: float = 0.0) -> float:
        seconds, self.seconds = self.seconds, min(self.seconds * 2, LONGEST_WAIT)
        return max(seconds, at_least)


@dataclass(slots=True)
class _Lane:
    """The arrivals of one place, one after another."""

    waiting: deque[Any] = field(default_factory=deque)
    task: asyncio.Task[None] | None = None


@dataclass(eq=False)
class Channels:
    """All channels of the server; built once by `wiring`."""

    channels: Sequence[Channel[Any]]
    desk: Desk
    presence: Presence
    first_wait: float = FIRST_WAIT
    drain_seconds: float = DRAIN_SECONDS
    _leading: asyncio.Task[None] | None = field(default=None, init=False)
    _receiving: list[asyncio.Task[None]] = field(default_factory=list, init=False)
    _lanes: dict[tuple[str, str], _Lane] = field(default_factory=dict, init=False)
    _taken: set[tuple[str, str]] = field(default_factory=set, init=False)

    def start(self) -> None:
        self._leading = asyncio.create_task(self._lead())

    async def _lead(self) -> None:
        """Receive as long as this server leads. Then leave everything to the next leader, which
        finds it in the rows: a turn that runs here goes on, and that one carries its answer."""
        while True:
            await self.presence.leads.wait()
            self._receiving = [asyncio.create_task(self._receive(one)) for one in self.channels]
            try:
                await self.presence.follows.wait()
            finally:
                for task in self._receiving:
                    task.cancel()
            await self._end_lanes()

    def stop_receiving(self) -> None:
        """Receives no more. What is being answered goes on."""
        if self._leading is not None:
            self._leading.cancel()

    async def drain(self) -> None:
        """Lets the answers that are ready be carried back, then ends."""
        self.stop_receiving()
        await self._end_lanes(self.drain_seconds)
        if self._leading is not None:
            await asyncio.wait([self._leading, *self._receiving])
        for channel in self.channels:
            await channel.close()

    async def _end_lanes(self, seconds: float = 0.0) -> None:
        lanes = {lane.task for lane in self._lanes.values() if lane.task is not None}
        for lane in self._lanes.values():
            lane.waiting.clear()
        if lanes:
            _, late = await asyncio.wait(lanes, timeout=seconds)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        self._lanes.clear()
        self._taken.clear()

    # ---- receiving ---------------------------------------------------------------------------
    async def _receive(self, channel: Channel[Any]) -> None:
        backoff, last_trouble = Backoff(self.first_wait), ""
        while True:
            seconds = 0.0
            try:
                async for arrival in channel.receive():
                    backoff, last_trouble = Backoff(self.first_wait), ""
                    self._take(channel, arrival)
            except Trouble as trouble:
                if trouble.message != last_trouble:
                    logger.error("%s: %s", channel.name, trouble.message)
                last_trouble, seconds = trouble.message, trouble.seconds
            except Exception:
                logger.exception("%s failed, and begins anew", channel.name)
            await asyncio.sleep(backoff.next(seconds))

    def _take(self, channel: Channel[Any], arrival: Any) -> None:
        """Puts an arrival into its place's lane, unless it is there already."""
        key = (channel.name, channel.key(arrival))
        if key in self._taken:
            return
        self._taken.add(key)
        place = (channel.name, channel.place(arrival))
        lane = self._lanes.setdefault(place, _Lane())
        lane.waiting.append(arrival)
        if lane.task is None:
            lane.task = asyncio.create_task(self._work(channel, place, lane))

    async def _work(self, channel: Channel[Any], place: tuple[str, str], lane: _Lane) -> None:
        while lane.waiting:
            arrival = lane.waiting.popleft()
            try:
                await self._handle(channel, arrival)
            finally:
                self._taken.discard((channel.name, channel.key(arrival)))
        self._lanes.pop(place, None)

    # ---- answering ---------------------------------------------------------------------------
    async def _handle(self, channel: Channel[Any], arrival: Any) -> None:
        """Works until the arrival is finished. What fails for another reason than Trouble is left
        for the next start, so that one arrival doesn't keep those behind it waiting."""
        backoff = Backoff(self.first_wait)
        while True:
            try:
                await self._answer(channel, arrival)
                return
            except Trouble as trouble:
                logger.warning("%s: %s", channel.name, trouble.message)
                await asyncio.sleep(backoff.next(trouble.seconds))
            except Exception:
                logger.exception("%s: %s is left for later", channel.name, channel.key(arrival))
                return

    async def _answer(self, channel: Channel[Any], arrival: Any) -> None:
        await self._require_lead()
        speak(channel.language(arrival))
        question = await channel.who(arrival)
        if question is None:
            return
        answer = await self.desk.answer(question, lambda turn: channel.acknowledge(arrival, turn))
        await self._require_lead()
        await channel.say(arrival, answer)

    async def _require_lead(self) -> None:
        """Raises Trouble where another server may carry this answer."""
        if not await self.presence.still_leads():
            raise Trouble("another server answers now")
