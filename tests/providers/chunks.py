"""The chunks of an answer, however its pieces were joined by the transport."""

from __future__ import annotations

from collections.abc import Iterable

from chatsite.providers.base.provider import Chunk, ReasoningPiece, TextPiece


def joined(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Neighbouring pieces of text as one, and those of reasoning."""
    found: list[Chunk] = []
    for chunk in chunks:
        match (found[-1] if found else None), chunk:
            case (TextPiece(before), TextPiece(text)):
                found[-1] = TextPiece(before + text)
            case (ReasoningPiece(before), ReasoningPiece(text)):
                found[-1] = ReasoningPiece(before + text)
            case _:
                found.append(chunk)
    return found
