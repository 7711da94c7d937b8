"""What providers of every dialect share: one server, and the choice among its models."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Collection
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from chatsite.errors import ProviderError
from chatsite.history import estimate, tokens_of
from chatsite.providers.base.learned import Learned, Lesson
from chatsite.providers.base.provider import Model, Request, SentParameters, Status, not_sent
from chatsite.providers.http.refusals import ServerRefusal, Sizes
from chatsite.providers.http.sdk_errors import explain_sdk_error
from chatsite.providers.http.streaming import DEFAULT_TIMEOUTS, Timeouts
from chatsite.providers.known.models import ASSUMED_WINDOW, ModelFacts, ModelTable
from chatsite.providers.known.servers import Server
from chatsite.wording import say

# What Anthropic's interface calls them.
_ELSEWHERE = {"stop": "stop_sequences", "reasoning_effort": "output_config"}


if TYPE_CHECKING:
    from chatsite.providers.http.transport import ServerClient


class Closable(Protocol):
    """Holds connections until it is closed."""

    async def close(self) -> None: ...


Client = TypeVar("Client", bound=Closable)


class ServerProvider(Generic[Client]):
    """Asks one server through its dialect's `Client`. `api_key` may be None for servers that want
    none.

    `model` overrides the model of every agent, since another server has other models. `fast` names
    the small model. `learned` is shared by all providers of a site.
    """

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
        self._learned = learned or Learned()
        self.kind = server.name
        self._server = server
        # Without a key the SDKs would look for one in the environment and in files of their own.
        self._key = api_key or "none"
        self._table = table
        self._model = model
        self._fast = fast
        self._timeouts = timeouts
        self._client: Client | None = None
        self._loading = asyncio.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kind!r}, model={self._model!r})"

    def model(self, name: str | None) -> Model:
        return self.model_named(self._model or name or self._server.default_model)

    def small(self, beside: Model | None = None) -> Model | None:
        """Where the administrator chose the model, only they know a small one of the server."""
        if self._fast:
            return self.model_named(self._fast)
        if self._server.small_model and not self._model:
            return self.model_named(self._server.small_model)
        return beside or self.model(None)

    def status(self) -> Status:
        """Always ready: whether the provider answers is known only after a request."""
        return Status(state="ready")

    # ---- the connection ----------------------------------------------------------------------
    @property
    def _address(self) -> str:
        return self._server.base_url

    @cached_property
    def _account_hash(self) -> str:
        """The hash of the account, to which uploaded files belong: only its key tells it."""
        return hashlib.sha256(f"{self._address} {self._key}".encode()).hexdigest()

    async def open(self) -> Client:
        """Return the client. It is made once, in a thread: loading an SDK takes a second."""
        if self._client is None:
            async with self._loading:
                if self._client is None:
                    self._client = await asyncio.to_thread(self._make)
        return self._client

    async def warm(self) -> None:
        """Load what the first answer needs."""
        await self.open()

    async def aclose(self) -> None:
        """Close the open connections; call it once, at the end."""
        if self._client is not None:
            await self._client.close()

    def _make(self) -> Client:
        from chatsite.providers.http import transport

        return self._connect(transport.ServerClient(self._address, connect=self._timeouts.connect))

    def _connect(self, http: ServerClient) -> Client:
        raise NotImplementedError

    # ---- what refusals teach -----------------------------------------------------------------
    def _full_name(self, model: str) -> str:
        return f"{self.kind}:{model}"

    def _lesson(self, model: str) -> Lesson:
        return self._learned.of(self._full_name(model))

    def _without_refused(self, request: Request, settings: SentParameters) -> SentParameters:
        """The agent's settings without those that the server has refused."""
        gone = self.left_out(request)
        refused = [name for name in settings.sent if {name, _ELSEWHERE.get(name)} & gone]
        if not refused:
            return settings
        sent = {name: value for name, value in settings.sent.items() if name not in refused}
        return SentParameters(
            sent,
            settings.dropped
            + not_sent(
                refused,
                "{names} is not sent: {server} refused it for {model}.",
                "{names} are not sent: {server} refused them for {model}.",
                server=self._server.label,
                model=request.model,
            ),
        )

    def left_out(self, request: Request) -> frozenset[str]:
        """Fields that the server has refused for the request's model."""
        return self._lesson(request.model).left_out

    def taken(self, request: Request) -> None:
        """The server has taken the request: what it went without was rightly left out."""
        self._learned.answered(self._full_name(request.model))

    def explain(
        self, error: Exception, request: Request, *, sdk: ModuleType, sent: Collection[str] = ()
    ) -> Exception:
        """Return the error that a request ends with, after learning from it; it says so where
        another attempt will differ. `sent` are the request's optional fields."""
        failure, refusal = explain_sdk_error(error, sdk=sdk, model=request.model, sent=sent)
        if not isinstance(failure, ProviderError):
            return failure
        name, left_out = self._full_name(request.model), self.left_out(request)
        if failure.code == "too_large":
            failure.again = self._learn_length(refusal, request)
        elif new := [field for field in refusal.fields if field not in left_out]:
            self._learned.leave_out(name, new)
            failure.again = say(
                "{server} refused {fields}, so this model is asked without from now on.",
                server=self._server.label,
                fields=", ".join(new),
            )
        elif failure.code in ("bad_request", "no_tools"):
            self._learned.refused_again(name)
        return failure

    def _learn_length(self, refusal: ServerRefusal, request: Request) -> str:
        """ "" where the prompt may have been refused for something else."""
        sizes, sent = refusal.sizes, _tokens(request)
        if any(message.attachments for message in request.messages) and sizes == Sizes():
            return ""  # the files may be too large, in bytes
        learned = self._learned.too_long(
            self._stated(request.model),
            sent=sent,
            reply=request.max_tokens,
            limit=sizes.limit,
            needed=sizes.needed,
        )
        if not learned:
            return ""
        if sizes.needed is None:
            return say(
                "{server} refused a prompt of about {sent:,} tokens as too long for {model}, so it "
                "was asked again with less. From now on it is sent less.",
                server=self._server.label,
                sent=sent,
                model=request.model,
            )
        return say(
            "{server} counted {needed:,} tokens for {model} where we counted {sent:,}, and refused "
            "them as too many, so it was asked again with less. From now on it is sent less.",
            server=self._server.label,
            needed=sizes.needed,
            sent=sent,
            model=request.model,
        )

    # ---- models ------------------------------------------------------------------------------
    def _facts(self, model: str) -> ModelFacts | None:
        return self._table.facts(self.kind, model)

    def model_named(self, name: str) -> Model:
        """Return the model of this name, whatever the administrator chose."""
        return self._lesson(name).applied(self._stated(name))

    def _stated(self, name: str) -> Model:
        """As it is before refusals taught anything of it."""
        facts = self._facts(name)
        known = facts or ModelFacts(window=ASSUMED_WINDOW, assumed=True)
        return Model(
            provider=self.kind,
            name=name,
            label=name,
            window=known.window,
            note=_assumed(known, named=facts is not None),
            takes=known.takes,
            tools=known.tools,
            price=known.price,
            longest=known.longest,
        )


def _tokens(request: Request) -> int:
    """Of the prompt, by our count."""
    tools = [[tool.name, tool.description, dict(tool.parameters)] for tool in request.tools]
    described = estimate(json.dumps(tools, ensure_ascii=False)) if tools else 0
    return described + sum(tokens_of(message) for message in request.messages)


def _assumed(facts: ModelFacts, *, named: bool) -> str:
    """What is assumed of a model that isn't known, or not wholly; "" where nothing is."""
    if not facts.assumed:
        return ""
    if named:
        return say("Its window isn't known; {window:,} tokens are assumed.", window=facts.window)
    return say(
        "Its window isn't known; {window:,} tokens are assumed, and it is taken to use tools and "
        "to read text only.",
        window=facts.window,
    )
