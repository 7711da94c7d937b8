"""A tool server of the package `mcp` itself, for a process of its own: `python mcp_server.py`.

Its tools do what can go wrong with one.
"""

from __future__ import annotations

import asyncio
import os
import sys

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import TextContent

SECRET = "sk-canary-of-a-tool-server"
server = MCPServer("fake")
app = server.streamable_http_app()


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool(structured_output=False)
def words() -> list[TextContent | Image]:
    """Says something and shows something."""
    return [TextContent(text="A red square:"), Image(data=b"\x89PNG" * 900, format="png")]


@server.tool()
def fail() -> str:
    """Fails, with its own words."""
    raise ToolError("the drawer is stuck")


@server.tool()
def crash() -> str:
    """Fails with words that are nobody's business."""
    raise RuntimeError(SECRET)


@server.tool()
async def slow(seconds: float) -> str:
    """Takes its time."""
    await asyncio.sleep(seconds)
    return "at last"


@server.tool()
async def wait(path: str) -> str:
    """Takes until there is such a file."""
    while not os.path.exists(path):  # noqa: ASYNC110, ASYNC240 - nothing tells of a file
        await asyncio.sleep(0.01)
    return "let go"


@server.tool()
def surroundings() -> dict[str, str]:
    """What it sees of the environment."""
    return dict(os.environ)


@server.tool()
async def grow(name: str, context: Context) -> str:
    """Learns another tool."""

    def learned() -> str:
        return f"{name} works"

    server.add_tool(learned, name=name, description="Was learned.")
    await context.notify_tools_changed()
    return "learned"


if __name__ == "__main__":
    print(SECRET, file=sys.stderr, flush=True)
    server.run()
