"""The protocol of a tool, its context and its errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Who uses a tool, and where: the owner as storage knows it, and the conversation's id."""

    owner: Any
    conversation: str


class ToolError(Exception):
    """A tool's own failure. The model and the page show `name` and `message`."""

    def __init__(self, message: str, *, name: str = "ToolError") -> None:
        super().__init__(message)
        self.name = name
        self.message = message


class Tool(Protocol):
    """`parameters` is a JSON schema of type object; `name` is what the model calls it by."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, object]: ...

    async def run(self, arguments: Mapping[str, object], using: ToolContext) -> object:
        """A value that JSON can hold. Raises ToolError, or whatever goes wrong; it may be
        cancelled at any time."""
        ...
