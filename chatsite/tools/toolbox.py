"""Which tools an agent has: its template's nodes, looked up among the tools of this site."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from chatsite.messages import UNSOUND
from chatsite.tools.mcp.connections import ToolServers
from chatsite.tools.tool import (
    Tool,
    ToolContext,
    ToolError,
    check_arguments,
    parse_arguments,
    without_nulls,
)
from chatsite.wording import later, say

logger = logging.getLogger("chatsite.tools")

# Characters of an error's text, which a foreign server may have written.
LONGEST_ERROR = 2_000
_LONGEST_NAME = 80
# A smaller result is of no use, so results are never cut below the first. Models read longer
# results than the second badly, and each is stored, shown and sent again with every later message.
_SMALLEST, _LARGEST = 200, 100_000
_CUT = "Only the first {kept:,}{of} characters of the result are here; there was no room."


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """`content` is JSON: the returned value, or `{"error": {"name", "message"}}` where `failed`.

    `arguments` are empty where what the model wrote could not be read.
    """

    content: str
    failed: bool
    arguments: dict[str, object] = field(hash=False)


async def call_tool(
    call_name: str,
    arguments_text: str,
    tools: Sequence[Tool],
    using: ToolContext,
    *,
    seconds: float,
    room_characters: int,
) -> ToolResult:
    """Run a tool. Raises CancelledError, and nothing else: each failure becomes a result.

    A ToolError's text is shown as it is. The text of another exception may hold a key or a path,
    so only its class is shown and logged.
    """
    arguments: dict[str, object] = {}
    try:
        tool = _find_tool(call_name, tools)
        arguments = parse_arguments(arguments_text)
        given = without_nulls(arguments, tool.parameters)
        check_arguments(given, tool.parameters)
        value = await _run_within(tool, given, using, seconds=seconds)
        # In a thread: encoding a large value would block the event loop.
        content = await asyncio.to_thread(content_within, value, room_characters)
        return ToolResult(content=content, failed=False, arguments=arguments)
    except ToolError as error:
        name, message = error.name, error.message
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        name, message = "Cancelled", "The tool gave up by itself."
    except Exception as error:
        logger.error(
            "the tool %s failed with %s", call_name[:_LONGEST_NAME], _describe_place(error)
        )
        name = type(error).__name__
        message = "The tool failed. The server's log says where."
    return ToolResult(content=error_content(name, message), failed=True, arguments=arguments)


def error_content(name: str, message: str) -> str:
    """Return the content of a tool message for a call that has no result."""
    if len(message) > LONGEST_ERROR:
        message = f"{message[:LONGEST_ERROR]}…"
    return _to_json({"error": {"name": name[:_LONGEST_NAME], "message": message}})


def _find_tool(name: str, tools: Sequence[Tool]) -> Tool:
    for tool in tools:
        if tool.name == name:
            return tool
    names = ", ".join(tool.name for tool in tools)
    others = f"There are: {names}." if tools else "There are none."
    raise ToolError(f"No tool of that name can be called here. {others}", name="UnknownTool")


async def _run_within(
    tool: Tool, arguments: Mapping[str, object], using: ToolContext, *, seconds: float
) -> object:
    try:
        async with asyncio.timeout(seconds) as limit:
            return await tool.run(arguments, using)
    except TimeoutError:
        if not limit.expired():
            raise
        raise ToolError(
            f"The tool didn't answer within {seconds:g} seconds. It may have done what was asked "
            "all the same.",
            name="TimedOut",
        ) from None


def _to_json(value: object) -> str:
    """JSON without half characters, which can't be stored; all other text stays readable."""
    return UNSOUND.sub("\ufffd", json.dumps(value, ensure_ascii=False, allow_nan=False))


def _json_beginning(value: object, room: int) -> str:
    """The value as JSON, cut a little beyond `room` characters. Encodes piece by piece:
    `json.dumps` blocks every thread while it runs, which was a second for 40 MB."""
    pieces: list[str] = []
    length = 0
    try:
        for piece in json.JSONEncoder(ensure_ascii=False, allow_nan=False).iterencode(value):
            pieces.append(piece)
            length += len(piece)
            if length > room:
                break
    except (TypeError, ValueError, RecursionError):
        raise ToolError(
            "The tool returned something that JSON can't hold.", name="BadResult"
        ) from None
    return "".join(pieces)


def content_within(value: object, room: int) -> str:
    """Return the value as JSON in at most `room` characters.

    A longer value is cut, with a note that says so: a text itself, everything else as JSON. Only
    the part that is kept is encoded.
    """
    room = min(max(room, _SMALLEST), _LARGEST)
    if isinstance(value, str):
        text, of = value[: room + 1], f" of {len(value):,}"
        content = _to_json(text)
    else:
        text, of = _json_beginning(value, room), ""
        content = UNSOUND.sub("\ufffd", text)
    if len(content) <= room:
        return content
    kept = room
    while True:
        note = _CUT.format(kept=kept, of=of)
        cut = _to_json({"cut": note, "beginning": text[:kept]})
        if len(cut) <= room:
            return cut
        kept = max(0, kept - max(1, (len(cut) - room) // 2))


def _describe_place(error: Exception) -> str:
    """The error's class and the line that raised it, without the error's message."""
    places = traceback.extract_tb(error.__traceback__)
    line = f" at {places[-1].filename}:{places[-1].lineno}" if places else ""
    return f"{type(error).__name__}{line}"


_NO_SUCH_TOOL = later("its tool server has no tool of that name")
MCP = "mcp."
# Providers accept no more in one request.
MOST_TOOLS = 128

# Makes a tool from its entry in a template's `nodeConfigurations`; raises ToolError.
Maker = Callable[[Mapping[str, object]], Tool]


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingTool:
    """A node without a tool. `reason` ends a sentence, for everybody to read."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTools:
    """Names are unique among the tools; `missing` are the template's own names."""

    tools: tuple[Tool, ...] = ()
    missing: tuple[MissingTool, ...] = ()


class Toolbox:
    """`builtin` holds a maker for each node's name."""

    def __init__(self, builtin: Mapping[str, Maker], servers: ToolServers) -> None:
        self._builtin = builtin
        self._servers = servers

    @property
    def builtin(self) -> tuple[str, ...]:
        """The nodes of the server's own tools."""
        return tuple(self._builtin)

    async def ready(self, nodes: Sequence[str]) -> None:
        """Wait, a few seconds at most, for tool servers that are still starting."""
        if servers := [server for server, _ in map(_split_node, nodes) if server]:
            await self._servers.ready(servers)

    def for_nodes(
        self, nodes: Sequence[str], configurations: Mapping[str, Mapping[str, object]]
    ) -> AgentTools:
        """Return the tools of these nodes, and the nodes without one."""
        tools: dict[str, Tool] = {}
        missing: dict[str, MissingTool] = {}
        for node in nodes:
            for found in self._tools_of_node(node, configurations.get(node, {})):
                if isinstance(found, MissingTool):
                    missing.setdefault(found.name, found)
                elif found.name not in tools and len(tools) == MOST_TOOLS:
                    reason = say(
                        "an agent can have {most} tools, and this one has more", most=MOST_TOOLS
                    )
                    missing[node] = MissingTool(name=node, reason=reason)
                    break
                else:
                    tools.setdefault(found.name, found)
        return AgentTools(tools=tuple(tools.values()), missing=tuple(missing.values()))

    def _tools_of_node(
        self, node: str, configuration: Mapping[str, object]
    ) -> Iterator[Tool | MissingTool]:
        server, tool = _split_node(node)
        if server:
            yield from self._tools_of_server(node, server, tool)
        elif node not in self._builtin:
            yield MissingTool(name=node, reason=say("there is no tool of that name here"))
        else:
            try:
                yield self._builtin[node](configuration)
            except ToolError as error:
                reason = say("its settings can't be used: {problem}", problem=error.message)
                yield MissingTool(name=node, reason=reason)

    def _tools_of_server(self, node: str, server: str, tool: str) -> Iterator[Tool | MissingTool]:
        connection = self._servers.get(server)
        if connection is None:
            yield MissingTool(name=node, reason=say("no tool server of that name is set up here"))
        elif connection.problem:
            problem = say(connection.problem)
            reason = say("its tool server is missing: {problem}", problem=problem)
            yield MissingTool(name=node, reason=reason)
        elif not tool:
            yield from connection.tools.values()
            for name, reason in connection.unfit.items():
                yield MissingTool(name=f"{node}.{name}", reason=say(reason))
        else:
            reason = say(connection.unfit.get(tool, _NO_SUCH_TOOL))
            yield connection.tools.get(tool) or MissingTool(name=node, reason=reason)


def _split_node(node: str) -> tuple[str, str]:
    """Server and tool of `mcp.<server>` and `mcp.<server>.<tool>`; "" for a missing part."""
    if not node.startswith(MCP):
        return "", ""
    server, _, tool = node.removeprefix(MCP).partition(".")
    return server, tool
