"""A restored session continues with the very words of a slot that was never saved.

One request at a time: the engine rounds differently by the number of requests in a batch, and a
model of this size then sometimes chooses another word.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from chatsite.providers.embedded.client import EngineClient
from chatsite.providers.embedded.engine import Engine
from tests.short_talks import SYSTEM, TALKS
from tests.token_ids import ask, prompt_ids

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

TOKENS = 12
NEVER_SAVED, BROUGHT_BACK = 0, 1


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EngineClient]:
    folder = tmp_path_factory.mktemp("engine")
    engine = Engine(log_path=folder / "engine.log", sessions=folder / "kv")
    engine.start()
    yield (await engine.ready()).client
    await engine.stop()


async def test_twenty_answers_are_the_same_after_saving_and_bringing_back(
    client: EngineClient,
) -> None:
    differing = []
    for talk in TALKS:
        prompt = await prompt_ids(client, [SYSTEM, *talk.turn, talk.question])
        await ask(client, prompt, slot=NEVER_SAVED)
        expected = await ask(client, prompt, slot=NEVER_SAVED, tokens=TOKENS)
        # The last answer is removed: the slot is as it was before.
        await ask(client, prompt, slot=NEVER_SAVED)
        name = f"{uuid.uuid4().hex}.bin"
        await client.save(NEVER_SAVED, name)
        assert await client.restore(BROUGHT_BACK, name) == len(prompt)
        answer = await ask(client, prompt, slot=BROUGHT_BACK, tokens=TOKENS)
        assert (answer.reused, answer.evaluated) == (len(prompt) - 1, 1)
        if answer.ids != expected.ids:
            differing.append((talk.follow_up, expected.ids, answer.ids))
    assert not differing
