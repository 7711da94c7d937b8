"""A question to OpenAI's provider, and its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from chatsite.errors import ProviderError
from chatsite.messages import Message
from chatsite.providers.base.provider import Chunk, Finished, Request, TextPiece
from chatsite.providers.http.streaming import Timeouts
from chatsite.providers.openai.provider import OpenAIProvider
from tests.fakes.openai_provider import provider_at as made

KEY = "sk-canary-0123456789"


def provider_at(url: str, *, model: str | None = None, patience: float = 5.0) -> OpenAIProvider:
    timeouts = Timeouts(first_token=patience, between_tokens=patience)
    return made(url, api_key=KEY, model=model, timeouts=timeouts)


def request(text: str, *, model: str = "gpt-4o-mini", max_tokens: int = 1000) -> Request:
    messages = (Message.system("Be brief.", id="s"), Message.user(text, id="u"))
    return Request(conversation="c", messages=messages, model=model, max_tokens=max_tokens)


async def ask(provider: OpenAIProvider, text: str) -> tuple[str, Finished | ProviderError]:
    """The text, and how the answer ended."""
    chunks: list[Chunk] = []
    try:
        async for chunk in provider.stream(request(text)):
            chunks.append(chunk)
    except ProviderError as error:
        return said(chunks), error
    finally:
        await provider.aclose()
    last = chunks[-1]
    assert isinstance(last, Finished)
    return said(chunks), last


def said(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextPiece))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - the server lives in another thread
            await asyncio.sleep(0.005)
