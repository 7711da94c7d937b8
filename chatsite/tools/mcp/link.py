"""One connection to a tool server, through the package `mcp`.

Importing that package takes a second or two: `connections` does it in a thread, and only where
there is a server.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    Implementation,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from chatsite.tools.mcp.config_file import ToolServer
from chatsite.tools.mcp.incoming import Incoming
from chatsite.tools.tool import ToolError
from chatsite.wording import later


def result_value(result: CallToolResult) -> object:
    """Return the structured content where there is any, else text; media are named on a line.

    Raises ToolError with the tool's own text where the result is an error.
    """
    texts = [text for part in result.content if (text := _text_of(part)) is not None]
    others = [_media_line(part) for part in result.content if _text_of(part) is None]
    if result.is_error:
        raise ToolError("\n".join((*texts, *others)) or "The tool failed without a word.")
    if result.structured_content is None:
        return "\n".join((*texts, *others))
    # The texts beside structured content repeat it for older clients.
    structured: object = result.structured_content
    return {"result": structured, "besides": others} if others else structured


def _text_of(part: ContentBlock) -> str | None:
    if isinstance(part, TextContent):
        return part.text
    if isinstance(part, EmbeddedResource) and isinstance(part.resource, TextResourceContents):
        return part.resource.text
    return None


def _media_line(part: ContentBlock) -> str:
    """Such as "[an image (image/png, 12 kB) that can't be shown here]"."""
    if isinstance(part, ResourceLink):
        return f"[a link: {part.name}, {part.uri}]"
    if isinstance(part, ImageContent | AudioContent):
        what = "an image" if isinstance(part, ImageContent) else "a sound"
        return f"[{what} ({part.mime_type}, {_format_size(part.data)}) that can't be shown here]"
    if isinstance(part, EmbeddedResource) and not isinstance(part.resource, TextResourceContents):
        kind = part.resource.mime_type or "of unknown kind"
        return f"[a file ({kind}, {_format_size(part.resource.blob)}) that can't be shown here]"
    return "[something that can't be shown here]"


def _format_size(base64: str) -> str:
    return f"{max(1, round(len(base64) * 3 / 4 / 1000)):,} kB"


# Of a listing: an endless one must not fill the memory.
MOST_PAGES, MOST_TOOLS = 20, 500
HTTP_SECONDS = 30.0
# A call may take as long as its own time-out allows, which is kept elsewhere.
HTTP_READ_SECONDS = 3_600.0
LISTEN_AGAIN = 5.0
_SESSION_GONE = "Session terminated"


@dataclass(frozen=True, slots=True)
class Link:
    """An open connection. Its methods may be called from any task."""

    client: Client
    server: ToolServer
    lost: Callable[[], None]
    unfit: dict[str, str]

    async def listed(self) -> tuple[list[Tool], dict[str, str]]:
        """Return the tools, and those that were left out, each with the reason."""
        self.unfit.clear()
        found: list[Tool] = []
        cursor = None
        for _ in range(MOST_PAGES):
            page = await self.client.list_tools(cursor=cursor)
            found += page.tools
            cursor = page.next_cursor
            if cursor is None or len(found) >= MOST_TOOLS:
                break
        return found[:MOST_TOOLS], dict(self.unfit)

    async def follow(self, changed: Callable[[], None]) -> None:
        """Call `changed` after each change of the listing, for servers that report changes only to
        subscribers; older servers send them unasked."""
        tools = self.client.server_capabilities.tools
        asked = self.client.protocol_version in MODERN_PROTOCOL_VERSIONS
        if not (asked and tools and tools.list_changed):
            return
        while True:
            try:
                async with self.client.listen(tools_list_changed=True) as events:
                    async for _ in events:
                        changed()
            except SubscriptionLost:
                pass
            except (MCPError, TimeoutError):
                return
            await anyio.sleep(LISTEN_AGAIN)
            changed()

    async def call(self, name: str, arguments: Mapping[str, object]) -> object:
        """Return the result as a value that JSON holds. Raises ToolError."""
        try:
            result = await self.client.call_tool(name, dict(arguments))
        except MCPError as error:
            # The server's own errors have another code (`incoming`): a tool's error costs no
            # connection.
            gone = self.server.url and error.message == _SESSION_GONE
            if error.code == CONNECTION_CLOSED or gone:
                self.lost()
                raise ToolError(
                    f"The connection to the tool server {self.server.name} was lost. The call "
                    "may have done what was asked all the same.",
                    name="Unreachable",
                ) from None
            raise ToolError(error.message, name="ToolServerError") from None
        except (RuntimeError, ValueError):
            # The package's message about a result that its schema or the protocol doesn't allow
            # would quote the result.
            raise ToolError(
                "The tool server's answer isn't what it promised to give.", name="BadResult"
            ) from None
        return result_value(result)


@asynccontextmanager
async def connect(
    server: ToolServer, *, log: Path, changed: Callable[[], None], lost: Callable[[], None]
) -> AsyncIterator[Link]:
    """Connect and shake hands. `lost` is called when the server has gone."""

    async def heard(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            changed()

    unfit: dict[str, str] = {}
    client = Client(
        _transport(server, log, unfit=unfit, lost=lost),
        message_handler=heard,
        client_info=Implementation(name="chatsite", version="1"),
        cache=None,
    )
    async with client:
        yield Link(client, server, lost=lost, unfit=unfit)


@asynccontextmanager
async def _transport(
    server: ToolServer, log: Path, *, unfit: dict[str, str], lost: Callable[[], None]
) -> AsyncGenerator[tuple[Any, Any], None]:
    if server.url:
        # Over HTTP the stream ends with the client only.
        timeout = httpx2.Timeout(HTTP_SECONDS, read=HTTP_READ_SECONDS)
        async with (
            httpx2.AsyncClient(headers=dict(server.headers), timeout=timeout) as http,
            streamable_http_client(server.url, http_client=http) as (read, write),
        ):
            yield Incoming(read, unfit=unfit, ended=lambda: None, over_http=True), write
        return
    program = StdioServerParameters(
        command=server.command, args=list(server.args), env=dict(server.env), cwd=server.cwd
    )
    # The program's stderr may hold its keys, so it gets a file of its own beside our log.
    private = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(private, "w") as errors:
        async with stdio_client(program, errlog=errors) as (read, write):
            yield Incoming(read, unfit=unfit, ended=lost, over_http=False), write


def describe_failure(error: BaseException) -> str:
    """Return why there is no connection, for everybody to read: without host, path or the error's
    text."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return later("it doesn't answer")
    if isinstance(error, httpx2.ConnectError):
        return later("nothing answers at its address")
    if isinstance(error, FileNotFoundError | PermissionError):
        return later("its program can't be started")
    if isinstance(error, MCPError):
        return later("it refused the connection")
    if isinstance(error, ValueError):
        return later("what it says of itself isn't what the protocol allows")
    return f"the connection failed ({type(error).__name__})"
