"""What one request did to the cache: what the books expected and what the engine said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# Where what was reused came from: the conversation's own slot, its saved session, the agent's
# shared beginning, or nowhere.
Origin = Literal["slot", "session", "shared", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Tokens. `expected` were to be reused by the books, `reused` and `evaluated` is what the
    engine reported; `shifted` of the expected ones were moved. `cells` is what the prompt takes of
    `window`. `restored_ms` is how long bringing a session back took, None where none was."""

    expected: int
    reused: int
    evaluated: int
    shifted: int
    cells: int
    window: int
    origin: Origin
    restored_ms: float | None = None

    @property
    def agrees(self) -> bool:
        return self.expected == self.reused

    def to_dict(self) -> dict[str, object]:
        return {
            "expected": self.expected,
            "reused": self.reused,
            "evaluated": self.evaluated,
            "shifted": self.shifted,
            "cells": self.cells,
            "window": self.window,
            "origin": self.origin,
            "restored_ms": self.restored_ms,
        }
