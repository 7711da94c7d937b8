"""Collects the engine's native stream: its text, how it ended, and its token ids."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from chatsite.providers.base.provider import FinishReason, TextPiece, Usage
from chatsite.providers.embedded.client import EngineClient
from chatsite.providers.http import failures


@dataclass(slots=True)
class _Piece:
    """One event: its text, the ids in it, and how many ids were omitted before them. Of a character
    of several tokens the engine reports only the last id."""

    text: str
    ids: list[int]
    hidden: int


@dataclass(slots=True)
class CompletionReader:
    """Collects the events of one answer.

    `reused`: tokens of the prompt that were in the slot, None until the engine has begun. `read`:
    tokens of the prompt that are in the slot by now. `cells`: what the slot holds after the answer,
    None until its end. `evaluated`: tokens of the prompt that were read, None until the end.
    """

    reason: FinishReason | None = None
    usage: Usage = field(default_factory=Usage)
    reused: int | None = None
    cells: int | None = None
    read: int = 0
    evaluated: int | None = None
    _pieces: list[_Piece] = field(default_factory=list)
    _predicted: int = 0
    _ended_itself: bool = False

    def take(self, payload: bytes) -> TextPiece | None:
        """Takes one event's data. Raises ProviderError for an error event or unreadable data."""
        try:
            event = json.loads(payload)
            if "error" in event:
                raise failures.failed_midway("engine error event")
            if "prompt_progress" in event:
                progress = event["prompt_progress"]
                self.reused, self.read = int(progress["cache"]), int(progress["processed"])
                return None
            if event["stop"]:
                self._end(event)
                return None
            return self._piece(event)
        except (ValueError, KeyError, TypeError) as error:
            raise failures.malformed(type(error).__name__) from None

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self._pieces)

    async def ids(self, client: EngineClient) -> list[int] | None:
        """Return the ids of the answer's text; None where they aren't certain, or where the model
        wrote a control token into it."""
        pieces = self._pieces
        if self._ended_itself and pieces and not pieces[-1].text:
            pieces = pieces[:-1]
        if any(not piece.text for piece in pieces):
            return None
        gaps = [piece for piece in pieces if piece.hidden]
        for gap, whole in zip(gaps, await client.tokenize([g.text for g in gaps]), strict=True):
            if len(whole) != len(gap.ids) + gap.hidden or whole[-len(gap.ids) :] != gap.ids:
                return None
            gap.ids, gap.hidden = whole, 0
        return [id for piece in pieces for id in piece.ids]

    def _piece(self, event: dict[str, Any]) -> TextPiece | None:
        text: str = event["content"]
        ids: list[int] = event["tokens"]
        predicted: int = event["tokens_predicted"]
        self._pieces.append(_Piece(text, ids, predicted - self._predicted - len(ids)))
        self._predicted = predicted
        return TextPiece(text) if text else None

    def _end(self, event: dict[str, Any]) -> None:
        timings = event["timings"]
        # The last token isn't read by the model itself, so it has no cell.
        self.cells = event["tokens_evaluated"] + event["tokens_predicted"] - 1
        self.reused, self.evaluated = timings["cache_n"], timings["prompt_n"]
        self._ended_itself = event["stop_type"] == "eos"
        self.reason = "length" if event["stop_type"] == "limit" else "stop"
        self.usage = Usage(
            prompt=event["tokens_evaluated"],
            cached=timings["cache_n"],
            completion=event["tokens_predicted"],
        )
