"""The embedded engine, asked by token ids as the provider asks it, and what it says of it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import chain
from typing import Any

from chatsite.messages import Role
from chatsite.providers.embedded.client import EngineClient

Said = tuple[Role, str]
# The least run of tokens that the engine is to shift.
CHUNK = 16
_ENDS = "<|im_end|>\n"
_REPLY = "<|im_start|>assistant\n"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. `first` is in milliseconds from asking to the first token, `ids` are the
    answer's; of the prompt's tokens so many were `reused` and so many `evaluated`."""

    first: float
    ids: tuple[int, ...]
    reused: int
    evaluated: int


async def ask(
    client: EngineClient, prompt: Sequence[int], *, slot: int, tokens: int = 1, whole: bool = False
) -> Asked:
    """Greedy, up to so many tokens; `whole`: all of them, also where the model would end."""
    body = {
        "prompt": list(prompt),
        "id_slot": slot,
        "cache_prompt": True,
        "n_cache_reuse": CHUNK,
        "n_predict": tokens,
        "temperature": 0,
        "ignore_eos": whole,
        "return_tokens": True,
        "stream": True,
    }
    ids: list[int] = []
    first = 0.0
    timings: dict[str, Any] = {}
    began = time.perf_counter()
    async with aclosing(client.stream("/completion", body)) as events:
        async for payload in events:
            first = first or (time.perf_counter() - began) * 1000
            event: dict[str, Any] = json.loads(payload)
            ids += event["tokens"]
            timings = event.get("timings", timings)
    return Asked(first, tuple(ids), timings["cache_n"], timings["prompt_n"])


async def framed(client: EngineClient, said: Sequence[Said]) -> list[list[int]]:
    """Each message's ids with the frame that the bundled model's template puts around it."""
    texts = [f"<|im_start|>{role}\n{text}{_ENDS}" for role, text in said]
    return await client.tokenize(texts, special=True)


async def prompt_of(client: EngineClient, said: Sequence[Said]) -> list[int]:
    """What is asked after these messages: their ids, and the reply's head."""
    [reply] = await client.tokenize([_REPLY], special=True)
    return [*chain.from_iterable(await framed(client, said)), *reply]


async def lying(client: EngineClient, said: Sequence[Said]) -> list[int]:
    """What lies in the slot once the last of these messages, an answer, is written: it is without
    its end, which is read with the next question."""
    [ends] = await client.tokenize([_ENDS], special=True)
    return list(chain.from_iterable(await framed(client, said)))[: -len(ends)]
