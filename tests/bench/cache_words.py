"""Whether greedy answers are the same words, whatever way the prompt came into the cache."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from chatsite.providers.embedded.client import EngineClient
from tests.short_talks import SYSTEM, TALKS, ShortTalk
from tests.token_ids import ask, cached_ids, prompt_ids

TOKENS = 24


@dataclass(slots=True)
class Alike:
    """How many of `talks` were answered with the same ids as when the whole prompt was read at
    once into an empty slot: their last question read behind what lay there, the same after saving
    and restoring, and behind what was shifted. `unsaved`: restored ones that are as never saved."""

    talks: int = 0
    kept: int = 0
    restored: int = 0
    shifted: int = 0
    unsaved: int = 0


async def alike(client: EngineClient, *, talks: int) -> Alike:
    found = Alike()
    for place, one in enumerate(TALKS[:talks]):
        others = [TALKS[(place + step) % len(TALKS)] for step in (7, 13)]
        await _try(client, found, one, cut=others[0], after=others[1])
    return found


async def _try(
    client: EngineClient, found: Alike, one: ShortTalk, *, cut: ShortTalk, after: ShortTalk
) -> None:
    said = [SYSTEM, *one.turn, *after.turn]
    known, prompt = await cached_ids(client, said), await prompt_ids(client, [*said, one.question])
    longer = await cached_ids(client, [SYSTEM, *one.turn, *cut.turn, *after.turn])
    name = f"{uuid.uuid4().hex}.bin"

    async def answer(*, behind: int) -> tuple[int, ...]:
        asked = await ask(client, prompt, slot=0, tokens=TOKENS)
        if asked.reused != behind:
            raise RuntimeError(f"{asked.reused} tokens were reused and not {behind}")
        return asked.ids

    async def read(ids: list[int]) -> None:
        await client.erase(0)
        await ask(client, ids, slot=0)

    await client.erase(0)
    anew = await answer(behind=0)
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
    found.kept += kept == anew
    found.restored += restored == anew
    found.shifted += shifted == anew
    found.unsaved += restored == kept
