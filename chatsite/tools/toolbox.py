"""Which tools an agent has: its template's nodes, looked up among the tools of this site."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from chatsite.tools.mcp.connections import Connection, ToolServers
from chatsite.tools.tool import Tool, ToolError
from chatsite.wording import later, say

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

    async def ready(self, nodes: Sequence[str]) -> None:
        """Wait, a few seconds at most, for tool servers that are still starting."""
        await self._servers.ready(server for server, _ in map(_split_node, nodes) if server)

    def for_nodes(
        self, nodes: Sequence[str], configurations: Mapping[str, Mapping[str, object]]
    ) -> AgentTools:
        """The tools of these nodes, and the nodes without one."""
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
            yield _tool_of_connection(connection, node, tool)


def _tool_of_connection(connection: Connection, node: str, tool: str) -> Tool | MissingTool:
    found = connection.tools.get(tool)
    if found is not None:
        return found
    reason = connection.unfit.get(tool, _NO_SUCH_TOOL)
    return MissingTool(name=node, reason=say(reason))


def _split_node(node: str) -> tuple[str, str]:
    """Server and tool of `mcp.<server>` and `mcp.<server>.<tool>`; "" for a missing part."""
    if not node.startswith(MCP):
        return "", ""
    server, _, tool = node.removeprefix(MCP).partition(".")
    return server, tool
