"""Anthropic and every server that speaks its messages API.

The SDK makes the request (authentication, typed errors); `http.streaming` reads the answer,
because the SDK's typed streaming costs several times as much CPU for each token.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2

from chatsite.providers.anthropic.parameters import find_family, message_parameters
from chatsite.providers.anthropic.reader import AnthropicReader
from chatsite.providers.anthropic.request import (
    MessagesRequest,
    build_request,
    inline_sources,
    optional_fields,
    sent_files,
    uploaded_sources,
    without_fields,
)
from chatsite.providers.base.files import UPLOAD_TIMEOUT, forget_uploads
from chatsite.providers.base.learned import Learned
from chatsite.providers.base.provider import Chunk, Model, Request, SentParameters
from chatsite.providers.http import failures
from chatsite.providers.http.sdk_errors import explain_sdk_error
from chatsite.providers.http.server_provider import ServerProvider
from chatsite.providers.http.streaming import DEFAULT_TIMEOUTS, Timeouts, relay
from chatsite.providers.known.models import ModelFacts, ModelTable, known_facts
from chatsite.providers.known.servers import Server
from chatsite.providers.tokens.tokenizers import ClaudeEstimate

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_OFFICIAL = "api.anthropic.com"


class AnthropicProvider(ServerProvider):
    """`api_key` may be None for servers that want none."""

    def __init__(
        self,
        *,
        server: Server,
        api_key: str | None,
        table: ModelTable,
        model: str | None = None,
        fast: str | None = None,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        learned: Learned | None = None,
    ) -> None:
        super().__init__(server=server, table=table, model=model, fast=fast, learned=learned)
        # The SDK's paths begin with the version, with which many addresses end.
        self._url = server.base_url.rstrip("/").removesuffix("/v1")
        # Without a key the SDK would look for one in the environment and in its own files.
        self._key = api_key or "none"
        self._timeouts = timeouts
        self._official = urlsplit(self._url).hostname == _OFFICIAL
        # Files belong to an account, which is known by its key only.
        account = hashlib.sha256(f"{self._url} {self._key}".encode()).hexdigest()
        self._account = f"{server.name}:{account[:16]}"
        self._client: AsyncAnthropic | None = None
        self._loading = asyncio.Lock()

    def tokenizer(self, model: Model) -> ClaudeEstimate:
        return ClaudeEstimate(finer=find_family(model.name).finer)

    def parameters(self, request: Request) -> SentParameters:
        settings = message_parameters(request, self._facts(request.model))
        return self._without_refused(request, settings)

    def _facts(self, model: str) -> ModelFacts | None:
        """A Claude model behind a server of another name is as its maker describes it; what the
        server charges isn't known."""
        known = super()._facts(model)
        if known is None and (by_maker := known_facts("anthropic", model)):
            return replace(by_maker, price=None)
        return known

    async def warm(self) -> None:
        """Load the SDK in a thread, which takes a second, before the first answer needs it."""
        await self._open()

    async def aclose(self) -> None:
        """Close the open connections; call it once, at the end."""
        if self._client is not None:
            await self._client.close()

    async def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        """The answer. Files that the provider has lost are uploaded again, before any chunk."""
        client = await self._open()
        uploaded = self._server.files and any(message.attachments for message in request.messages)
        for may_be_lost in (uploaded, False):
            built = await self._build(client, request)
            built = replace(built, body=without_fields(built.body, self.left_out(request)))
            answer = self._answer(client, built, request, files_may_be_lost=may_be_lost)
            try:
                async with aclosing(answer) as chunks:
                    async for chunk in chunks:
                        yield chunk
                return
            except _FilesLost:
                files = sent_files(request.messages)
                await forget_uploads(files, request.files, at=self._account)

    def _answer(
        self,
        client: AsyncAnthropic,
        built: MessagesRequest,
        request: Request,
        *,
        files_may_be_lost: bool,
    ) -> AsyncGenerator[Chunk, None]:
        # `messages.create` would search every message for files, and log a warning for every model
        # that will be retired.
        headers = {"anthropic-version": built.version} if built.version else {}

        async def call() -> httpx2.Response:
            return await client.post(
                "/v1/messages",
                cast_to=httpx2.Response,
                body={**built.body, "stream": True},
                options={"headers": headers},
                stream=True,
            )

        def explain(error: Exception) -> Exception:
            if files_may_be_lost and _names_a_file(error):
                return _FilesLost()
            return self._explain(error, request, sent=optional_fields(built.body))

        return relay(
            call,
            AnthropicReader(built),
            timeouts=self._timeouts,
            explain=explain,
            taken=lambda: self.taken(request),
        )

    async def _build(self, client: AsyncAnthropic, request: Request) -> MessagesRequest:
        try:
            async with asyncio.timeout(UPLOAD_TIMEOUT):
                sources = (
                    await uploaded_sources(
                        request.messages, request.files, client=client, at=self._account
                    )
                    if self._server.files
                    else await inline_sources(request.messages, request.files)
                )
        except TimeoutError:
            raise failures.too_slow(started=False, seconds=UPLOAD_TIMEOUT) from None
        except Exception as error:
            raise self._explain(error, request) from None
        return build_request(
            request,
            server=self.kind,
            facts=self._facts(request.model),
            sources=sources,
            official=self._official,
        )

    def _explain(self, error: Exception, request: Request, sent: Collection[str] = ()) -> Exception:
        import anthropic

        told, refusal = explain_sdk_error(error, sdk=anthropic, model=request.model, sent=sent)
        return self.learn(told, refusal, request)

    async def _open(self) -> AsyncAnthropic:
        async with self._loading:
            if self._client is None:
                self._client = await asyncio.to_thread(self._make)
        return self._client

    def _make(self) -> AsyncAnthropic:
        import anthropic

        from chatsite.providers.http import transport

        http = transport.client(self._url, connect=self._timeouts.connect)
        made = anthropic.AsyncAnthropic(
            api_key=self._key,
            base_url=self._url,
            max_retries=0,
            timeout=http.timeout,
            http_client=http,
            # Nobody reads spans here, and they cost CPU.
            open_telemetry=False,
        )
        # ANTHROPIC_CUSTOM_HEADERS may hold the keys of a gateway: every server of this dialect
        # would get them.
        made._custom_headers = {}
        return made


class _FilesLost(Exception):
    """The request has a file id that the provider doesn't know (any more)."""


def _names_a_file(error: Exception) -> bool:
    """An unknown model is "not found" as well; only the text tells the two apart."""
    status, text = getattr(error, "status_code", 0), str(getattr(error, "api_message", ""))
    return status in (400, 404) and "file" in text.lower()
