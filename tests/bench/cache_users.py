"""The throughput of four people at once on one engine, and the engine's memory."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass, field

import psutil

from chatsite.providers.embedded.client import EngineClient
from chatsite.providers.embedded.engine import SLOTS
from tests.bench import talk
from tests.short_talks import SYSTEM
from tests.token_ids import ask, prompt_ids

TOKENS = 64
TURNS = 3
MIB = 1024 * 1024


@dataclass(slots=True)
class Throughput:
    """Tokens a second, summed over all people: answering one after the other, and all at once."""

    alone: list[float] = field(default_factory=list)
    at_once: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Memory:
    """In MiB: resident memory (RSS) and proportional memory (PSS), which divides shared pages among
    their users; None on systems without this figure."""

    rss: float
    pss: float | None

    @classmethod
    def of(cls, pid: int) -> Memory:
        process = psutil.Process(pid)
        shared = process.memory_full_info().pss / MIB if sys.platform == "linux" else None
        return cls(process.memory_info().rss / MIB, shared)


async def four_at_once(client: EngineClient, *, times: int) -> Throughput:
    """Each person has a slot that holds the prompt already, also when they ask one after the other:
    only the generation of answers is compared, not the reading of prompts."""
    found = Throughput()
    prompts = [
        await prompt_ids(
            client,
            [SYSTEM, *talk.talk(TURNS, number=n), ("user", talk.question(TURNS, number=n))],
        )
        for n in range(SLOTS)
    ]
    for slot, prompt in enumerate(prompts):
        await ask(client, prompt, slot=slot)

    async def answer(slot: int) -> int:
        completion = await ask(client, prompts[slot], slot=slot, tokens=TOKENS, whole=True)
        return len(completion.ids)

    for _ in range(times):
        began = time.perf_counter()
        written = [await answer(slot) for slot in range(SLOTS)]
        found.alone.append(sum(written) / (time.perf_counter() - began))
        began = time.perf_counter()
        written = await asyncio.gather(*(answer(slot) for slot in range(SLOTS)))
        found.at_once.append(sum(written) / (time.perf_counter() - began))
    return found
