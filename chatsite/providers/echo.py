"""Answers without a model: says back what it was given.

People see it where the engine can't run; tests use it because the same request always gives the
same answer.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence

from chatsite.messages import Basis, Message
from chatsite.providers.base.model import Model
from chatsite.providers.base.provider import Chunk, Finished, Request, Status, TextPiece, Usage
from chatsite.providers.base.text import plain_text

WINDOW = 4096
_WORD = re.compile(r"\s*\S+")


class WordCounter:
    """One word is one token, and one more stands for the role."""

    name = "words"
    basis: Basis = "estimated"

    async def count(self, messages: Sequence[Message]) -> list[int]:
        return [1 + len(plain_text(message).split()) for message in messages]


class EchoProvider:
    """`delay` is in seconds, between two words."""

    kind = "echo"

    def __init__(self, *, delay: float = 0.02) -> None:
        self._delay = delay
        self._words = WordCounter()

    def model(self, name: str | None) -> Model:
        """Always the same one, whatever was asked for."""
        return Model(
            provider=self.kind,
            name="echo",
            label="Echo (no model)",
            window=WINDOW,
            note="No model answers here. You get back what would have been sent to one.",
        )

    def small(self, beside: Model | None = None) -> None:
        """Nothing here can judge."""

    def tokenizer(self, model: Model) -> WordCounter:
        return self._words

    def status(self) -> Status:
        return Status(state="ready")

    async def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        words = _WORD.findall(echo_answer(request.messages))
        said = words[: max(request.max_tokens, 0)]
        prompt = sum(await self._words.count(request.messages))
        for position, word in enumerate(said):
            if position and self._delay:
                await asyncio.sleep(self._delay)
            yield TextPiece(word)
        yield Finished(
            reason="stop" if len(said) == len(words) else "length",
            usage=Usage(prompt=prompt, completion=len(said)),
        )


def echo_answer(messages: Sequence[Message]) -> str:
    """The whole answer to `messages`: the newest thing the user said, and how much came along."""
    heard = next((plain_text(m).strip() for m in reversed(messages) if m.role == "user"), "")
    count = f"{len(messages)} message" + ("" if len(messages) == 1 else "s")
    said = f"you said “{heard}”" if heard else "you said nothing"
    return f"Echo: {said}. I was given {count}."
