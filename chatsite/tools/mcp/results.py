"""The result of a tool server as a value that JSON can hold and a model can read."""

from __future__ import annotations

from mcp_types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from chatsite.tools.tool import ToolError


def result_value(result: CallToolResult) -> object:
    """The structured content where there is any, else text; media are named on a line.

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
