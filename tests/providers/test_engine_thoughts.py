"""Thoughts of the model on this machine: shown apart, not sent again, and the cache is right."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

from chatsite.messages import Message
from chatsite.providers.base.provider import (
    Chunk,
    Finished,
    PromptRead,
    ReasoningPiece,
    Request,
    TextPiece,
)
from chatsite.providers.base.thoughts import answer_of
from tests.fakes.engine_words import END, tokenized
from tests.providers.cache_world import Clock, FakeWorld
from tests.providers.chunks import joined


async def answered(world: FakeWorld, *messages: Message, said: str) -> list[Chunk]:
    world.fake.says = [*tokenized(said, special=False), END]
    request = Request(
        conversation="c", messages=messages, model="any", max_tokens=200, answer=f"a{len(messages)}"
    )
    async with aclosing(answer_of(world.provider, request)) as chunks:
        found = [chunk async for chunk in chunks]
    await world.rest()
    return joined(found)


async def two_answers(folder: Path) -> None:
    world = FakeWorld(folder, limit=10**9)
    await world.open()
    try:
        question = Message.user("How much is two and two?", id="u")
        read, thought, text, end = await answered(
            world, question, said="<think>\nHm.\n</think>\n\nIt is 4."
        )
        assert isinstance(read, PromptRead) and isinstance(end, Finished)
        assert (thought, text) == (ReasoningPiece("Hm."), TextPiece("It is 4."))
        answer = Message.assistant("It is 4.", id="a1", metadata=end.metadata)
        read, text, _ = await answered(
            world, question, answer, Message.user("Sure?", id="v"), said="Yes."
        )
        assert text == TextPiece("Yes.")
        # The prompt has the answer alone, and what was predicted to be reused was reused.
        assert isinstance(read, PromptRead) and read.account.agrees
        cells = max((slot.cells.read for slot in world.fake.slots), key=len)
        spelled = "".join(chr(id - 1000) for id in cells if id >= 1000)
        assert "It is 4." in spelled and "Hm." not in spelled
    finally:
        await world.close()


def test_thoughts_of_the_engines_model_are_apart(tmp_path: Path) -> None:
    with asyncio.Runner(loop_factory=Clock) as loop:
        loop.run(two_answers(tmp_path))
