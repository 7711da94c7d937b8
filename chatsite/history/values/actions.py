"""What the assistant did with its tools, as one short line for a reader who sees only text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from chatsite.messages import Message, ToolCall

# The line is a reminder of what was done; the calls themselves are stored.
MOST_CALLS = 15
MOST_CHARACTERS = 60


def actions_line(messages: Iterable[Message]) -> str:
    """`[Did: search (query: tides), read_file (path: notes.txt), and 3 more]`; "" without calls."""
    calls = [call for message in messages for call in message.calls]
    if not calls:
        return ""
    named = [_named(call) for call in calls[:MOST_CALLS]]
    if len(calls) > MOST_CALLS:
        named.append(f"and {len(calls) - MOST_CALLS} more")
    return f"[Did: {', '.join(named)}]"


def _named(call: ToolCall) -> str:
    arguments = _arguments(call.arguments)
    return f"{_line(call.name)} ({arguments})" if arguments else _line(call.name)


def _arguments(arguments: Mapping[str, object]) -> str:
    return _line(", ".join(f"{name}: {_value(value)}" for name, value in arguments.items()))


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _line(text: str) -> str:
    """On one line, and short."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1]}…"
