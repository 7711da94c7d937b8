"""What tokens cost. The prices themselves stand with the models, in models.py.

A price only ever makes an estimate: a contract, a batch or another server may charge otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

# When the price lists were read.
PUBLISHED = "November 2026"
# OpenAI keeps a prompt's beginning from this length on, in steps of 128 tokens:
# https://platform.openai.com/docs/guides/prompt-caching
LEAST_CACHED = 1_024
CACHE_STEP = 128
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens. `cached` is None where reused input isn't cheaper."""

    input: float
    cached: float | None
    output: float

    def cost(self, *, prompt: int, cached: int = 0, answer: int = 0) -> float:
        """Dollars for so many tokens; `cached` are part of `prompt`."""
        reused = self.input if self.cached is None else self.cached
        full = (prompt - cached) * self.input + cached * reused + answer * self.output
        return full / _MILLION


def reusable(leading: int) -> int:
    """How many of the leading tokens OpenAI can take from its cache."""
    return leading // CACHE_STEP * CACHE_STEP if leading >= LEAST_CACHED else 0
