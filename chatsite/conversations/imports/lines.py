"""What the conversion of an export writes and the import reads: a line of JSON each."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, TypeVar

from chatsite.messages import Role

T = TypeVar("T", "ChatFacts", "Line", "FileFacts", "Outcome")


@dataclass
class ChatFacts:
    """A chat, before its `files` and `messages`; times in seconds. `titled`: its title isn't its
    first words."""

    program: str
    id: str
    title: str
    titled: bool
    created: float | None
    updated: float | None
    files: int
    messages: int
    characters: int


@dataclass
class FileFacts:
    """A file, before its `size` bytes."""

    name: str
    size: int


@dataclass
class Line:
    """A message: `parent` is the place of the one above, -1 for none; `files` are places among the
    chat's files, `missing` the names of those that aren't there. `created`: 0 is unknown."""

    role: Role
    text: str
    reasoning: str
    call: tuple[str, dict[str, Any]] | None
    model: str
    parent: int
    created: float
    on_path: bool
    files: list[int]
    missing: list[str]

    @property
    def characters(self) -> int:
        return len(self.text) + len(self.reasoning) + len(str(self.call or ""))


@dataclass
class Outcome:
    """The last line: what the export holds, or the code of why it is `refused`. `left_out` counts
    by kind, with titles for example."""

    refused: str = ""
    chats: int = 0
    messages: int = 0
    left_out: dict[str, tuple[int, list[str]]] = field(default_factory=dict)

    def leave(self, kind: str, title: str, count: int = 1) -> None:
        before, titles = self.left_out.get(kind, (0, []))
        more = [title[:80]] if title and title[:80] not in titles else []
        self.left_out[kind] = before + count, [*titles, *more][:3]


def to_line(value: ChatFacts | Line | FileFacts | Outcome) -> bytes:
    return json.dumps(vars(value)).encode() + b"\n"


def from_line(kind: type[T], line: bytes) -> T:
    return kind(**json.loads(line))
