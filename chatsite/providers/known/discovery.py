"""Finds the models of servers that people run themselves, in the background.

A server on this machine is found on its usual port, and only offered, never chosen by itself. A
server that an administrator named is asked for its list too. Nobody waits: known models are
returned at once, and a new look starts where the last one is too old.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Mapping

from chatsite.providers.known.facts import ReportedModel
from chatsite.providers.known.json_client import JsonClient
from chatsite.providers.known.server_models import OllamaDetails, read_server_models
from chatsite.providers.known.servers import Server

logger = logging.getLogger("chatsite")
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
        self._found: dict[str, dict[str, ReportedModel]] = {}
        self._shown: OllamaDetails = {}
        self._next: dict[str, float] = {}
        # The earliest of these: a turn asks eight times whether a server is due.
        self._soonest = 0.0
        self._task: asyncio.Task[None] | None = None

    @property
    def found(self) -> Mapping[str, Mapping[str, ReportedModel]]:
        """Chat models by server, without servers that didn't answer."""
        return self._found

    @property
    def looking(self) -> bool:
        return self._task is not None and not self._task.done()

    def reported(self, server: str, model: str) -> ReportedModel | None:
        """What the server reported of the model at the last look."""
        if server in self._servers:
            self.look_soon()
        models = self._found.get(server, {})
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
        try:
            await asyncio.gather(*(self._ask(server) for server in self._due()))
        finally:
            self._soonest = min(self._next.values(), default=math.inf)

    def _due(self) -> list[Server]:
        now = time.monotonic()
        return [
            server for name, server in self._servers.items() if self._next.get(name, now) <= now
        ]

    async def _ask(self, server: Server) -> None:
        self._next[server.name] = time.monotonic() + AGAIN_SECONDS
        key = self._keys.get(server.key, "")
        reported = await read_server_models(server, self._questions, key=key, shown=self._shown)
        if reported is None:
            self._found.pop(server.name, None)
            return
        if server.name not in self._found:
            logger.info("%s answers; models listed there: %d.", server.label, len(reported))
        self._found[server.name] = reported
        if not server.local:
            self._next[server.name] = time.monotonic() + AGAIN_ELSEWHERE_SECONDS

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
