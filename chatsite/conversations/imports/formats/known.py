"""Finds out by their content which program wrote the values of a file, and reads its chats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from chatsite.conversations.imports.formats import (
    chatgpt,
    claude,
    librechat,
    open_webui,
    sillytavern,
)
from chatsite.conversations.imports.formats.values import Chat, fields

FORMATS = (chatgpt, claude, open_webui, librechat)


class OurOwn(ValueError):
    """The value is a chat of Chatsite, which isn't read here."""


def read_chats(values: Iterable[Any]) -> Iterator[Chat | None]:
    """One chat after another; None for a value that is none. Only SillyTavern's are more than one
    value. Raises OurOwn."""
    lines: list[Any] = []
    for value in values:
        line = sillytavern.is_message(value)
        if lines and not line:
            yield sillytavern.read(lines)
            lines = []
        if line or sillytavern.begins(value):
            lines.append(value)
            continue
        if str(fields(value).get("format")).startswith("chatsite."):
            raise OurOwn
        known = next((one for one in FORMATS if one.recognises(fields(value))), None)
        yield known.read(value) if known else None
    if lines:
        yield sillytavern.read(lines)
