"""Which providers can be asked now: those an administrator named, and what runs on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Protocol

from chatsite.providers.anthropic.provider import AnthropicProvider
from chatsite.providers.base.learned import Learned
from chatsite.providers.base.provider import Provider
from chatsite.providers.http.streaming import DEFAULT_TIMEOUTS, Timeouts
from chatsite.providers.known.discovery import Discovery
from chatsite.providers.known.facts import ModelFacts, ReportedModel
from chatsite.providers.known.json_client import JsonClient
from chatsite.providers.known.models import ModelTable
from chatsite.providers.known.servers import BUILT_IN, LOCAL, SERVERS, Server
from chatsite.providers.openai.provider import OpenAIProvider


class Remote(Provider, Protocol):
    """A provider that holds connections."""

    async def warm(self) -> None: ...
    async def aclose(self) -> None: ...


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
        self._made: dict[str, Remote] = {}
        self._first: dict[str, str] = {}
        self._gone: list[Remote] = []
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

    def facts(self, server: str, model: str) -> ModelFacts | None:
        return self.table.facts(server, model)

    def listed(self) -> Mapping[str, Mapping[str, ReportedModel]]:
        """Chat models by server, of the servers that answered."""
        return self.discovery.found

    def described(self) -> Mapping[str, ModelFacts]:
        """An administrator's own facts, by `provider:model`."""
        return self.table.own

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

    def _make(self, name: str, listed: Mapping[str, ReportedModel]) -> Remote | None:
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
        provider: Remote = make(
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
