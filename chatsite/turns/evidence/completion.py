"""A short answer of a small model for the house's own needs: triage, summaries. Never shown."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

from chatsite.errors import ProviderError
from chatsite.messages import Message
from chatsite.providers.base.provider import (
    Divided,
    Finished,
    Model,
    Provider,
    Request,
    TextPiece,
    Usage,
)
from chatsite.providers.base.thoughts import answer_of
from chatsite.turns.agents.resolved_agent import ResolvedAgent
from chatsite.wording import say

# The role that a setting may name in place of a model.
FAST = "fast"


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A whole answer, what the provider reported, and how long it took."""

    text: str
    model: Model
    usage: Usage
    milliseconds: int


class Unfinished(ProviderError):
    """An answer that broke off or stopped at its limit; `usage` is what it cost all the same.

    `text` is what came of it where it stopped at its limit, "" otherwise."""

    code = "interrupted"

    def __init__(self, message: str, *, usage: Usage, text: str = "") -> None:
        super().__init__(message)
        self.usage = usage
        self.text = text


def side_model(agent: ResolvedAgent, name: str) -> Model | None:
    """Return the model that a setting names, at the agent's provider; None where none there can be
    asked to judge. What the administrator set for every model (CHAT_MODEL) holds for it too."""
    small = agent.provider.small(agent.model)
    if small is None or name == FAST:
        return small
    return agent.provider.model(name)


async def complete(
    provider: Provider,
    model: Model,
    messages: Sequence[Message],
    *,
    conversation: str,
    max_tokens: int,
    seconds: float,
) -> Completion:
    """Ask once. Raises ProviderError, TimeoutError after `seconds` for the whole call, and
    Unfinished where the answer broke off or stopped at `max_tokens`, or at more than they have."""
    started = time.monotonic()
    request = Request(
        conversation=conversation,
        messages=tuple(messages),
        model=model.name,
        max_tokens=max_tokens,
        temperature=0.0,
        # Somebody waits, and thinking is charged like text.
        options={"reasoning_effort": "low"},
    )
    async with asyncio.timeout(seconds):
        try:
            text, finished = await _ask(provider, request)
        except ProviderError as error:
            if not error.again or error.code == "too_large":
                raise
            # The server refused fields of the request: it goes without them now.
            text, finished = await _ask(provider, request)
    if finished is None:
        raise Unfinished(say("The answer broke off."), usage=Usage())
    if finished.reason != "stop":
        text = text if finished.reason == "length" else ""
        raise Unfinished(say("The answer broke off."), usage=finished.usage, text=text)
    return Completion(
        text=text,
        model=model,
        usage=finished.usage,
        milliseconds=round((time.monotonic() - started) * 1000),
    )


async def _ask(provider: Provider, request: Request) -> tuple[str, Finished | None]:
    """The text, and how it ended."""
    pieces: list[str] = []
    finished: Finished | None = None
    async with aclosing(answer_of(provider, request)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, TextPiece):
                pieces.append(chunk.text)
            elif isinstance(chunk, Divided):
                pieces = [chunk.text]
            elif isinstance(chunk, Finished):
                finished = chunk
    return "".join(pieces), finished
