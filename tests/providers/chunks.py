"""What came of an answer, however its pieces fell together on their way."""

from __future__ import annotations

from collections.abc import Iterable

from chatsite.providers.base.provider import Chunk, Reasoning, Text


def joined(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Neighbouring pieces of text as one, and those of reasoning."""
    found: list[Chunk] = []
    for chunk in chunks:
        match (found[-1] if found else None), chunk:
            case (Text(before), Text(text)):
                found[-1] = Text(before + text)
            case (Reasoning(before), Reasoning(text)):
                found[-1] = Reasoning(before + text)
            case _:
                found.append(chunk)
    return found
