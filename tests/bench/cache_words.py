"""Whether greedy answers are the same words, however the prompt got into the cache."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from chatsite.providers.embedded.client import EngineClient
from tests.short_talks import SYSTEM, TALKS, ShortTalk
from tests.token_ids import ask, cached_ids, prompt_ids

TOKENS = 24


@dataclass(slots=True)
class SameAnswers:
    """How many of `talks` had the same answer as with the whole prompt read into an empty slot.

    `kept`: the question was read after the turns already in the slot; `restored`: the same after
    saving and restoring; `shifted`: after turns whose cells were shifted. `unsaved` counts the
    restored answers that are equal to the kept ones.
    """

    talks: int = 0
    kept: int = 0
    restored: int = 0
    shifted: int = 0
    unsaved: int = 0


async def compare_answers(client: EngineClient, *, talks: int) -> SameAnswers:
    found = SameAnswers()
    for place, one in enumerate(TALKS[:talks]):
        others = [TALKS[(place + step) % len(TALKS)] for step in (7, 13)]
        await _compare(client, found, one, cut=others[0], after=others[1])
    return found


async def _compare(
    client: EngineClient, found: SameAnswers, one: ShortTalk, *, cut: ShortTalk, after: ShortTalk
) -> None:
    messages = [SYSTEM, *one.turn, *after.turn]
    known, prompt = (
        await cached_ids(client, messages),
        await prompt_ids(client, [*messages, one.question]),
    )
    longer = await cached_ids(client, [SYSTEM, *one.turn, *cut.turn, *after.turn])
    name = f"{uuid.uuid4().hex}.bin"

    async def answer(*, behind: int) -> tuple[int, ...]:
        completion = await ask(client, prompt, slot=0, tokens=TOKENS)
        if completion.reused != behind:
            raise RuntimeError(f"{completion.reused} tokens were reused and not {behind}")
        return completion.ids

    async def read(ids: list[int]) -> None:
        await client.erase(0)
        await ask(client, ids, slot=0)

    await client.erase(0)
    fresh = await answer(behind=0)
    await read(known)
    kept = await answer(behind=len(known))
    await read(known)
    await client.save(0, name)
    await client.erase(0)
    await client.restore(0, name)
    restored = await answer(behind=len(known))
    await read(longer)
    shifted = await answer(behind=len(known))
    found.talks += 1
    found.kept += kept == fresh
    found.restored += restored == fresh
    found.shifted += shifted == fresh
    found.unsaved += restored == kept
