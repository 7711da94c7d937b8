"""The forms of text that servers send in place of OpenAI's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def parts_of(content: Any) -> Iterator[tuple[str, str]]:
    """Text or thought, "" for the other, of content that isn't plain text. Mistral sends lists of
    parts, of text, of thinking (itself a list) and of references, which have no text:
    https://docs.mistral.ai/capabilities/reasoning/ . Raises TypeError for what isn't text."""
    if isinstance(content, str):
        yield content, ""
    elif isinstance(content, list):
        for part in content:
            yield from parts_of(part)
    elif isinstance(content, dict):
        kind = content.get("type")
        thought = content.get("thinking") or content.get("reasoning") or content.get("summary")
        if thought or kind in ("thinking", "reasoning"):
            thoughts = parts_of(thought or content.get("text") or content.get("content"))
            yield "", "".join(one or other for one, other in thoughts)
        else:
            yield from parts_of(content.get("text") or content.get("refusal") or ())
    elif content not in (None, ()):
        raise TypeError("not text")


class WholeMessages:
    """Knows what is new in messages that repeat what was said; `said` are the pieces so far, which
    the reader adds to. `count` messages have come.

    Some servers send the answer so far with each event, some the whole answer once more at its end,
    some pieces: what doesn't begin with the answer so far is a piece, but for a repetition of what
    came in deltas.
    """

    def __init__(self, said: list[str]) -> None:
        self.count = 0
        self._said = said
        self._by_messages = False
        self._in_pieces = False

    @property
    def is_document(self) -> bool:
        """Whether one message was all: a document, which is whole where it can be read."""
        return self.count == 1 and (self._by_messages or not self._said)

    def new_of(self, text: str) -> str:
        said = "".join(self._said)
        by_deltas = bool(said) and not self._by_messages
        self._by_messages = not by_deltas
        if not said or self._in_pieces:
            return text
        if text.startswith(said):
            self._said[:] = [said]
            return text[len(said) :]
        if by_deltas:
            return ""
        self._in_pieces = True
        return text
