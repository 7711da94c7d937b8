"""Messages made shorter: answers cut to a number of characters (`context_truncation`), a line for a
result or for the texts of files that gave way, and, for a reader who sees only text, what the
assistant did with its tools as one line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from chatsite.history.evidence import GAVE_WAY_WITH_VALUES, LEFT_OUT
from chatsite.history.path.transcript import Entry
from chatsite.history.token_estimate import estimate_message
from chatsite.messages import Message, TokenCount, ToolCall

SHORTENED = " […shortened]"
# English text has four characters to a token; the model only needs to know how much is missing.
CHARACTERS_PER_TOKEN = 4


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
    return _with(entry, replace(message, content=cut, metadata=""))


def _with(entry: Entry, new: Message) -> Entry:
    known = entry.message.tokens
    count = min(known.count, estimate_message(new)) if known else estimate_message(new)
    tokens = TokenCount(count=count, tokenizer="estimate", basis="estimated")
    return replace(entry, message=replace(new, tokens=tokens))


# ---- a line in place of a result or of the texts of files -------------------------------------
def as_sent(entries: Sequence[Entry], place: int, shortened: int) -> Entry:
    """The entry at this place as the `shortened` of its run in the layout says; of a result that
    gave way the call is looked for above it."""
    entry = entries[place]
    if shortened >= 0:
        return shorten_answer(entry, shortened)
    if entry.message.role != "tool":
        return line_for(entry, shortened)
    above = (entries[index].message for index in range(place - 1, -1, -1))
    call = entry.message.call_id
    names = (one.name for message in above for one in message.calls if one.id == call)
    return line_for(entry, shortened, tool=next(names, ""))


def line_for(entry: Entry, shortened: int, *, tool: str = "") -> Entry:
    """A result as one line, of the tool of this name; a user message with a line for each file."""
    message = entry.message
    if message.role == "tool":
        tokens = _tokens_in_words(len(message.content or ""))
        left_out = "left out to make room; ask for it again if it is needed"
        if shortened == LEFT_OUT:
            left_out = "left out by the user"
        elif shortened == GAVE_WAY_WITH_VALUES:
            left_out = f"left out; ask again if needed. It has: {entry.anchors}"
        text = f"[Result of {_line(tool)}, {tokens}, {left_out}]"
        return _with(entry, replace(message, content=text))
    lines = [message.content or ""]
    for file in message.attachments:
        tokens = _tokens_in_words(file.characters)
        lines.append(f"File: {file.name} [its text, {tokens}, left out to make room]")
    text = "\n\n".join(filter(None, lines))
    return _with(entry, replace(message, content=text, attachments=()))


def _tokens_in_words(characters: int) -> str:
    """By the length alone, so that the line is the same whoever counts the tokens."""
    return f"about {max(1, characters // CHARACTERS_PER_TOKEN):,} tokens"


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
