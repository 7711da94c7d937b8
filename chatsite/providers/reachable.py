"""Which providers can be asked now: those an administrator named, and what runs on this machine.

A server on this machine is found on its usual port, and only offered, never chosen by itself. A
server that an administrator named is asked for its list too. Nobody waits: known models are
returned at once, and a new look starts where the last one is too old.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Collection, Mapping
from dataclasses import replace

from chatsite.providers.anthropic.provider import AnthropicProvider
from chatsite.providers.base.learned import Learned
from chatsite.providers.base.provider import Provider
from chatsite.providers.http.streaming import DEFAULT_TIMEOUTS, Timeouts
from chatsite.providers.known.models import ModelFacts, ModelTable, ReportedModel
from chatsite.providers.known.server_models import JsonClient, OllamaDetails, read_server_models
from chatsite.providers.known.servers import BUILT_IN, LOCAL, SERVERS, Server
from chatsite.providers.openai.provider import OpenAIProvider

logger = logging.getLogger("chatsite")
RemoteProvider = AnthropicProvider | OpenAIProvider
# Opening a model in Ollama changes its window; a list changes when somebody pulls a model.
AGAIN_SECONDS = 30.0
# Remote lists change rarely, and OpenRouter's is long.
AGAIN_ELSEWHERE_SECONDS = 600.0


class Discovery:
    """Looks at `servers` (by name), with `keys` by the name of their environment variable."""

    def __init__(
        self, servers: Mapping[str, Server], *, keys: Mapping[str, str], questions: JsonClient
    ) -> None:
        self._servers = dict(servers)
        self._keys = keys
        self._questions = questions
        # Chat models by server, without servers that didn't answer.
        self.found: dict[str, dict[str, ReportedModel]] = {}
        self._shown: OllamaDetails = {}
        self._next: dict[str, float] = {}
        # The earliest of these: a turn asks eight times whether a server is due.
        self._soonest = 0.0
        self._task: asyncio.Task[None] | None = None

    @property
    def looking(self) -> bool:
        return self._task is not None and not self._task.done()

    def reported(self, server: str, model: str) -> ReportedModel | None:
        """Return what the server reported of the model at the last look."""
        if server in self._servers:
            self.look_soon()
        models = self.found.get(server, {})
        return models.get(model) or models.get(f"{model}:latest")  # Ollama's short form

    def look_soon(self) -> None:
        """Look again in the background, unless the last look was a moment ago. Without a running
        event loop (in a command) nothing happens."""
        if time.monotonic() < self._soonest or self.looking:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._task = loop.create_task(self.look())

    async def look(self) -> None:
        """Ask all servers that are due, at the same time."""
        now = time.monotonic()
        due = [each for name, each in self._servers.items() if self._next.get(name, now) <= now]
        try:
            await asyncio.gather(*(self._ask(server) for server in due))
        finally:
            self._soonest = min(self._next.values(), default=math.inf)

    async def _ask(self, server: Server) -> None:
        self._next[server.name] = time.monotonic() + AGAIN_SECONDS
        key = self._keys.get(server.key, "")
        reported = await read_server_models(server, self._questions, key=key, shown=self._shown)
        if reported is None:
            self.found.pop(server.name, None)
            return
        if server.name not in self.found:
            logger.info("%s answers; models listed there: %d.", server.label, len(reported))
        self.found[server.name] = reported
        if not server.local:
            self._next[server.name] = time.monotonic() + AGAIN_ELSEWHERE_SECONDS

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


class Providers:
    """Holds one provider a server for as long as the site runs.

    `ready` names the servers to use; with `look`, servers on this machine are found too. `own` are
    an administrator's facts of models. `chat_model` and `fast_model` are a model's name or
    `provider:model`.
    """

    def __init__(
        self,
        *,
        servers: Mapping[str, Server] = SERVERS,
        ready: Collection[str],
        keys: Mapping[str, str],
        own: Mapping[str, ModelFacts] | None = None,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        chat_model: str = "",
        fast_model: str = "",
        look: bool = True,
    ) -> None:
        self.servers = servers
        self._ready = set(ready)
        self._keys = keys
        self._timeouts = timeouts
        self._learned = Learned()
        self._made: dict[str, RemoteProvider] = {}
        self._first: dict[str, str] = {}
        self._gone: list[RemoteProvider] = []
        self._questions = JsonClient()
        found_here = {name for name in LOCAL if look and servers[name].local}
        lists = {
            name: server
            for name, server in servers.items()
            if name in found_here or (name in self._ready and _lists(server))
        }
        self.discovery = Discovery(lists, keys=keys, questions=self._questions)
        self.table = ModelTable(own=own or {}, reported=self.discovery.reported)
        self.chat_model = self.full_name(chat_model)
        self._fast = self.full_name(fast_model)

    def full_name(self, name: str) -> str:
        """`provider:model` for what an administrator wrote. A name alone belongs to the first ready
        server that is known to have the model, else to the first ready server; without any it stays
        as it is, and can't be reached."""
        if not name or name.partition(":")[0] in (*self.servers, *BUILT_IN):
            return name
        ready = [server for server in self.servers if server in self._ready]
        knowing = [server for server in ready if self.table.facts(server, name)]
        chosen = next(iter(knowing or ready), "")
        return f"{chosen}:{name}" if chosen else name

    def reachable(self) -> dict[str, Provider]:
        """Providers that can be asked now, in the order of the servers. Starts to look for servers
        on this machine in the background, where the last look is old."""
        self.discovery.look_soon()
        listed = self.discovery.found
        reachable: dict[str, Provider] = {}
        for name in self.servers:
            if name in self._first:
                self._drop_if_gone(name, listed.get(name, {}))
            if name in self._ready or name in listed:
                provider = self._made.get(name) or self._make(name, listed.get(name, {}))
                if provider is not None:
                    reachable[name] = provider
        return reachable

    async def warm(self) -> None:
        """Look for servers and load the SDKs, before the first page."""
        await self.discovery.look()
        self.reachable()
        await asyncio.gather(*(provider.warm() for provider in self._made.values()))

    async def aclose(self) -> None:
        await self.discovery.aclose()
        made = (*self._made.values(), *self._gone)
        await asyncio.gather(*(provider.aclose() for provider in made))
        await self._questions.aclose()

    def _drop_if_gone(self, name: str, listed: Mapping[str, ReportedModel]) -> None:
        """The first model that a server listed is its default; somebody may have removed it since.
        Answers under way are finished by the old provider."""
        if listed and self._first[name] not in listed:
            del self._first[name]
            self._gone.append(self._made.pop(name))

    def _make(self, name: str, listed: Mapping[str, ReportedModel]) -> RemoteProvider | None:
        """None while the server has no model that would answer."""
        server = self.servers[name]
        chat, fast = self._named(self.chat_model, name), self._named(self._fast, name)
        if not server.default_model:
            first = next(iter(listed), "")
            server = replace(server, default_model=chat or first)
            if not server.default_model:
                return None
            if not chat:
                self._first[name] = first
        make = AnthropicProvider if server.dialect == "anthropic" else OpenAIProvider
        provider = make(
            server=server,
            api_key=self._keys.get(server.key) or None,
            table=self.table,
            model=chat,
            fast=fast,
            timeouts=self._timeouts,
            learned=self._learned,
        )
        self._made[name] = provider
        return provider

    def _named(self, full_name: str, server: str) -> str | None:
        provider, _, model = full_name.partition(":")
        return model or None if provider == server else None


def _lists(server: Server) -> bool:
    """Whether to ask the server for its models. Those of a built-in server are in models.toml, so
    it isn't asked, unless an administrator gave it another address. OpenRouter has too many for
    the file, so it is asked."""
    if server.dialect != "openai":
        return False
    return server.name == "openrouter" or SERVERS.get(server.name) != server or server.local
