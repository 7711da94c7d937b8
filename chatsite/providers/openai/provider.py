"""OpenAI and every server that speaks its chat completions.

`post` builds every request from nothing and copies its options several times: 0.9 ms of CPU, a
seventh of a whole turn, and `completions.create` checks the types of every message and tool for 0.3
ms each on top.

The SDK has the key, the files and the typed errors; `sender` sends the request, and
`http.streaming` reads the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping
from typing import TYPE_CHECKING, Any

import httpx2
from pydantic_core import to_json

from chatsite.providers.base.files import forget_uploads
from chatsite.providers.base.learned import Learned
from chatsite.providers.base.provider import Chunk, Model, Request, SentParameters
from chatsite.providers.http.refusals import A_TOOL, BOUNDS
from chatsite.providers.http.sdk_errors import explain_sdk_error
from chatsite.providers.http.server_provider import ServerProvider
from chatsite.providers.http.streaming import DEFAULT_TIMEOUTS, Timeouts, relay
from chatsite.providers.known.models import ModelFacts, ModelTable
from chatsite.providers.known.servers import Server
from chatsite.providers.openai.files import SentFiles, account_id, collect_files
from chatsite.providers.openai.reader import ChatReader
from chatsite.providers.openai.wire import (
    EFFORT,
    chat_parameters,
    longest_reply,
    wire_messages,
    wire_tools,
)
from chatsite.providers.tokens.tokenizers import Estimate, O200k

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class Sender:
    """One server's chat completions. The SDK's client keeps the files, and `http` the connections.

    The client's own key is sent and no other: the SDK can also read an administrator's from the
    environment.
    """

    def __init__(self, client: AsyncOpenAI, http: httpx2.AsyncClient, base_url: str) -> None:
        self.client = client
        self._http = http
        self._url = httpx2.URL(f"{base_url.rstrip('/')}/chat/completions")
        self._timeouts = {"timeout": http.timeout.as_dict()}
        self._headers: httpx2.Headers | None = None

    async def send(self, body: Mapping[str, Any]) -> httpx2.Response:
        """The response before its body is read; raises the SDK's errors, as its `post` does."""
        import openai

        if self._headers is None:
            self._headers = self._collected_headers()
        request = httpx2.Request(
            "POST",
            self._url,
            headers=self._headers,
            content=to_json(body),
            extensions=self._timeouts,
        )
        try:
            response = await self._http.send(request, stream=True)
        except httpx2.TimeoutException as error:
            raise openai.APITimeoutError(request=request) from error
        except httpx2.RequestError as error:
            raise openai.APIConnectionError(request=request) from error
        if not response.is_success:
            await response.aread()
            raise self.client._make_status_error_from_response(response)
        return response

    async def aclose(self) -> None:
        await self.client.close()

    def _collected_headers(self) -> httpx2.Headers:
        """Collected with the first request: they name the event loop."""
        headers = httpx2.Headers(self._http.headers)
        own = {**self.client.default_headers, **self.client.auth_headers}
        headers.update({name: value for name, value in own.items() if isinstance(value, str)})
        return headers


# What a request can't do without.
_REQUIRED = ("model", "messages", "stream")


class OpenAIProvider(ServerProvider):
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
        self._key = api_key or "none"
        self._timeouts = timeouts
        self._keeps = account_id(server.base_url, self._key) if server.files else None
        self._sender: Sender | None = None
        self._loading = asyncio.Lock()
        self._o200k = O200k.find()
        self._estimate = Estimate()

    def tokenizer(self, model: Model) -> O200k | Estimate:
        facts = self._facts(model.name)
        return self._o200k if facts and facts.o200k and self._o200k else self._estimate

    def parameters(self, request: Request) -> SentParameters:
        settings = chat_parameters(request, self._facts(request.model))
        return self._without_refused(request, settings)

    # ---- asking -------------------------------------------------------------------------------
    async def warm(self) -> None:
        """Load the SDK and the token ranks in threads, which takes a second, before the first
        answer needs them."""
        await self.open()
        if self._o200k is not None:
            await self._o200k.warm()

    async def aclose(self) -> None:
        """Close the open connections; call it once, at the end."""
        if self._sender is not None:
            await self._sender.aclose()

    def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        facts = self._facts(request.model)
        call = _Call(self, request, facts, server=self._server, keeps=self._keeps)
        after_tools = bool(request.messages) and request.messages[-1].role == "tool"
        timeouts = self._timeouts
        if facts is not None and facts.reasoning:
            timeouts = timeouts.for_unseen_thinking()
        return relay(
            call.call,
            ChatReader(server=self.kind, model=request.model, after_tools=after_tools),
            timeouts=timeouts,
            explain=call.explain,
            taken=lambda: self.taken(request),
            prepare=call.prepare,
        )

    async def open(self) -> Sender:
        async with self._loading:
            if self._sender is None:
                self._sender = await asyncio.to_thread(self._make)
        return self._sender

    def _make(self) -> Sender:
        import openai

        from chatsite.providers.http import transport

        http = transport.client(self._server.base_url, connect=self._timeouts.connect)
        made = openai.AsyncOpenAI(
            api_key=self._key,
            base_url=self._server.base_url,
            max_retries=0,
            timeout=http.timeout,
            http_client=http,
        )
        # The SDK reads OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS, which may hold
        # the keys of a gateway: every server of this dialect would get them.
        made.organization = made.project = None
        made._custom_headers = {}
        return Sender(made, http, self._server.base_url)


class _Call:
    """One call: its files are uploaded, then the request is sent."""

    def __init__(
        self,
        provider: OpenAIProvider,
        request: Request,
        facts: ModelFacts | None,
        *,
        server: Server,
        keeps: str | None,
    ) -> None:
        self._provider = provider
        self._request = request
        self._facts = facts
        self._server = server
        self._keeps = keeps
        self._sender: Sender
        self._optional: tuple[str, ...] = ()
        self._sent = SentFiles()

    async def prepare(self) -> None:
        """Load the SDK and upload files that the provider stores."""
        self._sender = await self._provider.open()
        await self._collect()

    async def call(self) -> httpx2.Response:
        import openai

        try:
            return await self._create()
        except (openai.BadRequestError, openai.NotFoundError) as error:
            lost = self._sent.lost(error.message)
            if not lost or self._keeps is None:
                raise
            # The provider lost files that were uploaded before: upload them again.
            await forget_uploads(lost, self._request.files, at=self._keeps)
            await self._collect()
            return await self._create()

    def explain(self, error: Exception) -> Exception:
        import openai

        told, refusal = explain_sdk_error(
            error, sdk=openai, model=self._request.model, sent=self._optional
        )
        return self._provider.learn(told, refusal, self._request)

    async def _collect(self) -> None:
        request = self._request
        self._sent = await collect_files(
            request.messages, request.files, client=self._sender.client, at=self._keeps
        )

    async def _create(self) -> httpx2.Response:
        body = self._body()
        tools = (A_TOOL + tool["function"]["name"] for tool in body.get("tools", ()))
        self._optional = (*(name for name in body if name not in _REQUIRED), *tools)
        return await self._sender.send(body)

    def _body(self) -> dict[str, Any]:
        request, facts = self._request, self._facts
        reasoning = facts is not None and facts.reasoning
        more = self._provider.parameters(request).sent
        own_bound = "max_completion_tokens" if reasoning else self._server.bound
        body: dict[str, Any] = {
            "model": request.model,
            "stream": True,
            "messages": wire_messages(
                request.messages,
                server=self._server.name,
                model=request.model,
                parts=self._sent.parts,
            ),
            "stream_options": {"include_usage": True},
            own_bound: longest_reply(request, facts, effort=more.get(EFFORT)),
        }
        if request.tools and (request.may_call or not self._server.local):
            body["tools"] = wire_tools(request.tools)
            # Ollama doesn't know `tool_choice`, but accepts calls of tools that aren't defined.
            body |= {} if request.may_call else {"tool_choice": "none"}
        return _without({**body, **more}, self._provider.left_out(request))


def _without(body: dict[str, Any], refused: Collection[str]) -> dict[str, Any]:
    """The request without fields that the server refused. Of the two names for the bound of the
    reply the other one is tried; without tools nothing is said of their choice."""
    if not refused:
        return body
    if tools := body.get("tools"):
        kept = [tool for tool in tools if A_TOOL + tool["function"]["name"] not in refused]
        body["tools"], refused = kept, refused if kept else {*refused, "tools"}
    gone = set(refused) | ({"tool_choice"} if "tools" in refused else set())
    for bound, other in (BOUNDS, BOUNDS[::-1]):
        if bound in body and bound in gone and other not in gone:
            body[other] = body[bound]
    return {name: value for name, value in body.items() if name not in gone}
