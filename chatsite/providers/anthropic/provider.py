"""Anthropic and every server that speaks its messages API.

The SDK makes the request (authentication, typed errors); `http.streaming` reads the answer,
because the SDK's typed streaming costs several times as much CPU for each token.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2

from chatsite.providers.anthropic.parameters import choose_parameters, find_family
from chatsite.providers.anthropic.reader import AnthropicReader
from chatsite.providers.anthropic.request import (
    MessagesRequest,
    build_request,
    file_sources,
    optional_fields,
    sent_files,
    without_fields,
)
from chatsite.providers.base.files import UPLOAD_TIMEOUT, forget_uploads
from chatsite.providers.base.provider import Chunk, Model, Request, SentParameters
from chatsite.providers.http import failures
from chatsite.providers.http.server_provider import ServerProvider
from chatsite.providers.http.streaming import relay
from chatsite.providers.known.models import ModelFacts, known_facts
from chatsite.providers.tokens.tokenizers import ClaudeEstimate

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_OFFICIAL = "api.anthropic.com"


class AnthropicProvider(ServerProvider["AsyncAnthropic"]):
    """Speaks the messages API."""

    @property
    def _address(self) -> str:
        """The SDK's paths begin with the version, with which many addresses end."""
        return self._server.base_url.rstrip("/").removesuffix("/v1")

    @property
    def _account(self) -> str | None:
        """The account that stores uploads, None where files are sent with each request."""
        return f"{self.kind}:{self._account_hash[:16]}" if self._server.files else None

    def tokenizer(self, model: Model) -> ClaudeEstimate:
        return ClaudeEstimate(finer=find_family(model.name).finer)

    def parameters(self, request: Request) -> SentParameters:
        settings = choose_parameters(request, self._facts(request.model))
        return self._without_refused(request, settings)

    def _facts(self, model: str) -> ModelFacts | None:
        """A Claude model behind a server of another name is as its maker describes it; what the
        server charges isn't known."""
        known = super()._facts(model)
        if known is None and (by_maker := known_facts("anthropic", model)):
            return replace(by_maker, price=None)
        return known

    async def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        """Yield the answer. Files that the provider has lost are uploaded again, before any
        chunk."""
        client, account = await self.open(), self._account
        uploaded = bool(account) and any(message.attachments for message in request.messages)
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
                await forget_uploads(files, request.files, at=account or "")

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
                sources = await file_sources(
                    request.messages, request.files, client=client, at=self._account
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
            official=urlsplit(self._address).hostname == _OFFICIAL,
        )

    def _explain(self, error: Exception, request: Request, sent: Collection[str] = ()) -> Exception:
        import anthropic

        return self.explain(error, request, sdk=anthropic, sent=sent)

    def _connect(self, http: httpx2.AsyncClient) -> AsyncAnthropic:
        import anthropic

        made = anthropic.AsyncAnthropic(
            api_key=self._key,
            base_url=self._address,
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
