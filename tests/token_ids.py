"""Requests to the embedded engine by token ids, as the provider sends them, with their timings."""

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

RoleText = tuple[Role, str]
# The shortest run of tokens that the engine may shift.
CHUNK = 16
_ENDS = "<|im_end|>\n"
_REPLY = "<|im_start|>assistant\n"


@dataclass(frozen=True, slots=True)
class Completion:
    """One answered request. `first` is the time to the first token in milliseconds, `ids` are the
    answer's; `reused` and `evaluated` count the prompt's tokens."""

    first: float
    ids: tuple[int, ...]
    reused: int
    evaluated: int


async def ask(
    client: EngineClient, prompt: Sequence[int], *, slot: int, tokens: int = 1, whole: bool = False
) -> Completion:
    """Send one greedy request for up to `tokens` tokens; `whole` ignores the model's end token."""
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
    return Completion(first, tuple(ids), timings["cache_n"], timings["prompt_n"])


async def message_ids(client: EngineClient, messages: Sequence[RoleText]) -> list[list[int]]:
    """Each message's ids, with the tokens that the bundled model's template puts around it."""
    texts = [f"<|im_start|>{role}\n{text}{_ENDS}" for role, text in messages]
    return await client.tokenize(texts, special=True)


async def prompt_ids(client: EngineClient, messages: Sequence[RoleText]) -> list[int]:
    """The prompt for a reply to these messages: their ids, then the head of the reply."""
    [reply] = await client.tokenize([_REPLY], special=True)
    return [*chain.from_iterable(await message_ids(client, messages)), *reply]


async def cached_ids(client: EngineClient, messages: Sequence[RoleText]) -> list[int]:
    """The slot's ids after the last of these messages, an answer, was written. They lack
    the answer's end token, which the engine reads with the next question."""
    [ends] = await client.tokenize([_ENDS], special=True)
    return list(chain.from_iterable(await message_ids(client, messages)))[: -len(ends)]
