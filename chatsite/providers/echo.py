"""Answers without a model: repeats what the user wrote.

People see it where the engine can't run; tests use it because the same request always gives the
same answer.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence

from chatsite.messages import Basis, Message, TokenCount, plain_text
from chatsite.providers.base.provider import (
    Chunk,
    Finished,
    Model,
    Request,
    SentParameters,
    Status,
    TextPiece,
    Usage,
    wanted_parameters,
)
from chatsite.wording import say

WINDOW = 4096
_WORD = re.compile(r"\s*\S+")
# Words in a piece: a page is updated every 35 ms, so single words wouldn't be seen anyway.
_AT_ONCE = 2


class WordCounter:
    """Counts a word as one token, and one more for the role."""

    name = "words"
    basis: Basis = "estimated"

    async def count(self, messages: Sequence[Message]) -> list[TokenCount]:
        return [
            TokenCount(
                count=1 + len(plain_text(message).split()), tokenizer=self.name, basis=self.basis
            )
            for message in messages
        ]


class EchoProvider:
    """`delay` is in seconds for each word."""

    kind = "echo"

    def __init__(self, *, delay: float = 0.02) -> None:
        self._delay = delay
        self._words = WordCounter()

    def model(self, name: str | None) -> Model:
        """Always the same model, whatever was asked for."""
        return Model(
            provider=self.kind,
            name="echo",
            label=say("Echo (no model)"),
            window=WINDOW,
            note=say("No model answers here. You get back what would have been sent to one."),
            demonstration=True,
        )

    def small(self, beside: Model | None = None) -> None:
        """None: nothing here can judge."""

    def tokenizer(self, model: Model) -> WordCounter:
        return self._words

    def status(self) -> Status:
        return Status(state="ready")

    def parameters(self, request: Request) -> SentParameters:
        """All of them, as if a model were asked that takes every one."""
        return SentParameters(wanted_parameters(request))

    async def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        words = _WORD.findall(echo_answer(request.messages))
        reply = words[: max(request.max_tokens, 0)]
        prompt = sum(each.count for each in await self._words.count(request.messages))
        for start in range(0, len(reply), _AT_ONCE):
            if start and self._delay:
                await asyncio.sleep(self._delay * _AT_ONCE)
            yield TextPiece("".join(reply[start : start + _AT_ONCE]))
        yield Finished(
            reason="stop" if len(reply) == len(words) else "length",
            usage=Usage(prompt=prompt, completion=len(reply)),
        )


def echo_answer(messages: Sequence[Message]) -> str:
    """The whole answer: the newest text of the user, and how many messages were sent."""
    newest = next((plain_text(m).strip() for m in reversed(messages) if m.role == "user"), "")
    count = f"{len(messages)} message" + ("" if len(messages) == 1 else "s")
    quote = f"you said “{newest}”" if newest else "you said nothing"
    return f"Echo: {quote}. I was given {count}."
