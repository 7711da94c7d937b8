"""Tools of other programs: the servers that the administrator named, kept connected.

Each server has one task that opens, keeps and closes its connection, since the package's scopes
must end in the task that began them. A server that can't be reached fails no turn: its tools are
missing, with a reason, until it is back.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from re import sub
from types import ModuleType
from typing import Any

import anyio

from chatsite.tools.mcp.config_file import ToolServer
from chatsite.tools.tool import ToolContext, ToolError
from chatsite.wording import later

logger = logging.getLogger("chatsite.tools")

CONNECT_SECONDS = 30.0  # For a program that has to be fetched first, too.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
# A server that connects and ends again and again is not restarted every second either.
STEADY_SECONDS = 60.0
RELIST_PAUSE = 0.2  # Limits how often a server that reports changes all the time is listed.
READY_SECONDS = 5.0
STOP_SECONDS = 8.0  # The package's own time for a program to end, be terminated and be killed.
LONGEST_NAME, LONGEST_DESCRIPTION = 64, 1_024  # What the providers allow.
_STARTING = later("it is still being started")
_LOST = later("the connection was lost")
_ENDED = later("it ended before it answered")
_SILENT = later("it doesn't answer")
_STOPPED = later("this server is being stopped")


def tool_name(server: str, tool: str) -> str:
    """`server__tool`, fit for every provider. Two tools never share one: where the tool's own
    name doesn't fit, a mark made of it is put behind. A server's name has no double underscore.
    """
    plain = f"{server}__{tool}"
    fit = sub(r"[^a-zA-Z0-9_-]", "_", plain)
    if fit == plain and len(plain) <= LONGEST_NAME:
        return plain
    mark = sha256(tool.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{fit[: LONGEST_NAME - len(mark) - 1]}_{mark}"


@dataclass(frozen=True, slots=True, kw_only=True)
class McpTool:
    """`remote` is what its server calls it."""

    name: str
    description: str
    parameters: Mapping[str, object] = field(hash=False)
    remote: str
    connection: Connection = field(repr=False)

    async def run(self, arguments: Mapping[str, object], using: ToolContext) -> object:
        return await self.connection.call(self.remote, arguments)


class Connection:
    """One server: its tools while it is connected, and why there are none while it isn't."""

    def __init__(self, server: ToolServer, *, log: Path, first_pause: float) -> None:
        self.name = server.name
        self.tools: Mapping[str, McpTool] = {}
        self.unfit: Mapping[str, str] = {}
        self.problem = _STARTING
        self.tried = asyncio.Event()
        self._server = server
        self._log = log
        self._first_pause = first_pause
        self._changed = asyncio.Event()
        self._link: Any = None

    async def keep(self, scope: anyio.CancelScope) -> None:
        """Stay connected until the scope is cancelled; after each failure wait a little longer."""
        pause = self._first_pause
        with scope:
            # The import takes a second or two, which would delay every running answer.
            package = await asyncio.to_thread(importlib.import_module, "chatsite.tools.mcp.link")
            while True:
                began = anyio.current_time()
                await self._connected(package)
                if anyio.current_time() - began > STEADY_SECONDS:
                    pause = self._first_pause
                await anyio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    async def call(self, tool: str, arguments: Mapping[str, object]) -> object:
        """Raises ToolError."""
        if self._link is None:
            raise ToolError(
                f"The tool server {self.name} can't be reached now: {self.problem}.",
                name="Unreachable",
            )
        value: object = await self._link.call(tool, arguments)
        return value

    async def _connected(self, package: ModuleType) -> None:
        """One connection from its beginning to its end."""
        reached = ended = False
        problem = _STOPPED

        def lost() -> None:
            nonlocal ended
            ended = True
            limit.cancel()

        try:
            with anyio.CancelScope(deadline=anyio.current_time() + CONNECT_SECONDS) as limit:
                opened = package.connect(
                    self._server, log=self._log, changed=self._changed.set, lost=lost
                )
                async with opened as link:
                    await self._list(link)
                    limit.deadline = float("inf")
                    reached = True
                    self._set_state(link=link)
                    await self._follow(link)
            problem = _LOST if reached else _ENDED if ended else _SILENT
        except Exception as error:
            # A lost connection ends in whatever the package was just doing.
            problem = _LOST if reached else package.describe_failure(error)
        finally:
            self._set_state(problem=problem)

    def _set_state(self, *, link: Any = None, problem: str = "") -> None:
        if problem not in ("", _STOPPED, self.problem):
            logger.warning("tool server %s: %s", self.name, problem)
        if link is not None:
            logger.info("tool server %s: connected, %d tools", self.name, len(self.tools))
        self._link, self.problem = link, problem
        if link is None:
            self.tools, self.unfit = {}, {}
        self.tried.set()

    async def _follow(self, link: Any) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(link.follow, self._changed.set)
            while True:
                await self._changed.wait()
                await anyio.sleep(RELIST_PAUSE)
                await self._list(link)

    async def _list(self, link: Any) -> None:
        self._changed.clear()
        tools: dict[str, McpTool] = {}
        listed, unfit = await link.listed()
        for tool in listed:
            if tool.name in tools:
                continue
            tools[tool.name] = McpTool(
                name=tool_name(self.name, tool.name),
                description=(tool.description or tool.title or "")[:LONGEST_DESCRIPTION],
                parameters=tool.input_schema,
                remote=tool.name,
                connection=self,
            )
        if unfit and unfit != self.unfit:
            logger.warning("tool server %s: %d tools left out", self.name, len(unfit))
        self.tools, self.unfit = tools, unfit


class ToolServers:
    """All tool servers. Lives as long as the process: `start` in its event loop, `stop` before its
    end.

    The programs' stderr goes to `logs`, one file each, emptied at every start.
    """

    def __init__(
        self, servers: Sequence[ToolServer], *, logs: Path, first_pause: float = FIRST_PAUSE
    ) -> None:
        self._connections = {
            server.name: Connection(
                server, log=logs / f"tools-{server.name}.log", first_pause=first_pause
            )
            for server in servers
        }
        self._tasks: dict[asyncio.Task[None], anyio.CancelScope] = {}

    def start(self) -> None:
        for connection in self._connections.values():
            # Cancelled from within: a task that is cancelled from outside can't close in order.
            scope = anyio.CancelScope()
            self._tasks[asyncio.create_task(connection.keep(scope))] = scope

    async def stop(self) -> None:
        """Close every connection; programs that were started here have ended afterwards."""
        for scope in self._tasks.values():
            scope.cancel()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=STOP_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    def get(self, name: str) -> Connection | None:
        return self._connections.get(name)

    async def ready(self, names: Iterable[str], *, seconds: float = READY_SECONDS) -> None:
        """Wait until each of these was tried once: a turn right after the start has its tools."""
        waiting = [self._connections[name] for name in names if name in self._connections]
        if self._tasks and not all(one.tried.is_set() for one in waiting):
            tries = (asyncio.ensure_future(one.tried.wait()) for one in waiting)
            _, late = await asyncio.wait(list(tries), timeout=seconds)
            for task in late:
                task.cancel()
