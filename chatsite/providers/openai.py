"""OpenAI and every server that speaks its chat completions, text only.

The SDK makes the request (authentication, typed errors); the body is read here, because its
typed streaming costs three times as much per token and reports a body that a proxy ended early
as a whole answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2

from chatsite.providers import openai_errors as errors
from chatsite.providers.base import Chunk, Model, Request, Status
from chatsite.providers.openai_models import ASSUMED_WINDOW, DEFAULT_MODEL, SMALL_MODEL, known
from chatsite.providers.openai_wire import AnswerReader, wire_messages
from chatsite.providers.sse import SseParser
from chatsite.providers.tokenizers import Estimate, O200k

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI_URL = "https://api.openai.com/v1"
_PASSED_ON = ("seed", "stop", "frequency_penalty", "presence_penalty")
# The usage comes after the reason; an answer that is whole isn't held up for it.
_USAGE_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """In seconds. The SDK's own would let a person look at nothing for ten minutes."""

    connect: float = 5.0
    first_token: float = 30.0
    between_tokens: float = 20.0


DEFAULT_TIMEOUTS = Timeouts()


class OpenAIProvider:
    """`model` overrides what agents ask for: another server knows other names. `fast` names the
    small model. `api_key` may be None for servers that want none.
    """

    kind = "openai"

    def __init__(
        self,
        *,
        api_key: str | None,
        base_url: str | None = None,
        model: str | None = None,
        fast: str | None = None,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
    ) -> None:
        self._key = api_key or "none"
        self._url = base_url or OPENAI_URL
        self._is_openai = urlsplit(self._url).hostname == urlsplit(OPENAI_URL).hostname
        self._model = model
        self._fast = fast
        self._timeouts = timeouts
        self._client: AsyncOpenAI | None = None
        self._loading = asyncio.Lock()
        self._o200k = O200k.find()
        self._estimate = Estimate()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self._model!r})"

    def model(self, name: str | None) -> Model:
        return self._described(self._model or name or DEFAULT_MODEL)

    def small(self, beside: Model | None = None) -> Model | None:
        """Another server's small models have names that only its administrator knows."""
        if self._fast:
            return self._described(self._fast)
        if self._is_openai and not self._model:
            return self._described(SMALL_MODEL)
        return beside or self.model(None)

    def _described(self, chosen: str) -> Model:
        facts = known(chosen)
        note = "" if facts else f"Its window isn't known; {ASSUMED_WINDOW:,} tokens are assumed."
        window = facts.window if facts else ASSUMED_WINDOW
        return Model(provider=self.kind, name=chosen, label=chosen, window=window, note=note)

    def tokenizer(self, model: Model) -> O200k | Estimate:
        facts = known(model.name)
        if facts and facts.o200k and self._o200k:
            return self._o200k
        return self._estimate

    def status(self) -> Status:
        """Always ready: whether the provider answers shows when it is asked."""
        return Status(state="ready")

    async def warm(self) -> None:
        """Load SDK and token ranks in threads (they take a second), so that the first answer
        isn't late."""
        await self._open()
        if self._o200k is not None:
            await self._o200k.warm()

    async def aclose(self) -> None:
        """Close the connections that are kept open; call it once, at the end."""
        if self._client is not None:
            await self._client.close()

    async def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        reader = AnswerReader()
        parser = SseParser()
        async with aclosing(self._bodies(request, reader)) as bodies:
            async for body in bodies:
                try:
                    payloads = parser.feed(body)
                except ValueError as error:
                    raise errors.malformed(type(error).__name__) from None
                for payload in payloads:
                    text = reader.take(payload)
                    if text is not None:
                        yield text
                if reader.done:
                    break
        yield reader.finished()

    async def _bodies(self, request: Request, reader: AnswerReader) -> AsyncGenerator[bytes, None]:
        """The raw body, read by read, under our own clocks; leaving it closes the upstream.

        Time that our caller spends between two reads doesn't count against the provider.
        """
        call = self._call(await self._open(), request)
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._timeouts.first_token
        try:
            async with asyncio.timeout_at(deadline):
                response = await call.__aenter__()
        except Exception as error:
            raise self._opening_error(error, request) from None
        try:
            raw = aiter(response.iter_bytes())
            while True:
                signs = reader.signs
                async with asyncio.timeout_at(deadline):
                    body = await anext(raw, None)
                if body is None:
                    return
                yield body
                if reader.reason is not None:
                    deadline = clock() + _USAGE_SECONDS
                elif reader.signs > signs:
                    deadline = clock() + self._timeouts.between_tokens
        except Exception as error:
            # An answer that has its reason is whole; only the usage was still to come.
            if reader.reason is None:
                raise self._reading_error(error, reader) from None
        finally:
            await call.__aexit__(None, None, None)

    def _opening_error(self, error: Exception, request: Request) -> Exception:
        import openai

        name = type(error).__name__
        match error:
            case openai.APIStatusError(status_code=status, code=code):
                return errors.refused(status, code=code, model=request.model, name=name)
            case openai.APITimeoutError() if isinstance(error.__cause__, httpx2.ConnectTimeout):
                return errors.unreachable(type(error.__cause__).__name__)
            case TimeoutError() | openai.APITimeoutError():
                return errors.too_slow(started=False, seconds=self._timeouts.first_token)
            case openai.APIConnectionError():
                return errors.unreachable(type(error.__cause__ or error).__name__)
            case openai.OpenAIError():
                return errors.malformed(name)
        return error

    def _reading_error(self, error: Exception, reader: AnswerReader) -> Exception:
        started = reader.signs > 0
        limits = self._timeouts
        match error:
            case TimeoutError():
                seconds = limits.between_tokens if started else limits.first_token
                return errors.too_slow(started=started, seconds=seconds)
            case httpx2.HTTPError():
                return errors.interrupted(type(error).__name__)
        return error

    def _call(self, client: AsyncOpenAI, request: Request) -> AbstractAsyncContextManager[Any]:
        body = self._body(request)
        # The SDK looks at every message by its types: 0.3 ms of CPU for each, which a long
        # history pays before its first token. What comes as extra is sent as it is.
        extra = {"messages": body.pop("messages")}
        create: Any = client.chat.completions.with_streaming_response.create
        call: AbstractAsyncContextManager[Any] = create(**body, messages=(), extra_body=extra)
        return call

    def _body(self, request: Request) -> dict[str, Any]:
        """Sampling values are left out where the model would refuse the request for them."""
        facts = known(request.model)
        reasoning = facts is not None and facts.reasoning
        bound = "max_completion_tokens" if self._is_openai or reasoning else "max_tokens"
        body: dict[str, Any] = {
            "model": request.model,
            "messages": wire_messages(request.messages),
            "stream": True,
            "stream_options": {"include_usage": True},
            bound: request.max_tokens,
        }
        if reasoning:
            effort = request.options.get("reasoning_effort")
            body |= {"reasoning_effort": effort} if effort else {}
        else:
            sampling: dict[str, object] = {
                "temperature": request.temperature,
                "top_p": request.top_p,
            }
            sampling |= {name: request.options.get(name) for name in _PASSED_ON}
            body |= {name: value for name, value in sampling.items() if value is not None}
        return body

    async def _open(self) -> AsyncOpenAI:
        async with self._loading:
            if self._client is None:
                self._client = await asyncio.to_thread(self._make)
        return self._client

    def _make(self) -> AsyncOpenAI:
        import openai

        # Our clocks decide; the read timeout only catches what they can't see. Redirects are
        # not followed, so that the key goes to the configured host and nowhere else.
        slowest = max(self._timeouts.first_token, self._timeouts.between_tokens) + 5
        timeout = httpx2.Timeout(slowest, connect=self._timeouts.connect)
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=50)
        # A proxy in the environment is for the world outside, not for a server on this machine.
        outside = urlsplit(self._url).hostname not in ("localhost", "127.0.0.1", "::1")
        http = httpx2.AsyncClient(
            timeout=timeout, limits=limits, follow_redirects=False, trust_env=outside
        )
        return openai.AsyncOpenAI(
            api_key=self._key,
            base_url=self._url,
            max_retries=0,
            timeout=timeout,
            http_client=http,
        )
