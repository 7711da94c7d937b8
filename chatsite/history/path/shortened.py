"""Messages made shorter for a reader who sees only text: answers cut to a number of characters
(the setting `context_truncation`), and what the assistant did with its tools as one line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from chatsite.history.path.transcript import Entry
from chatsite.history.token_estimate import estimate_message
from chatsite.messages import Message, TokenCount, ToolCall

SHORTENED = " […shortened]"


def shorten(text: str, characters: int) -> str:
    """The beginning of a text, marked as such; 0 is no limit."""
    if not 0 < characters < len(text):
        return text
    return text[:characters] + SHORTENED


def shorten_answer(entry: Entry, characters: int) -> Entry:
    """An answer with its text cut; every other message, and a short answer, unchanged.

    The tokens of a shortened answer are estimated. Its metadata, which the provider kept for the
    whole text, is dropped.
    """
    message = entry.message
    text = message.content or ""
    if message.role != "assistant" or (cut := shorten(text, characters)) == text:
        return entry
    new = replace(message, content=cut, metadata="")
    known = message.tokens.count if message.tokens else estimate_message(message)
    count = min(known, estimate_message(new))
    tokens = TokenCount(count=count, tokenizer="estimate", basis="estimated")
    return replace(entry, message=replace(new, tokens=tokens))


# ---- tool calls -------------------------------------------------------------------------------
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
