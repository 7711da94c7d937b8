"""The chats of other programs as values, and tolerant readers of what their exports hold."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from chatsite.messages import UNSOUND

# Seconds: 2001 and 2100. What is larger than the second is in milliseconds.
_FIRST, _LAST = 978_307_200.0, 4_102_444_800.0
# "2023-6-5 @14h 34m 12s 123ms", and "June 5, 2023 2:34pm".
_AT = re.compile(r"(\d{4})-(\d\d?)-(\d\d?) ?@ ?(\d\d?)h ?(\d\d?)m ?(\d\d?)s")
_WORDS = ("%B %d, %Y %I:%M%p", "%B %d, %Y %I:%M %p", "%b %d, %Y %I:%M%p")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRef:
    """A file of a message: `key` finds it in the archive, unless its `data` is here."""

    name: str
    key: str = ""
    data: bytes | None = field(default=None, repr=False)


@dataclass(slots=True, kw_only=True)
class Said:
    """One message. `call` is a tool's name and arguments; its result is the message below it, with
    the role "tool"."""

    role: str
    text: str = ""
    reasoning: str = ""
    call: tuple[str, dict[str, Any]] | None = None
    files: tuple[FileRef, ...] = ()
    model: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.text.strip() or self.call or self.files or self.role == "tool")


@dataclass(slots=True, kw_only=True)
class Node:
    """A place in another program's tree. Its messages follow one another; without any, what is
    below it hangs on what is above. `created` is in seconds."""

    key: str
    parent: str | None = None
    said: list[Said] = field(default_factory=list)
    created: float | None = None


@dataclass(slots=True, kw_only=True)
class Chat:
    """A chat of another program. `current` is the node that its path leads to; `left_out` counts,
    by kind, what isn't taken over."""

    program: str
    id: str
    title: str
    created: float | None = None
    updated: float | None = None
    nodes: list[Node] = field(default_factory=list)
    current: str | None = None
    left_out: Counter[str] = field(default_factory=Counter)


def fields(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """The text, with a sign in place of what no database stores; "" for anything else."""
    return UNSOUND.sub("\ufffd", value) if isinstance(value, str) else ""


def key(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and value != "" else None


def moment(value: Any) -> float | None:
    """A time in seconds, of seconds, milliseconds, ISO 8601 or SillyTavern's forms."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        seconds = value / 1000 if value > _LAST else value
        return float(seconds) if _FIRST <= seconds <= _LAST else None
    if not isinstance(value, str) or len(value) > 80:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return moment(int(value))
    try:
        found = _datetime(value)
        return moment((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None


def _datetime(value: str) -> datetime:
    if at := _AT.match(value):
        return datetime(*map(int, at.groups()), tzinfo=UTC)  # type: ignore[misc,arg-type]
    for form in _WORDS:
        try:
            return datetime.strptime(value, form).replace(tzinfo=UTC)
        except ValueError:
            pass
    return datetime.fromisoformat(value)


def joined(parts: Iterable[str]) -> str:
    """Paragraphs, without empty ones."""
    return "\n\n".join(filter(None, parts))


def words(content: Any) -> str:
    """A text, or what stands in a list of texts and of parts with a `text`, as paragraphs."""
    parts = (text(one) or text(fields(one).get("text")) for one in items(content))
    return text(content) or joined(parts)


def arguments(given: Any) -> dict[str, Any]:
    """The arguments of a call: an object, also one that is written as text, or the text."""
    try:
        found = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        found = given
    found = storable(found)
    return found if isinstance(found, dict) else {"input": found} if found else {}


def storable(value: Any) -> Any:
    """The same JSON without NUL, half characters and numbers that are none. Deep nests end."""
    return _cleaned(value, 20)


def _cleaned(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, dict | list) and not depth:
        return None
    if isinstance(value, dict):
        return {text(name): _cleaned(one, depth - 1) for name, one in value.items()}
    if isinstance(value, list):
        return [_cleaned(one, depth - 1) for one in value]
    return value
