"""What a server sent, made fit to be stored and sent on."""

from __future__ import annotations

import re
from typing import Any

from chatsite.messages import repair_text

_NAMESPACE = re.compile(r"^(?:functions?|tools?|default_api)\s*\.\s*")


def string_of(value: object) -> str:
    """Text, "" for None. Raises TypeError for anything else."""
    if value is not None and not isinstance(value, str):
        raise TypeError("not text")
    return value or ""


def called_name(name: str) -> str:
    """A tool's name as a model wrote it, without blanks and the namespace in which some models were
    taught their tools: no name of ours has a dot."""
    return _NAMESPACE.sub("", name.strip()).strip()


class TextJoiner:
    """Joins characters that a server cut in two between pieces of text."""

    def __init__(self) -> None:
        self._half = ""

    def take(self, piece: str) -> str:
        """The piece as text that can be stored; half a character at its end is kept for the next
        piece. Raises TypeError for a piece that isn't text."""
        if not isinstance(piece, str):
            raise TypeError("not text")
        if piece.isascii() and "\0" not in piece and not self._half:
            return piece
        text = self._half + piece
        self._half = text[-1] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return repair_text(text[:-1] if self._half else text)


def repair_json(value: Any) -> Any:
    """A JSON value with every text in it repaired."""
    match value:
        case str():
            return repair_text(value)
        case list():
            return [repair_json(item) for item in value]
        case dict():
            return {repair_text(key): repair_json(item) for key, item in value.items()}
    return value
