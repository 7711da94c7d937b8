"""Calls a tool: whatever happens, there is a result that can be stored and sent."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chatsite.messages import UNSOUND
from chatsite.tools.arguments import check_arguments, parse_arguments, without_nulls
from chatsite.tools.tool import Tool, ToolContext, ToolError

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
    """The content of a tool message for a call that has no result."""
    if len(message) > LONGEST_ERROR:
        message = f"{message[:LONGEST_ERROR]}…"
    return _to_json({"error": {"name": name[:_LONGEST_NAME], "message": message}})


def _find_tool(name: str, tools: Sequence[Tool]) -> Tool:
    for tool in tools:
        if tool.name == name:
            return tool
    there = ", ".join(tool.name for tool in tools)
    known = f"There are: {there}." if tools else "There are none."
    raise ToolError(f"No tool of that name can be called here. {known}", name="UnknownTool")


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
    """The value as JSON in at most `room` characters.

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
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    line = f" at {place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place else ""
    return f"{type(error).__name__}{line}"
