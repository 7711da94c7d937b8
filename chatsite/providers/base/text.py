"""What of a message reaches a model that reads text only, and text that can be stored and sent."""

from __future__ import annotations

from typing import Any

from chatsite.messages import UNSOUND, Message


def plain_text(message: Message) -> str:
    """The text, then one line for each attached file that it doesn't name yet: never its bytes."""
    text = message.content or ""
    lines = [text] if text else []
    for attachment in message.attachments:
        line = f"File: {attachment.name}"
        if line not in text:
            lines.append(line)
    return "\n".join(lines)


class TextJoiner:
    """Text in pieces, of which some servers cut a character in two."""

    def __init__(self) -> None:
        self._half = ""

    def take(self, piece: str) -> str:
        """What of it can be stored; the first half of a character waits for the next piece.
        Raises TypeError for what isn't text."""
        if not isinstance(piece, str):
            raise TypeError("not text")
        if piece.isascii() and "\0" not in piece and not self._half:
            return piece
        text = self._half + piece
        self._half = text[-1] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return repair_text(text[:-1] if self._half else text)


def repair_text(text: str) -> str:
    """No database stores half a character, nor NUL, and no server can be sent the first: halves
    that stand together are one, and what is left becomes U+FFFD."""
    if not UNSOUND.search(text):
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\0", "\ufffd")


def repair_json(value: Any) -> Any:
    """A JSON value with every text in it sound."""
    match value:
        case str():
            return repair_text(value)
        case list():
            return [repair_json(item) for item in value]
        case dict():
            return {repair_text(key): repair_json(item) for key, item in value.items()}
    return value
