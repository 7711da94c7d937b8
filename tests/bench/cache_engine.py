"""The cache measured with requests to the engine, without the application except its client."""

from __future__ import annotations

import asyncio
import tempfile
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from chatsite.kv_cache.books import EMPTY, Session
from chatsite.kv_cache.session_files import SessionFolder
from chatsite.providers.embedded.client import EngineClient
from chatsite.providers.embedded.engine import Engine, RunningEngine
from tests.bench import talk
from tests.short_talks import SYSTEM
from tests.token_ids import CHUNK, Completion, RoleText, ask, cached_ids, prompt_ids

# Two turns, four messages, are cut out of the middle.
CUT = 2


@dataclass(slots=True)
class EngineFolder:
    """A folder and the engine that saves its slots in it."""

    folder: Path
    engine: Engine

    @property
    def running(self) -> RunningEngine:
        assert self.engine.running is not None
        return self.engine.running

    @property
    def client(self) -> EngineClient:
        return self.running.client


@asynccontextmanager
async def engine_in(folder: Path) -> AsyncIterator[EngineFolder]:
    """Run an engine in this folder. Raises ProviderError if it can't run."""
    engine = Engine(log_path=folder / "engine.log", sessions=folder / "kv")
    engine.start()
    try:
        await engine.ready()
        yield EngineFolder(folder, engine)
    finally:
        await engine.stop()


@asynccontextmanager
async def folder() -> AsyncIterator[Path]:
    with tempfile.TemporaryDirectory(prefix="chatsite-bench-") as name:
        yield Path(name)


@dataclass(frozen=True, slots=True)
class Prompts:
    """Token ids. `asked` is the prompt of a turn, `known` the ids that the turns before it left in
    the slot, and `longer` the same with CUT more turns in the middle."""

    asked: list[int]
    known: list[int]
    longer: list[int]


@dataclass(slots=True)
class Times:
    """The repetitions' times in milliseconds; `cells` were saved to `file`, `size` bytes.
    `trimming` is the time of trimming ahead, which the time of the `trimmed` request leaves out.
    """

    anew: list[Completion] = field(default_factory=list)
    kept: list[Completion] = field(default_factory=list)
    cut: list[Completion] = field(default_factory=list)
    trimmed: list[Completion] = field(default_factory=list)
    trimming: list[float] = field(default_factory=list)
    saving: list[float] = field(default_factory=list)
    restoring: list[float] = field(default_factory=list)
    checked: list[float] = field(default_factory=list)
    cells: int = 0
    size: int = 0
    file: str = field(default_factory=lambda: f"{uuid.uuid4().hex}.bin")

    def cases(self) -> list[tuple[str, list[Completion]]]:
        return [
            ("anew", self.anew),
            ("kept", self.kept),
            ("cut", self.cut),
            ("trimmed", self.trimmed),
        ]


async def prompts(client: EngineClient, turn: int) -> Prompts:
    """The prompts for the question of this turn."""
    whole = talk.talk(turn - 1 + CUT)
    middle = turn - 1 - (turn - 1) % 2
    left = [SYSTEM, *whole[:middle], *whole[middle + 2 * CUT :]]
    asking: RoleText = ("user", talk.question(turn - 1 + CUT))
    return Prompts(
        asked=await prompt_ids(client, [*left, asking]),
        known=await cached_ids(client, left),
        longer=await cached_ids(client, [SYSTEM, *whole]),
    )


async def first_tokens(client: EngineClient, token_ids: Prompts, *, times: int) -> Times:
    """Every repetition measures all cases on one slot; a request before them warms the slot up."""
    longer, found = f"{uuid.uuid4().hex}.bin", Times()
    await ask(client, token_ids.longer, slot=0)
    await client.save(0, longer)
    for _ in range(times):
        await client.erase(0)
        found.anew.append(await ask(client, token_ids.asked, slot=0))
        await _save_and_restore(client, found)
        await ask(client, token_ids.known, slot=0)  # removes the question from the slot
        found.kept.append(await ask(client, token_ids.asked, slot=0))
        await _fill_slot(client, longer, token_ids)
        found.cut.append(await ask(client, token_ids.asked, slot=0))
        await _fill_slot(client, longer, token_ids)
        began = time.perf_counter()
        await client.prefill(0, token_ids.known, chunk=CHUNK)
        found.trimming.append(_since(began))
        found.trimmed.append(await ask(client, token_ids.asked, slot=0))
    return found


async def _fill_slot(client: EngineClient, longer: str, token_ids: Prompts) -> None:
    """Put the longer prompt into the slot, as the earlier turns would have left it."""
    await client.restore(0, longer)
    await ask(client, token_ids.longer, slot=0)


async def _save_and_restore(client: EngineClient, found: Times) -> None:
    began = time.perf_counter()
    saved = await client.save(0, found.file)
    found.saving.append(_since(began))
    await client.erase(0)
    began = time.perf_counter()
    cells = await client.restore(0, found.file)
    found.restoring.append(_since(began))
    if cells != saved.cells:
        raise RuntimeError(f"{cells} of {saved.cells} cells were restored")
    found.cells, found.size = saved.cells, saved.size


async def after_a_restart(place: EngineFolder, found: Times, *, times: int) -> None:
    """Restore the last saved file as a newly started engine and server do, which check its content
    first. The file is still in the system's page cache, as after `kill -9`."""
    path = place.folder / "kv"
    size, digest = SessionFolder(path).size_and_checksum(found.file)
    session = Session(
        key="bench",
        fingerprint=str(place.running.kv),
        book=EMPTY,
        file=found.file,
        size=size,
        digest=digest,
    )
    for _ in range(times):
        await place.client.erase(0)
        began = time.perf_counter()
        await asyncio.to_thread(SessionFolder(path).verify, session)
        await place.client.restore(0, found.file)
        found.checked.append(_since(began))


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000
