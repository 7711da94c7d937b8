"""The books of the cache against the real engine: numbers only, never wording."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test as run

from chatsite.kv_cache.books import Book, Span, plan
from chatsite.providers.embedded.client import EngineClient
from tests.fakes.engine_cells import Cells
from tests.fakes.engine_server import FakeEngine
from tests.providers.cache_machine import Conversations
from tests.providers.cache_world import Clock, RealWorld

pytestmark = pytest.mark.engine

FIELDS = ["stop", "stop_type", "timings", "tokens_evaluated", "tokens_predicted"]
SLOT = 3


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=Clock) as loop:
        yield loop


@pytest.fixture(scope="module")
def world(loop: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealWorld]:
    world = RealWorld(tmp_path_factory.mktemp("sessions"), limit=10**9)
    loop.run(world.open())
    yield world
    loop.run(world.close())


async def asked(
    client: EngineClient, prompt: list[int], *, chunk: int, predict: int
) -> list[dict[str, Any]]:
    body = {
        "prompt": prompt,
        "id_slot": SLOT,
        "n_predict": predict,
        "n_cache_reuse": chunk,
        "cache_prompt": True,
        "temperature": 0,
        "stream": True,
        "return_tokens": True,
        "return_progress": True,
        "response_fields": FIELDS,
    }
    async with aclosing(client.stream("/completion", body)) as events:
        return [json.loads(event) async for event in events]


# Where each prompt comes from, as (start, end) in a text of different words, and the least run.
PROMPTS: list[tuple[list[tuple[int, int]], int]] = [
    ([(0, 80)], 16),
    ([(0, 80)], 16),
    ([(0, 76)], 16),
    ([(0, 20), (40, 76)], 16),
    ([(0, 20), (40, 50), (58, 76)], 16),
    ([(0, 20), (45, 50), (58, 76)], 0),
    ([(0, 10), (14, 18), (45, 46), (58, 80)], 4),
    ([(0, 6), (8, 10), (15, 17), (45, 46), (60, 80)], 1),
    ([(60, 80), (0, 4)], 8),
    ([(63, 80)], 2),
    ([(90, 94), (65, 80)], 1),
    ([(66, 67)], 1),
]


def test_the_engine_reuses_cells_by_the_rule(loop: asyncio.Runner, world: RealWorld) -> None:
    """Cell by cell as `tests.fakes.engine_cells` plays it, and as the books predict it."""
    loop.run(requests_on_one_slot(world.running.client))


async def requests_on_one_slot(client: EngineClient) -> None:
    [words] = await client.tokenize([" ".join(f"boat {n} at {n * 7}" for n in range(20))])
    slot = Cells()
    for number, (parts, chunk) in enumerate(PROMPTS):
        prompt = [id for start, end in parts for id in words[start:end]]
        told = plan(one_message(slot.ids), one_message(prompt)) if chunk else None
        reused = slot.begin(prompt, chunk=told.chunk if told and number % 2 else chunk)
        *events, last = await asked(
            client, prompt, chunk=told.chunk if told and number % 2 else chunk, predict=2
        )
        assert last["timings"]["cache_n"] == reused, (number, parts)
        assert last["timings"]["prompt_n"] == len(prompt) - reused
        assert events[0]["prompt_progress"]["cache"] == reused
        if told and number % 2:
            assert (told.reused, told.evaluated) == (reused, len(prompt) - reused)
        slot.evaluate(prompt[reused:])
        said = [id for event in events if "prompt_progress" not in event for id in event["tokens"]]
        slot.evaluate(said[:-1])
        assert (await client.slots())[SLOT].cells == len(slot)
        assert slot.read == slot.ids


def one_message(ids: list[int]) -> Book:
    return Book(tuple(ids), (Span("one", len(ids)),) if ids else ())


def test_a_saved_slot_is_restored(loop: asyncio.Runner, world: RealWorld) -> None:
    loop.run(saved_and_restored(world.running.client))


async def saved_and_restored(client: EngineClient) -> None:
    [words] = await client.tokenize([" ".join(f"rope {n} of {n * 3}" for n in range(8))])
    name = "0" * 32 + ".bin"
    *_, first = await asked(client, words, chunk=16, predict=1)
    assert (await client.save(SLOT, name)).cells == len(words)
    assert await client.erase(SLOT) == len(words)
    *_, again = await asked(client, words[-5:], chunk=16, predict=1)
    assert (first["timings"]["cache_n"], again["timings"]["cache_n"]) == (0, 0)
    assert await client.restore(SLOT, name) == len(words)
    *_, restored = await asked(client, words, chunk=16, predict=1)
    assert restored["timings"]["cache_n"] == len(words) - 1
    assert (await client.slots())[SLOT].cells == len(words)


def test_the_fake_engine_speaks_as_the_real_one(
    loop: asyncio.Runner, world: RealWorld, tmp_path: Path
) -> None:
    """The same events with the same fields, for the same request."""
    real = loop.run(shapes(world.running.client))
    fake = loop.run(of_the_fake(tmp_path))
    for of_real, of_fake in zip(real, fake, strict=True):
        # Counts and times: fields of both engines have the same types, and no field is invented.
        assert of_fake.items() <= of_real.items()


async def of_the_fake(folder: Path) -> list[dict[str, str]]:
    async with FakeEngine(folder) as fake:
        client = EngineClient(fake.address, key=fake.key)
        try:
            return await shapes(client)
        finally:
            await client.aclose()


async def shapes(client: EngineClient) -> list[dict[str, str]]:
    """Fields of the first event, of the first piece of the answer and of the end, the types of
    their values, and those of what a slot says of itself."""
    [words] = await client.tokenize(["Tell me of the long quay."])
    await client.erase(SLOT)
    events = await asked(client, words, chunk=16, predict=2)
    slots = await client.get("/slots")
    return [kinds(one) for one in (events[0], events[2], events[-1], slots[SLOT])]


def kinds(value: dict[str, Any], *, prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, one in value.items():
        if isinstance(one, dict):
            found |= kinds(one, prefix=f"{prefix}{key}.")
        else:
            found[prefix + key] = type(one).__name__
    return found


def test_whatever_happens_the_books_are_those_of_the_engine(
    loop: asyncio.Runner, world: RealWorld
) -> None:
    class OnRealEngine(Conversations):
        def opened(self) -> tuple[asyncio.Runner, RealWorld]:
            loop.run(world.begin_retry())
            return loop, world

        def teardown(self) -> None:
            pass

    run(
        OnRealEngine,
        settings=settings(
            max_examples=2,
            stateful_step_count=8,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
