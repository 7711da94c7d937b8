"""What OpenAI's well-known models cost, from its price list; every other price is not known.

A price only ever makes an estimate: a contract, a batch or another server may charge otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# https://developers.openai.com/api/docs/pricing, standard processing of prompts below 272,000
# tokens. Models that are no longer listed there cost what they did when they were.
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


_PRICES: dict[str, Price] = {
    "gpt-3.5-turbo": Price(0.50, None, 1.50),
    "gpt-4": Price(30.00, None, 60.00),
    "gpt-4-turbo": Price(10.00, None, 30.00),
    "gpt-4o": Price(2.50, 1.25, 10.00),
    "gpt-4o-2024-05-13": Price(5.00, None, 15.00),
    "gpt-4o-mini": Price(0.15, 0.075, 0.60),
    "gpt-4.1": Price(2.00, 0.50, 8.00),
    "gpt-4.1-mini": Price(0.40, 0.10, 1.60),
    "gpt-4.1-nano": Price(0.10, 0.025, 0.40),
    "gpt-5": Price(1.25, 0.125, 10.00),
    "gpt-5-chat-latest": Price(1.25, 0.125, 10.00),
    "gpt-5-mini": Price(0.25, 0.025, 2.00),
    "gpt-5-nano": Price(0.05, 0.005, 0.40),
    "gpt-5.1": Price(1.25, 0.125, 10.00),
    "gpt-5.2": Price(1.75, 0.175, 14.00),
    "gpt-5.4": Price(2.50, 0.25, 15.00),
    "gpt-5.4-mini": Price(0.75, 0.075, 4.50),
    "gpt-5.4-nano": Price(0.20, 0.02, 1.25),
    "gpt-5.5": Price(5.00, 0.50, 30.00),
    "gpt-5.6-luna": Price(0.20, 0.02, 1.20),
    "gpt-5.6-sol": Price(4.00, 0.40, 20.00),
    "gpt-5.6-terra": Price(2.00, 0.20, 12.00),
    "gpt-6-luna": Price(0.10, 0.01, 0.50),
    "gpt-6-sol": Price(2.00, 0.20, 10.00),
    "gpt-6.1-sol": Price(2.00, 0.10, 10.00),
    "gpt-6.1-terra": Price(1.00, 0.05, 5.00),
    "o1": Price(15.00, 7.50, 60.00),
    "o1-mini": Price(1.10, 0.55, 4.40),
    "o3": Price(2.00, 0.50, 8.00),
    "o3-mini": Price(1.10, 0.55, 4.40),
    "o4-mini": Price(1.10, 0.275, 4.40),
}
# A dated version costs what its model costs; any other addition to a name is another model.
_DATE = re.compile(r"-20\d\d-[01]\d-[0-3]\d$", re.ASCII)


def price_of(provider: str, model: str) -> Price | None:
    """None where no price is known: other providers, and models that are not in the list."""
    if provider != "openai":
        return None
    return _PRICES.get(model) or _PRICES.get(_DATE.sub("", model))


def reusable(leading: int) -> int:
    """How many of the leading tokens OpenAI can take from its cache."""
    return leading // CACHE_STEP * CACHE_STEP if leading >= LEAST_CACHED else 0
