"""The model on this machine, as a provider."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from itertools import compress
from typing import Any

from chatsite.errors import ProviderError
from chatsite.kv_cache.books import Book, Reuse
from chatsite.kv_cache.slots.cache import Cache
from chatsite.kv_cache.slots.lease import Lease
from chatsite.messages import Basis, Message, TokenCount
from chatsite.providers.base.provider import (
    Chunk,
    Finished,
    Model,
    PromptProgress,
    PromptRead,
    Request,
    SentParameters,
    Status,
    not_sent,
    wanted_parameters,
)
from chatsite.providers.embedded.client import ENGINE_ERRORS, EngineRefused
from chatsite.providers.embedded.engine import WINDOW, Engine
from chatsite.providers.embedded.prompt import Prompter, spoken_messages, spoken_text
from chatsite.providers.embedded.template import NotAdditive
from chatsite.providers.http import failures
from chatsite.providers.openai.reader import ChatReader
from chatsite.providers.tokens.tokenizers import Estimate, estimated_count, is_countable
from chatsite.wording import later, say

# The only system prompt with which the bundled model stays in the user's language; even one more
# sentence makes it drift.
TRAINED_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
_NOTE = later("SmolLM2 135M is a tiny demonstration model on this machine. It is often wrong.")
# Without the penalty half of the longer answers run in circles (docs/evidence/measured.md).
_SAMPLING: dict[str, float] = {"temperature": 0.2, "top_p": 0.9, "repeat_penalty": 1.05}
# The engine reports its progress after each 512 tokens, which take it some seconds.
LONG = 512
_FIELDS = ["stop", "stop_type", "timings", "tokens_evaluated", "tokens_predicted"]
_PASSED_ON = (
    *("temperature", "top_p", "repeat_penalty", "seed", "stop"),
    *("frequency_penalty", "presence_penalty"),
)


class EmbeddedProvider:
    """Answers with `engine`, which its owner starts and stops; `cache` has its slots' books."""

    kind = "embedded"

    def __init__(self, engine: Engine, cache: Cache | None = None) -> None:
        self._engine = engine
        self.cache = cache or Cache(engine)
        self._estimate = Estimate()

    @property
    def bundled(self) -> bool:
        """Whether this is the small model that is installed with Chatsite (see TRAINED_SYSTEM)."""
        return self._engine.bundled

    def model(self, name: str | None) -> Model:
        """Always the engine's one model, whatever `name` is."""
        engine = self._engine
        window = engine.running.window if engine.running else WINDOW
        label = say("SmolLM2 135M, on this machine") if engine.bundled else engine.name
        note = say(_NOTE) if engine.bundled else ""
        return Model(
            provider=self.kind,
            name=engine.name,
            label=label,
            window=window,
            note=note,
            demonstration=engine.bundled,
        )

    def small(self, beside: Model | None = None) -> None:
        """None: a model of this size can answer, but not judge."""

    def tokenizer(self, model: Model) -> EngineTokenizer | Estimate:
        """Return an estimate while the engine isn't ready, and for templates that aren't
        additive."""
        running = self._engine.running
        if running is None or running.prompter is None:
            return self._estimate
        family = self._engine.name if self._engine.bundled else "gguf"
        return EngineTokenizer(self._engine, name=f"{family}:{running.fingerprint[:8]}")

    def status(self) -> Status:
        return self._engine.status()

    def parameters(self, request: Request) -> SentParameters:
        others = [name for name in wanted_parameters(request) if name not in _PASSED_ON]
        dropped = not_sent(
            others,
            "{names} is not sent: the engine on this machine has no such setting.",
            "{names} are not sent: the engine on this machine has no such setting.",
        )
        return SentParameters({**_SAMPLING, **_passed_on(request)}, dropped)

    async def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        await self._engine.ready()
        async with self.cache.hold(request.conversation) as lease:
            try:
                async with aclosing(await self._answer(request, lease)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            except ENGINE_ERRORS as error:
                raise _explain(error) from None

    async def _answer(self, request: Request, lease: Lease) -> AsyncGenerator[Chunk, None]:
        """The answer, requested by token ids wherever the template allows that."""
        prompter = lease.running.prompter
        if prompter is None:
            return _answer_by_messages(request, lease)
        # The prompt of a continued answer has its beginning; the added cells need another key.
        continued = any(message.id == request.answer for message in request.messages)
        answer = f"{request.answer}+" if continued else request.answer
        try:
            prompt = await prompter.prompt(request.messages, answer=answer)
        except NotAdditive:
            return _answer_by_messages(request, lease)
        return self._answer_by_ids(request, lease, prompter, prompt, answer)

    async def _answer_by_ids(
        self, request: Request, lease: Lease, prompter: Prompter, prompt: Book, answer: str
    ) -> AsyncGenerator[Chunk, None]:
        """Requested by token ids, so that the engine reads exactly what was counted."""
        plan = await lease.prepare(prompt, head=_cells_of_head(request, prompt))
        body = _body(request, lease.slot) | {
            "prompt": prompt.ids,
            "n_predict": request.max_tokens,
            "n_cache_reuse": plan.chunk,
            "return_tokens": True,
            "return_progress": True,
            "response_fields": _FIELDS,
        }
        completion, client = lease.completion, lease.running.client
        lease.begin(prompt, answer=answer)
        started = False
        try:
            async with aclosing(client.stream("/completion", body)) as events:
                async for payload in events:
                    text = completion.take(payload)
                    if text is not None:
                        if not started:
                            started = True
                            yield self._prompt_read(lease, plan, prompt)
                        yield text
                    elif not started and plan.evaluated > LONG:
                        yield PromptProgress(completion.read, len(prompt))
        except EngineRefused:
            lease.refused()
            raise
        if completion.reason is None:
            raise failures.interrupted("engine stream ended")
        if not started:
            yield self._prompt_read(lease, plan, prompt)
        await self.cache.settle(lease)
        ids = await completion.ids(client)
        metadata = prompter.remember(completion.text, ids) if ids else ""
        yield Finished(reason=completion.reason, usage=completion.usage, metadata=metadata)

    def _prompt_read(self, lease: Lease, plan: Reuse, prompt: Book) -> PromptRead:
        """Compare the plan with what the engine reused; the slot holds this prompt now."""
        account = lease.account(plan, prompt)
        self.cache.count_miss(lease, account)
        return PromptRead(account)

    def can_trim(self, conversation: str) -> bool:
        return self.cache.can_trim(conversation)

    async def trim(self, conversation: str, messages: Sequence[Message]) -> None:
        """Cut out of the conversation's slot what its next request won't have (see `Cache.trim`).
        `messages` are that request; the text of the last one isn't known yet."""
        running = self._engine.running
        if running is None or running.prompter is None:
            return
        try:
            prompt = await running.prompter.prompt(messages, answer="")
        except NotAdditive:
            return
        except ENGINE_ERRORS as error:
            raise _explain(error) from None
        last = prompt.places.get(messages[-1].id)
        if last is not None and last.start > 0:
            self.cache.trim(conversation, prompt.cut_to(last.start))


class EngineTokenizer:
    """Counts with the model's own tokenizer."""

    basis: Basis = "counted"

    def __init__(self, engine: Engine, *, name: str) -> None:
        self._engine = engine
        self.name = name

    async def count(self, messages: Sequence[Message]) -> list[TokenCount]:
        """Raises ProviderError where the engine isn't ready in time."""
        running = await self._engine.ready()
        assert running.prompter is not None
        countable = [is_countable(spoken_text(message)) for message in messages]
        try:
            sizes = iter(await running.prompter.sizes(list(compress(messages, countable))))
        except ENGINE_ERRORS as error:
            raise _explain(error) from None
        return [
            TokenCount(count=next(sizes), tokenizer=self.name, basis=self.basis)
            if counted
            else estimated_count(spoken_text(message), self.name)
            for message, counted in zip(messages, countable, strict=True)
        ]


def _cells_of_head(request: Request, prompt: Book) -> int:
    """How many cells at the prompt's beginning are the same in all conversations of the agent."""
    head = {message.id for message in request.messages[: request.head]}
    return next((start for start, span in prompt.starts() if span.key not in head), len(prompt))


async def _answer_by_messages(request: Request, lease: Lease) -> AsyncGenerator[Chunk, None]:
    """Requested by messages, for templates that must see the whole conversation. What the slot
    holds afterwards isn't known."""
    await lease.save()
    lease.contents.put(request.conversation, None)
    body = _body(request, lease.slot) | {
        "messages": spoken_messages(request.messages),
        "max_tokens": request.max_tokens,
        "stream_options": {"include_usage": True},
    }
    reader = ChatReader()
    async with aclosing(lease.running.client.stream("/v1/chat/completions", body)) as events:
        async for payload in events:
            for chunk in reader.take(payload):
                yield chunk
    yield reader.finished()


def _body(request: Request, slot: int) -> dict[str, Any]:
    fixed = {"id_slot": slot, "cache_prompt": True, "n_cache_reuse": 0, "stream": True}
    return {**_SAMPLING, **_passed_on(request), **fixed}


def _passed_on(request: Request) -> dict[str, object]:
    wanted = wanted_parameters(request)
    return {name: value for name, value in wanted.items() if name in _PASSED_ON}


def _explain(error: Exception) -> ProviderError:
    """As a ProviderError. RuntimeError is httpx2's for a client that was closed as it died."""
    if isinstance(error, EngineRefused) and error.kind == "exceed_context_size_error":
        return ProviderError(
            say(
                "This conversation is too long for the model on this machine. Choose a shorter "
                "memory at the top right, then try again. What you wrote is kept."
            ),
            code="too_large",
            detail=str(error),
        )
    if isinstance(error, EngineRefused):
        return ProviderError(
            say("The model on this machine refused this conversation. What you wrote is kept."),
            code="bad_request",
            detail=str(error),
        )
    return ProviderError(
        say(
            "The model on this machine stopped in the middle and is being started again. The part "
            "received is kept. Try again in a moment."
        ),
        code="interrupted",
        retryable=True,
        detail=type(error).__name__,
    )
