"""The engine's cache with everything around it that a test controls: an engine, a folder of
sessions, their rows, a clock, and the places that pages were sent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from chatsite.errors import ProviderError
from chatsite.kv_cache.books import CacheUse, Place
from chatsite.kv_cache.slots.cache import Cache
from chatsite.kv_cache.slots.sessions import Sessions
from chatsite.messages import Message
from chatsite.providers.base.provider import Finished, PromptRead, Request, Status, TextPiece
from chatsite.providers.embedded.client import EngineClient
from chatsite.providers.embedded.engine import SLOTS, Engine, RunningEngine
from chatsite.providers.embedded.provider import EmbeddedProvider
from tests.fakes.engine_completion import Pause
from tests.fakes.engine_server import FakeEngine
from tests.providers.cache_rows import MemoryRows

# Longer than any test: a conversation is quiet only when the test advances the clock.
QUIET = 3600.0
WINDOW = 2048


class Clock(asyncio.SelectorEventLoop):
    """An event loop whose clock can be advanced."""

    ahead = 0.0

    def time(self) -> float:
        return time.monotonic() + self.ahead


@dataclass
class Answered:
    """The outcome of a request; `end` is None where it was cancelled."""

    text: str = ""
    account: CacheUse | None = None
    end: Finished | None = None
    error: ProviderError | None = None


class World:
    """One server on one engine. `limit` is in bytes of saved sessions."""

    def __init__(self, folder: Path, *, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self.rows = MemoryRows()
        self.places: dict[str, Mapping[str, Place]] = {}
        self.engine = Engine(log_path=folder / "engine.log", sessions=folder)

    @property
    def running(self) -> RunningEngine:
        assert self.engine.running is not None
        return self.engine.running

    def serve(self) -> None:
        """Start like a server, which knows only what was stored."""
        sessions = Sessions(self.folder, limit=self.limit, rows=self.rows)
        self.cache = Cache(self.engine, sessions=sessions, store_places=self._placed, quiet=QUIET)
        self.provider = EmbeddedProvider(self.engine, self.cache)

    async def _placed(self, conversation: str, places: Mapping[str, Place]) -> None:
        self.places[conversation] = places

    async def ask(self, request: Request, *, pieces: int | None = None) -> Answered:
        """An answer; with `pieces`, it is cancelled after so many of them."""
        answered = Answered()
        await self._ask(request, answered, pieces)
        await self.rest()
        return answered

    async def _ask(self, request: Request, answered: Answered, pieces: int | None) -> None:
        seen = 0
        try:
            async with aclosing(self.provider.stream(request)) as chunks:
                async for chunk in chunks:
                    match chunk:
                        case PromptRead(account):
                            answered.account = account
                        case TextPiece(text):
                            answered.text += text
                            seen += 1
                        case Finished():
                            answered.end = chunk
                    if seen == pieces:
                        break
        except ProviderError as error:
            answered.error = error

    async def rest(self) -> None:
        """Wait until all slots are idle: cancelled answers are settled, and saving has ended."""
        async with asyncio.timeout(60):
            while self.cache.slots.idle < SLOTS:  # noqa: ASYNC110 - other tasks' own turns
                await asyncio.sleep(0.001)

    async def quiet(self) -> None:
        """Long enough for everything to be saved."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Clock)
        loop.ahead += 2 * QUIET
        await asyncio.sleep(0)  # the loop looks at its clock
        await self.begun()
        await self.rest()

    async def trim(self, conversation: str, messages: Sequence[Message]) -> None:
        """Ahead of its next request, which begins with `messages`."""
        await self.provider.trim(conversation, [*messages, Message.user("", id="draft")])
        await self.begun()
        await self.rest()

    async def begun(self) -> None:
        """Who is about to take a slot has it."""
        for _ in range(3):
            await asyncio.sleep(0)

    async def open(self) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError

    async def restart(self, *, in_order: bool) -> None:
        """Of server and engine; in order, or as a power cut does it."""
        raise NotImplementedError

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("*.bin"))

    async def cells(self) -> list[int]:
        """How many cells each slot has, as the engine reports."""
        return [state.cells or 0 for state in await self.running.client.slots()]


class FakeWorld(World):
    """On the fake engine, which may die."""

    fake: FakeEngine

    async def open(self) -> None:
        if find_spec("xllamacpp") is None:
            pytest.skip("the engine isn't installed, whose version the cache asks for")
        await self.start_engine()
        self.serve()

    async def close(self) -> None:
        await self.cache.close()
        await self.kill_engine()

    async def start_engine(self) -> None:
        self.fake = FakeEngine(self.folder, slots=SLOTS, window=WINDOW, batch=128)
        await self.fake.__aenter__()
        client = EngineClient(self.fake.address, key=self.fake.key)
        running = await self.engine._inspect(client, "the model", 0)
        self.engine._set(Status(state="ready"), running)

    async def kill_engine(self) -> None:
        client = self.running.client
        self.engine._set(Status(state="loading"))
        await self.fake.stop()
        await client.aclose()

    async def restart(self, *, in_order: bool) -> None:
        if in_order:
            await self.cache.close()
        await self.kill_engine()
        await self.start_engine()
        self.serve()

    async def ask_and_leave(self, request: Request, pause: Pause) -> Answered:
        """The client disconnects where the engine pauses, whatever it has received."""
        async with self._paused(request, pause) as (asking, answered):
            asking.cancel()
        return answered

    async def ask_and_kill(self, request: Request, pause: Pause) -> Answered:
        """The engine is killed where it pauses, and another one is started."""
        async with self._paused(request, pause) as (_, answered):
            await self.kill_engine()
            await self.start_engine()
        return answered

    @asynccontextmanager
    async def _paused(
        self, request: Request, pause: Pause
    ) -> AsyncIterator[tuple[asyncio.Task[None], Answered]]:
        self.fake.pause = pause
        answered = Answered()
        asking = asyncio.create_task(self._ask(request, answered, None))
        paused = asyncio.create_task(self.fake.paused.wait())
        await asyncio.wait({asking, paused}, return_when=asyncio.FIRST_COMPLETED)
        paused.cancel()
        self.fake.pause = Pause()
        yield asking, answered
        await asyncio.wait({asking})
        await self.rest()


class RealWorld(World):
    """On the real engine, which is started once; emptying its slots replaces a restart."""

    async def open(self) -> None:
        self.engine.start()
        await self.engine.ready()
        self.serve()

    async def close(self) -> None:
        await self.cache.close()
        await self.engine.stop()

    async def begin_retry(self) -> None:
        """Start over without saved sessions."""
        self.rows = MemoryRows()
        self.places.clear()
        await self.restart(in_order=False)

    async def restart(self, *, in_order: bool) -> None:
        if in_order:
            await self.cache.close()
        for slot in range(SLOTS):
            await self.running.client.erase(slot)
        self.engine._set(self.engine.status(), replace(self.running))
        self.serve()
