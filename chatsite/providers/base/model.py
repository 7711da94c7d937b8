"""What is known of a model: its window, what it takes, and what its tokens cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# What a model may take besides text. "pdf": as a file of its own, pages and all.
Medium = Literal["image", "pdf", "audio", "video"]

# When the price lists were read.
PUBLISHED = "November 2026"
# OpenAI caches the beginning of a prompt from this length on, in steps of 128 tokens:
# https://platform.openai.com/docs/guides/prompt-caching
LEAST_CACHED = 1_024
CACHE_STEP = 128
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens. `cached` is None where reused input isn't cheaper.

    A price only ever makes an estimate: a contract, a batch or another server may charge otherwise.
    """

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The model that would answer. `window` is in tokens, reply included.

    `takes` lists what it takes besides text; `tools`: it can call tools. `price` is None where no
    price is known, `longest`, its longest reply in tokens, where that isn't. `demonstration`: it
    shows that the page works, and is too small to give good answers. Of what its server refused:
    `factor` is how many tokens it counts for one of ours, `most` the longest prompt in ours.
    """

    provider: str
    name: str
    label: str
    window: int
    note: str = ""
    takes: frozenset[Medium] = frozenset()
    tools: bool = False
    price: Price | None = None
    longest: int | None = None
    demonstration: bool = False
    factor: float = 1.0
    most: int | None = None

    def prompt_room(self, reply: int) -> int:
        """Tokens, by our count, that a prompt may have beside so many of the reply."""
        room = int((self.window - reply) / self.factor)
        return room if self.most is None else min(room, self.most)
