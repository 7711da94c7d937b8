"""Four people at once on one engine, and the memory that it takes."""

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
class Together:
    """Tokens a second of all together: of answers one after the other, and of all at once."""

    alone: list[float] = field(default_factory=list)
    at_once: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Memory:
    """MiB: resident, and with what is shared divided among those who share it; None where the
    system doesn't tell."""

    rss: float
    pss: float | None

    @classmethod
    def of(cls, pid: int) -> Memory:
        process = psutil.Process(pid)
        shared = process.memory_full_info().pss / MIB if sys.platform == "linux" else None
        return cls(process.memory_info().rss / MIB, shared)


async def four_at_once(client: EngineClient, *, times: int) -> Together:
    """Each has a slot and finds the prompt there, also those who come one after the other: only
    writing is compared, and reading the others' prompts again isn't held against one slot."""
    found = Together()
    given = [
        await prompt_ids(
            client,
            [SYSTEM, *talk.talk(TURNS, number=n), ("user", talk.question(TURNS, number=n))],
        )
        for n in range(SLOTS)
    ]
    for slot, prompt in enumerate(given):
        await ask(client, prompt, slot=slot)

    async def answer(slot: int) -> int:
        asked = await ask(client, given[slot], slot=slot, tokens=TOKENS, whole=True)
        return len(asked.ids)

    for _ in range(times):
        began = time.perf_counter()
        written = [await answer(slot) for slot in range(SLOTS)]
        found.alone.append(sum(written) / (time.perf_counter() - began))
        began = time.perf_counter()
        written = await asyncio.gather(*(answer(slot) for slot in range(SLOTS)))
        found.at_once.append(sum(written) / (time.perf_counter() - began))
    return found
