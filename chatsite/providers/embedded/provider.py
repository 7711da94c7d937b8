"""The model on this machine, as a provider."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

import httpx2

from chatsite.errors import ProviderError
from chatsite.messages import Basis, Message
from chatsite.providers import failures
from chatsite.providers.base import Chunk, Finished, Model, Request, Status
from chatsite.providers.embedded.client import EngineRefused
from chatsite.providers.embedded.completion import Completion
from chatsite.providers.embedded.engine import SLOTS, WINDOW, Engine, Running
from chatsite.providers.embedded.prompt import NotAdditive, Prompter, speaker, spoken_text
from chatsite.providers.embedded.slots import Slots
from chatsite.providers.openai_reader import AnswerReader
from chatsite.providers.tokenizers import Estimate

# The only system sentence under which the bundled model stays in the user's language; even a
# sentence added to it makes it drift.
TRAINED_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
WAITING = 16
_NOTE = (
    "A small demonstration model that runs on this machine. Personality and good answers need a "
    "larger model."
)
_SAMPLING: dict[str, float] = {"temperature": 0.2, "top_p": 0.9, "repeat_penalty": 1.05}
_FIELDS = ["stop", "stop_type", "timings", "tokens_evaluated", "tokens_predicted"]
_PASSED_ON = ("repeat_penalty", "seed", "stop", "frequency_penalty", "presence_penalty")


class EmbeddedProvider:
    """Answers with `engine`, which its owner starts and stops."""

    kind = "embedded"

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._slots = Slots(SLOTS, waiting=WAITING)
        self._estimate = Estimate()

    @property
    def bundled(self) -> bool:
        """Whether this is the small model that comes along (see TRAINED_SYSTEM)."""
        return self._engine.bundled

    def model(self, name: str | None) -> Model:
        """Always the engine's one model, whatever was asked for."""
        engine = self._engine
        window = engine.running.window if engine.running else WINDOW
        label = "SmolLM2 135M, on this machine" if engine.bundled else engine.name
        note = _NOTE if engine.bundled else ""
        return Model(provider=self.kind, name=engine.name, label=label, window=window, note=note)

    def small(self, beside: Model | None = None) -> None:
        """A model of this size answers, but can't be asked to judge."""

    def tokenizer(self, model: Model) -> EngineTokenizer | Estimate:
        """An estimate while the engine isn't ready, or can't count (a template that isn't
        additive)."""
        running = self._engine.running
        if running is None or running.prompter is None:
            return self._estimate
        return EngineTokenizer(self._engine, name=_tokenizer_name(self._engine, running))

    def status(self) -> Status:
        return self._engine.status()

    async def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        await self._engine.ready()
        async with self._slots.hold(request.conversation) as slot:
            running = await self._engine.ready()
            try:
                async with aclosing(await _answer(running, request, slot)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            except (EngineRefused, httpx2.HTTPError, RuntimeError) as error:
                raise _told(error) from None


class EngineTokenizer:
    """Counts with the model's own tokenizer."""

    basis: Basis = "counted"

    def __init__(self, engine: Engine, *, name: str) -> None:
        self._engine = engine
        self.name = name

    async def count(self, messages: Sequence[Message]) -> list[int]:
        """Raises ProviderError where the engine isn't ready within its time to load."""
        running = await self._engine.ready()
        assert running.prompter is not None
        try:
            return await running.prompter.sizes(messages)
        except (EngineRefused, httpx2.HTTPError, RuntimeError) as error:
            raise _told(error) from None


def _tokenizer_name(engine: Engine, running: Running) -> str:
    family = engine.name if engine.bundled else "gguf"
    return f"{family}:{running.fingerprint[:8]}"


async def _answer(running: Running, request: Request, slot: int) -> AsyncGenerator[Chunk, None]:
    """The way to ask: by token ids wherever the template allows."""
    if running.prompter is not None:
        try:
            prompt = await running.prompter.prompt(request.messages)
        except NotAdditive:
            return _chatted(running, request, slot)
        return _completed(running, running.prompter, request, slot, prompt)
    return _chatted(running, request, slot)


async def _completed(
    running: Running, prompter: Prompter, request: Request, slot: int, prompt: list[int]
) -> AsyncGenerator[Chunk, None]:
    """By token ids: what is decoded is what was counted."""
    body = _body(request, slot) | {
        "prompt": prompt,
        "n_predict": request.max_tokens,
        "return_tokens": True,
        "response_fields": _FIELDS,
    }
    completion = Completion()
    async with aclosing(running.client.stream("/completion", body)) as events:
        async for payload in events:
            text = completion.take(payload)
            if text is not None:
                yield text
    if completion.reason is None:
        raise failures.interrupted("engine stream ended")
    ids = await completion.ids(running.client)
    metadata = prompter.remember(completion.text, ids) if ids else ""
    yield Finished(reason=completion.reason, usage=completion.usage, metadata=metadata)


async def _chatted(running: Running, request: Request, slot: int) -> AsyncGenerator[Chunk, None]:
    """By messages, for templates that have to see the whole conversation."""
    body = _body(request, slot) | {
        "messages": [
            {"role": speaker(message), "content": spoken_text(message)}
            for message in request.messages
        ],
        "max_tokens": request.max_tokens,
        "stream_options": {"include_usage": True},
    }
    reader = AnswerReader()
    async with aclosing(running.client.stream("/v1/chat/completions", body)) as events:
        async for payload in events:
            for chunk in reader.take(payload):
                yield chunk
    yield reader.finished()


def _body(request: Request, slot: int) -> dict[str, Any]:
    asked: dict[str, object] = {"temperature": request.temperature, "top_p": request.top_p}
    asked |= {name: request.options.get(name) for name in _PASSED_ON}
    chosen = {name: value for name, value in asked.items() if value is not None}
    fixed = {"id_slot": slot, "cache_prompt": True, "n_cache_reuse": 16, "stream": True}
    return {**_SAMPLING, **chosen, **fixed}


def _told(error: Exception) -> ProviderError:
    """RuntimeError is what httpx2 says of a client that was closed because the engine died."""
    if isinstance(error, EngineRefused) and error.kind == "exceed_context_size_error":
        return ProviderError(
            "This conversation is longer than the model on this machine takes. Send less history, "
            "then try again. What you wrote is kept.",
            code="too_large",
            detail=str(error),
        )
    if isinstance(error, EngineRefused):
        return ProviderError(
            "The model on this machine refused this conversation. What you wrote is kept.",
            code="bad_request",
            detail=str(error),
        )
    return ProviderError(
        "The model on this machine stopped in the middle and is being started again. What was "
        "said is kept. Try again in a moment.",
        code="interrupted",
        retryable=True,
        detail=type(error).__name__,
    )
