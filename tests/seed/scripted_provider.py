"""A provider that answers what the sample says, so that every kind of answer can be made."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, replace

from chatsite.errors import ProviderError
from chatsite.providers.base.provider import (
    Chunk,
    Finished,
    Model,
    ReasoningPiece,
    Request,
    TextPiece,
    Usage,
    WrittenCall,
)
from chatsite.providers.echo import EchoProvider

WINDOW = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the provider does for one request: it writes `reasoning` and `text`, then it calls
    `calls` (arguments by the tool's name), fails with `error`, or waits for a Stop."""

    text: str = ""
    reasoning: str = ""
    calls: Mapping[str, Mapping[str, object]] | None = None
    error: ProviderError | None = None
    waits: bool = False


class ScriptedProvider(EchoProvider):
    """Gives `answers` in order, one a request, and echoes where there is none left."""

    def __init__(self) -> None:
        super().__init__(delay=0)
        self.answers: list[Answer] = []

    def model(self, name: str | None) -> Model:
        return replace(
            super().model(name),
            name="sample",
            label="Sample (no model)",
            window=WINDOW,
            takes=frozenset({"image"}),
            tools=True,
        )

    async def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        if not self.answers:
            async for chunk in super().stream(request):
                yield chunk
            return
        answer = self.answers.pop(0)
        if answer.reasoning:
            yield ReasoningPiece(answer.reasoning)
        if answer.text:
            yield TextPiece(answer.text)
        if answer.error is not None:
            raise answer.error
        if answer.waits:
            await asyncio.Event().wait()
        yield await self._finished(request, answer)

    async def _finished(self, request: Request, answer: Answer) -> Finished:
        counts = await self.tokenizer(self.model(None)).count(request.messages)
        calls = tuple(
            WrittenCall(id=f"call_{number}", name=name, arguments=json.dumps(arguments))
            for number, (name, arguments) in enumerate((answer.calls or {}).items(), start=1)
        )
        return Finished(
            reason="tool_calls" if calls else "stop",
            usage=Usage(
                prompt=sum(each.count for each in counts), completion=len(answer.text.split())
            ),
            calls=calls,
        )
