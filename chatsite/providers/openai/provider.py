"""OpenAI and every server that speaks its chat completions.

`post` builds every request from nothing and copies its options several times: 0.9 ms of CPU, a
seventh of a whole turn, and `completions.create` checks the types of every message and tool for 0.3
ms each on top.

The SDK has the key, the files and the typed errors; `sender` sends the request, and
`http.streaming` reads the answer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import httpx2
from pydantic_core import to_json
from yarl import URL

from chatsite.providers.base.files import forget_uploads
from chatsite.providers.base.provider import Chunk, Model, Request, SentParameters
from chatsite.providers.http.refusals import A_TOOL, BOUNDS
from chatsite.providers.http.server_provider import ServerProvider
from chatsite.providers.http.streaming import UNSEEN_THINKING, relay
from chatsite.providers.openai.reader import ChatReader
from chatsite.providers.openai.wire import (
    EFFORT,
    SentFiles,
    bound_reply,
    choose_parameters,
    collect_files,
    wire_messages,
    wire_tools,
)
from chatsite.providers.tokens.tokenizers import Estimate, O200k

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from chatsite.providers.http.transport import ServerClient


class Sender:
    """One server's chat completions. The SDK's client keeps the files, and `http` the connections:
    requests go straight over its transport.

    The client's own key is sent and no other: the SDK can also read an administrator's from the
    environment.
    """

    def __init__(self, client: AsyncOpenAI, http: ServerClient, base_url: str) -> None:
        self.client = client
        self._http = http
        self._url = httpx2.URL(f"{base_url.rstrip('/')}/chat/completions")
        self._raw_url = URL(str(self._url), encoded=True)
        self._headers: Sequence[tuple[str, str]] = ()

    async def send(self, body: Mapping[str, Any]) -> httpx2.Response:
        """Send the request, and return the response before its body is read. Raises the SDK's
        errors, as its `post` does."""
        import openai

        self._headers = self._headers or self._collect_headers()
        try:
            response = await self._http.transport.send(
                "POST",
                self._raw_url,
                headers=self._headers,
                content=to_json(body),
                connect=self._http.timeout.connect,
            )
        except httpx2.TimeoutException as error:
            raise openai.APITimeoutError(request=self._failed_request()) from error
        except httpx2.RequestError as error:
            raise openai.APIConnectionError(request=self._failed_request()) from error
        if not response.is_success:
            response.request = self._failed_request()
            await response.aread()
            raise self.client._make_status_error_from_response(response)
        return response

    async def close(self) -> None:
        await self.client.close()

    def _failed_request(self) -> httpx2.Request:
        """Make the request that the SDK's errors name."""
        return httpx2.Request("POST", self._url)

    def _collect_headers(self) -> Sequence[tuple[str, str]]:
        """Collect the headers, with the first request: they name the event loop."""
        headers = httpx2.Headers(self._http.headers)
        own = {**self.client.default_headers, **self.client.auth_headers}
        headers.update({name: value for name, value in own.items() if isinstance(value, str)})
        return [(name.decode(), value.decode()) for name, value in headers.raw]


# What a request can't do without.
_REQUIRED = ("model", "messages", "stream")


class OpenAIProvider(ServerProvider[Sender]):
    """Speaks chat completions."""

    @cached_property
    def _o200k(self) -> O200k | None:
        return O200k.find()

    @property
    def account(self) -> str | None:
        """The account that stores uploads, None where files are sent with each request."""
        return f"openai:{self._account_hash[:32]}" if self._server.files else None

    def tokenizer(self, model: Model) -> O200k | Estimate:
        facts = self._facts(model.name)
        return (self._o200k if facts and facts.o200k else None) or Estimate()

    def parameters(self, request: Request) -> SentParameters:
        settings = choose_parameters(request, self._facts(request.model))
        return self._without_refused(request, settings)

    async def warm(self) -> None:
        """Load the SDK, and the token ranks in a thread, which takes half a second."""
        await super().warm()
        if self._o200k is not None:
            await self._o200k.warm()

    def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        facts = self._facts(request.model)
        call = _Call(self, request)
        after_tools = bool(request.messages) and request.messages[-1].role == "tool"
        timeouts = self._timeouts
        if facts is not None and facts.reasoning:
            timeouts = replace(timeouts, first_token=timeouts.first_token * UNSEEN_THINKING)
        return relay(
            call.send,
            ChatReader(server=self.kind, model=request.model, after_tools=after_tools),
            timeouts=timeouts,
            explain=call.explain,
            taken=lambda: self.taken(request),
            prepare=call.prepare,
        )

    def body(self, request: Request, files: SentFiles) -> dict[str, Any]:
        """Return the request's body, without fields that the server has refused."""
        facts = self._facts(request.model)
        reasoning = facts is not None and facts.reasoning
        settings = self.parameters(request).sent
        own_bound = "max_completion_tokens" if reasoning else self._server.bound
        body: dict[str, Any] = {
            "model": request.model,
            "stream": True,
            "messages": wire_messages(
                request.messages, server=self.kind, model=request.model, parts=files.parts
            ),
            "stream_options": {"include_usage": True},
            own_bound: bound_reply(request, facts, effort=settings.get(EFFORT)),
        }
        if request.tools and (request.may_call or not self._server.local):
            body["tools"] = wire_tools(request.tools)
            # Ollama doesn't know `tool_choice`, but accepts calls of tools that aren't defined.
            body |= {} if request.may_call else {"tool_choice": "none"}
        return _without({**body, **settings}, self.left_out(request))

    def _connect(self, http: ServerClient) -> Sender:
        import openai

        made = openai.AsyncOpenAI(
            api_key=self._key,
            base_url=self._address,
            max_retries=0,
            timeout=http.timeout,
            http_client=http,
        )
        # The SDK reads OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS, which may hold
        # the keys of a gateway: every server of this dialect would get them.
        made.organization = made.project = None
        made._custom_headers = {}
        return Sender(made, http, self._address)


class _Call:
    """One call: its files are uploaded, then the request is sent."""

    def __init__(self, provider: OpenAIProvider, request: Request) -> None:
        self._provider = provider
        self._request = request
        self._optional: tuple[str, ...] = ()
        self._files = SentFiles()

    async def prepare(self) -> None:
        """Load the SDK and upload files that the provider stores."""
        request, sender = self._request, await self._provider.open()
        self._files = await collect_files(
            request.messages, request.files, client=sender.client, at=self._provider.account
        )

    async def send(self) -> httpx2.Response:
        """Send the request. Files that the provider has lost are uploaded again, once."""
        import openai

        try:
            return await self._send_once()
        except (openai.BadRequestError, openai.NotFoundError) as error:
            lost, account = self._files.lost(error.message), self._provider.account
            if not lost or account is None:
                raise
            await forget_uploads(lost, self._request.files, at=account)
            await self.prepare()
            return await self._send_once()

    def explain(self, error: Exception) -> Exception:
        import openai

        return self._provider.explain(error, self._request, sdk=openai, sent=self._optional)

    async def _send_once(self) -> httpx2.Response:
        body = self._provider.body(self._request, self._files)
        tools = (A_TOOL + tool["function"]["name"] for tool in body.get("tools", ()))
        self._optional = (*(name for name in body if name not in _REQUIRED), *tools)
        return await (await self._provider.open()).send(body)


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
