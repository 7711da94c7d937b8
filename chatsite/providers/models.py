"""What is known beforehand of models: window, abilities, price. An administrator can add to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chatsite.providers.base import Medium
from chatsite.providers.prices import Price

ASSUMED_WINDOW = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """`window` in tokens, reply included. `takes` besides text. A `reasoning` model refuses
    temperature and top_p. `o200k`: its tokens are counted with that tokenizer. `longest` bounds
    what it may reply with, None where that isn't known."""

    window: int
    takes: frozenset[Medium] = frozenset()
    tools: bool = True
    reasoning: bool = False
    o200k: bool = False
    longest: int | None = None
    price: Price | None = None


@dataclass(frozen=True, slots=True)
class ModelTable:
    """Facts by server and model. `own` are an administrator's, which win."""

    own: Mapping[str, ModelFacts] = field(default_factory=dict)

    def facts(self, server: str, model: str) -> ModelFacts | None:
        """None for a model that isn't known: its provider states what it assumes then."""
        raise NotImplementedError
