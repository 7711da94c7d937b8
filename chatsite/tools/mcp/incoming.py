"""What a tool server sends, made fit for the package `mcp` before it reads it.

The package refuses a whole listing for one tool that isn't as the protocol says, and uses one code
for its own lost connections that many servers use for errors of their tools.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, JSONRPCError, JSONRPCResponse
from mcp_types.methods import validate_server_result

from chatsite.messages import UNSOUND
from chatsite.tools.tool import schema_fault
from chatsite.wording import later

_NO_NAME = later("it has no name")
_BAD_NAME = later("its name has a character that can't be stored")
# The strictest revision of what a tool may be.
_STRICTEST = "2025-11-25"
# With these the package itself says that an answer over HTTP can't come any more.
_OF_PACKAGE = ("SSE stream ", "server answered a request with 202")


@dataclass(frozen=True, slots=True)
class Incoming:
    """A stream of messages. `unfit` collects the tools that were left out of listings, with the
    reason; `ended` is called at the stream's end: the package tells only waiting calls.

    `over_http`: some errors in the stream are the package's own.
    """

    stream: Any
    unfit: dict[str, str]
    ended: Callable[[], None]
    over_http: bool

    async def receive(self) -> Any:
        return self._made_fit(await self.stream.receive())

    async def aclose(self) -> None:
        await self.stream.aclose()

    def __aiter__(self) -> Incoming:
        return self

    async def __anext__(self) -> Any:
        try:
            return self._made_fit(await self.stream.__anext__())
        except StopAsyncIteration:
            self.ended()
            raise

    async def __aenter__(self) -> Incoming:
        await self.stream.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        ended: bool | None = await self.stream.__aexit__(kind, error, trace)
        return ended

    def __getattr__(self, name: str) -> Any:
        """What else the package looks for in its own streams, such as a message's context."""
        return getattr(self.stream, name)

    def _made_fit(self, item: Any) -> Any:
        message = getattr(item, "message", None)
        if isinstance(message, JSONRPCResponse) and isinstance(message.result.get("tools"), list):
            message.result["tools"] = self._sound(message.result["tools"])
        elif isinstance(message, JSONRPCError) and message.error.code == CONNECTION_CLOSED:
            own = self.over_http and message.error.message.startswith(_OF_PACKAGE)
            if not own:
                message.error.code = INTERNAL_ERROR
        return item

    def _sound(self, tools: list[Any]) -> list[dict[str, Any]]:
        sound = []
        for number, tool in enumerate(tools, start=1):
            described = _completed(tool) if isinstance(tool, dict) else {}
            name, reason = described.get("name"), fault_of(described)
            if reason:
                named = isinstance(name, str) and name.strip() and not UNSOUND.search(name)
                self.unfit[str(name)[:200] if named else f"(tool {number})"] = reason
            else:
                sound.append(_with_sound_parts(described))
        return sound


def fault_of(tool: dict[str, Any]) -> str:
    """Return why this tool can't be offered, "" where it can."""
    name = tool.get("name")
    if not isinstance(name, str) or not name.strip():
        return _NO_NAME
    if UNSOUND.search(name):
        return _BAD_NAME
    return schema_fault(tool.get("inputSchema"))


def _completed(tool: dict[str, Any]) -> dict[str, Any]:
    """With what many leave out of the schema of a tool, and providers want."""
    schema = tool.get("inputSchema")
    if not isinstance(schema, dict):
        return tool
    stated = {key: value for key, value in schema.items() if value is not None}
    return tool | {"inputSchema": {"type": "object", "properties": {}} | stated}


def _with_sound_parts(tool: dict[str, Any]) -> dict[str, Any]:
    """The tool, without what else is said of it where that isn't as the protocol wants it."""
    try:
        validate_server_result("tools/list", _STRICTEST, {"tools": [tool]})
    except ValueError:
        texts = {key: tool.get(key) for key in ("title", "description")}
        sound_texts = {key: text for key, text in texts.items() if isinstance(text, str)}
        return {"name": tool["name"], "inputSchema": tool["inputSchema"], **sound_texts}
    return tool
