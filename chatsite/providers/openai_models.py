"""What is known beforehand of OpenAI's models: window, tokenizer, which parameters they refuse."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_MODEL = "gpt-4o-mini"
# Made for classification and the cheapest there is; smaller ones before it end in 2026.
SMALL_MODEL = "gpt-6-luna"
ASSUMED_WINDOW = 8192


@dataclass(frozen=True, slots=True)
class Known:
    """`window` in tokens, reply included. A `reasoning` model refuses temperature and top_p."""

    window: int
    o200k: bool = True
    reasoning: bool = False


# By the beginning of the name, the longest that fits counts: dated versions behave like their
# family. Windows as OpenAI's model pages state them.
_FAMILIES: dict[str, Known] = {
    "gpt-3.5-turbo": Known(16_385, o200k=False),
    "gpt-4": Known(8_192, o200k=False),
    "gpt-4-turbo": Known(128_000, o200k=False),
    "gpt-4o": Known(128_000),
    "gpt-4.1": Known(1_047_576),
    "gpt-5": Known(400_000, reasoning=True),
    "gpt-5-chat": Known(128_000),
    "gpt-5.6": Known(1_050_000, reasoning=True),
    "gpt-6": Known(1_050_000, o200k=False, reasoning=True),
    "o1": Known(200_000, reasoning=True),
    "o1-mini": Known(128_000, reasoning=True),
    "o1-preview": Known(128_000, reasoning=True),
    "o3": Known(200_000, reasoning=True),
    "o4": Known(200_000, reasoning=True),
}


def known(name: str) -> Known | None:
    """None for a model that isn't one of OpenAI's well-known ones."""
    fitting = [prefix for prefix in _FAMILIES if _is_of(name, prefix)]
    return _FAMILIES[max(fitting, key=len)] if fitting else None


def _is_of(name: str, family: str) -> bool:
    """`gpt-4-0613` is of `gpt-4`, `gpt-5.1` of `gpt-5`; `gpt-40` and `o1x` are of nothing."""
    return name.startswith(family) and name[len(family) :][:1] in ("", "-", ".", "@", ":")
