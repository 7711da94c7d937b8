"""What is known beforehand of models: window, abilities, price. An administrator can add to it.

The table is read by the beginning of a model's name: dated versions behave like their family. A
price is that of the name itself and of its dated versions; any other addition to a name is
another model, which may cost otherwise. What is missing here works too, with what is assumed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType

from chatsite.providers.base.model import Medium, Price

# Of a server that doesn't tell its window: small, since more might be cut off without a word.
ASSUMED_WINDOW = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """`window` in tokens, reply included. `takes` besides text. A `reasoning` model refuses
    temperature and top_p, and thinks; another one that `thinks` unasked takes both. `o200k`: its
    tokens are counted with that tokenizer. `longest` bounds what it may reply with, None where
    that isn't known. `effort_with_tools`: what `reasoning_effort` has to say where tools go along,
    "" where that is free. `assumed`: nobody says the window.
    """

    window: int
    takes: frozenset[Medium] = frozenset()
    tools: bool = True
    reasoning: bool = False
    thinks: bool = False
    o200k: bool = False
    longest: int | None = None
    price: Price | None = None
    effort_with_tools: str = ""
    assumed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedModel:
    """What a server itself says of a model, None where it says nothing. `least`: the window that
    it has where nobody chose one."""

    window: int | None = None
    least: int | None = None
    takes: frozenset[Medium] | None = None
    tools: bool | None = None


_IMAGES: frozenset[Medium] = frozenset({"image"})
_PAGES: frozenset[Medium] = frozenset({"image", "pdf"})
_AUDIO: frozenset[Medium] = frozenset({"audio"})
_K64, _K128, _K131, _K200, _K400 = 65_536, 128_000, 131_072, 200_000, 400_000
_M1 = 1_000_000


def _gpt(window: int, longest: int, *price: float | None, o200k: bool = True) -> ModelFacts:
    """Sees images and files, takes temperature."""
    return ModelFacts(
        window=window, longest=longest, takes=_PAGES, o200k=o200k, price=_price(*price)
    )


def _thinking(window: int, longest: int, *price: float | None, effort: str = "") -> ModelFacts:
    return replace(_gpt(window, longest, *price), reasoning=True, effort_with_tools=effort)


def _claude(window: int, longest: int, *price: float | None, fixed: bool = True) -> ModelFacts:
    """From Opus 4.7 on they refuse temperature and top_p."""
    return ModelFacts(
        window=window, longest=longest, takes=_PAGES, reasoning=fixed, price=_price(*price)
    )


def _open(window: int, longest: int | None, *price: float | None) -> ModelFacts:
    """Of open weights, text only."""
    return ModelFacts(window=window, longest=longest, price=_price(*price))


def _price(*price: float | None) -> Price | None:
    """Input, cached and output in dollars for a million tokens; of nothing, None."""
    if not price:
        return None
    prompt, cached, answer = price
    assert prompt is not None and answer is not None
    return Price(prompt, cached, answer)


# Windows, replies and abilities: https://developers.openai.com/api/docs/models, prices:
# .../api/docs/pricing (standard processing of prompts below 272,000 tokens), read in November
# 2026; what isn't listed there any more stands as it did. Chat completions take tools of GPT-5.4
# and its successors with reasoning_effort "none" only, and of GPT-6 Astra not at all:
# .../api/docs/guides/responses-vs-chat-completions. Of GPT-6's tokenizer nothing is published.
_GPT6 = replace(_thinking(1_050_000, _K128, effort="none"), o200k=False)
_OPENAI = {
    "gpt-3.5-turbo": replace(_gpt(16_385, 4_096, 0.50, None, 1.50, o200k=False), takes=frozenset()),
    "gpt-4": replace(_gpt(8_192, 8_192, 30.0, None, 60.0, o200k=False), takes=frozenset()),
    "gpt-4-turbo": replace(_gpt(_K128, 4_096, 10.0, None, 30.0, o200k=False), takes=_IMAGES),
    "gpt-4o": _gpt(_K128, 16_384, 2.50, 1.25, 10.0),
    "gpt-4o-2024-05-13": _gpt(_K128, 4_096, 5.0, None, 15.0),
    "gpt-4o-audio": replace(_gpt(_K128, 16_384), takes=_AUDIO),
    "gpt-4o-mini": _gpt(_K128, 16_384, 0.15, 0.075, 0.60),
    "gpt-4o-mini-audio": replace(_gpt(_K128, 16_384), takes=_AUDIO),
    "gpt-audio": replace(_gpt(_K128, 16_384), takes=_AUDIO),
    "gpt-4.1": _gpt(1_047_576, 32_768, 2.0, 0.50, 8.0),
    "gpt-4.1-mini": _gpt(1_047_576, 32_768, 0.40, 0.10, 1.60),
    "gpt-4.1-nano": _gpt(1_047_576, 32_768, 0.10, 0.025, 0.40),
    "gpt-5": _thinking(_K400, _K128, 1.25, 0.125, 10.0),
    "gpt-5-chat": _gpt(_K128, 16_384),
    "gpt-5-chat-latest": _gpt(_K128, 16_384, 1.25, 0.125, 10.0),
    "gpt-5-mini": _thinking(_K400, _K128, 0.25, 0.025, 2.0),
    "gpt-5-nano": _thinking(_K400, _K128, 0.05, 0.005, 0.40),
    "gpt-5.1": _thinking(_K400, _K128, 1.25, 0.125, 10.0),
    "gpt-5.2": _thinking(_K400, _K128, 1.75, 0.175, 14.0, effort="none"),
    "gpt-5.4": _thinking(_K400, _K128, 2.50, 0.25, 15.0, effort="none"),
    "gpt-5.4-mini": _thinking(_K400, _K128, 0.75, 0.075, 4.50, effort="none"),
    "gpt-5.4-nano": _thinking(_K400, _K128, 0.20, 0.02, 1.25, effort="none"),
    "gpt-5.5": _thinking(_K400, _K128, 5.0, 0.50, 30.0, effort="none"),
    "gpt-5.6": _thinking(1_050_000, _K128, effort="none"),
    "gpt-5.6-luna": _thinking(1_050_000, _K128, 0.20, 0.02, 1.20, effort="none"),
    "gpt-5.6-sol": _thinking(1_050_000, _K128, 4.0, 0.40, 20.0, effort="none"),
    "gpt-5.6-terra": _thinking(1_050_000, _K128, 2.0, 0.20, 12.0, effort="none"),
    "gpt-6": _GPT6,
    "gpt-6-astra": replace(_GPT6, tools=False, effort_with_tools=""),
    "gpt-6-luna": replace(_GPT6, price=Price(0.10, 0.01, 0.50)),
    "gpt-6-sol": replace(_GPT6, price=Price(2.0, 0.20, 10.0)),
    "gpt-6.1-sol": replace(_GPT6, price=Price(2.0, 0.10, 10.0)),
    "gpt-6.1-terra": replace(_GPT6, price=Price(1.0, 0.05, 5.0)),
    "gpt-6.2-astra": replace(_GPT6, tools=False, effort_with_tools=""),
    "o1": _thinking(_K200, 100_000, 15.0, 7.50, 60.0),
    "o1-mini": replace(_thinking(_K128, 65_536, 1.10, 0.55, 4.40), takes=frozenset(), tools=False),
    "o1-preview": replace(_thinking(_K128, 32_768), takes=frozenset(), tools=False),
    "o3": _thinking(_K200, 100_000, 2.0, 0.50, 8.0),
    "o3-mini": replace(_thinking(_K200, 100_000, 1.10, 0.55, 4.40), takes=frozenset()),
    "o4": _thinking(_K200, 100_000),
    "o4-mini": _thinking(_K200, 100_000, 1.10, 0.275, 4.40),
}
# https://platform.claude.com/docs/en/models/overview, November 2026. Reused input costs a tenth
# with most of them.
# Haiku 5.5 costs five times this for prompts of more than 100,000 tokens. "claude" is what is
# assumed of those that aren't here: the smallest window, and nothing that one might refuse.
_FABLE = _claude(_M1, _K128, 10.0, 1.0, 50.0)
_LATER_FABLE = _claude(_M1, _K128, 10.0, 0.25, 50.0)
_ANTHROPIC = {
    "claude": _claude(_K200, 64_000),
    "claude-fable-5": _FABLE,
    "claude-fable-5-1": _LATER_FABLE,
    "claude-fable-5-2": _LATER_FABLE,
    "claude-haiku-4-5": _claude(_K200, 64_000, 1.0, 0.10, 5.0, fixed=False),
    "claude-haiku-5-5": _claude(_M1, _K128, 0.10, 0.01, 0.50),
    "claude-mythos-5": _FABLE,
    "claude-mythos-5-1": _LATER_FABLE,
    "claude-mythos-5-2": _LATER_FABLE,
    "claude-opus-4-5": _claude(_K200, 64_000, 5.0, 0.50, 25.0, fixed=False),
    "claude-opus-4-6": _claude(_M1, _K128, 5.0, 0.50, 25.0, fixed=False),
    "claude-opus-4-7": _claude(_M1, _K128, 5.0, 0.50, 25.0),
    "claude-opus-4-8": _claude(_M1, _K128, 5.0, 0.50, 25.0),
    "claude-opus-5": _claude(_M1, _K128, 5.0, 0.50, 25.0),
    "claude-opus-5-5": _claude(_M1, _K128, 4.0, 0.20, 20.0),
    "claude-sonnet-4-5": _claude(_K200, 64_000, 3.0, 0.30, 15.0, fixed=False),
    "claude-sonnet-4-6": _claude(_M1, _K128, 3.0, 0.30, 15.0, fixed=False),
    "claude-sonnet-5": _claude(_M1, _K128, 2.0, 0.20, 10.0),
    "claude-sonnet-5-5": _claude(_M1, _K128, 2.0, 0.20, 10.0),
}
# https://ai.google.dev/gemini-api/docs/models, and .../docs/openai for what passes there: images
# and audio; what it takes of files and video only passes Google's own interface.
_GEMINI_TAKES: frozenset[Medium] = frozenset({"image", "audio"})
_GEMINI_ANY = ModelFacts(window=1_048_576, longest=65_536, takes=_GEMINI_TAKES, thinks=True)
_GEMINI = {
    "gemini": _GEMINI_ANY,
    "gemini-3.8-flash": replace(_GEMINI_ANY, price=Price(0.75, None, 3.75)),
}
_GROQ = {
    "llama-3.1-8b-instant": _open(_K131, _K131),
    "llama-3.3-70b-versatile": _open(_K131, 32_768),
    "openai/gpt-oss-120b": replace(_open(_K131, 65_536), thinks=True),
    "openai/gpt-oss-20b": replace(_open(_K131, 65_536), thinks=True),
}
# https://api-docs.deepseek.com/quick_start/pricing: prices change with the hour there.
_DEEPSEEK = {
    "deepseek-flash": replace(_open(_M1, 384_000), takes=_IMAGES, thinks=True),
    "deepseek-v4-flash": replace(_open(_M1, 384_000), thinks=True),
    "deepseek-v4-pro": replace(_open(_M1, 384_000), thinks=True),
}
# The windows of accounts that pay nothing; others have twice as much, which no key tells.
_CEREBRAS = {
    "gpt-oss-120b": replace(_open(_K64, 32_768, 0.35, None, 0.75), thinks=True),
    "qwen-3.8-27b": _open(_K64, 32_768),
}
_TABLE: Mapping[str, Mapping[str, ModelFacts]] = MappingProxyType(
    {
        "openai": _OPENAI,
        "anthropic": _ANTHROPIC,
        "gemini": _GEMINI,
        "groq": _GROQ,
        "deepseek": _DEEPSEEK,
        "cerebras": _CEREBRAS,
    }
)
# Other names that OpenRouter gives to those who made a model.
_MAKERS = {"openai": "openai", "anthropic": "anthropic", "google": "gemini", "deepseek": "deepseek"}
# -2024-07-18 and -20241018
_DATE = re.compile(r"-20\d\d-?[01]\d-?[0-3]\d$", re.ASCII)


# So many models have their facts at hand.
KEPT = 256


def _nothing(server: str, model: str) -> ReportedModel | None:
    return None


@dataclass(frozen=True, slots=True)
class ModelTable:
    """Facts by server and model. `own` are an administrator's, by `server:model`, which win;
    `told` is what the server itself says, which wins over what is known of it in general."""

    own: Mapping[str, ModelFacts] = field(default_factory=dict)
    told: Callable[[str, str], ReportedModel | None] = _nothing
    _known: Callable[[str, str], ModelFacts | None] = field(init=False)

    def __post_init__(self) -> None:
        """A turn asks a dozen times for the same one, at 0.05 ms."""
        object.__setattr__(self, "_known", lru_cache(maxsize=KEPT)(known))

    def facts(self, server: str, model: str) -> ModelFacts | None:
        """None for a model that isn't known: its provider states what it assumes then."""
        if own := self.own.get(f"{server}:{model}"):
            return own
        facts, told = self._known(server, model), self.told(server, model)
        if told is None:
            return facts
        least = told.least or ASSUMED_WINDOW
        facts = facts or ModelFacts(window=least, assumed=True)
        if told.window:
            facts = replace(facts, window=told.window, assumed=False)
        if told.takes is not None:
            facts = replace(facts, takes=told.takes)
        return facts if told.tools is None else replace(facts, tools=told.tools)


def known(server: str, model: str) -> ModelFacts | None:
    """What the table has; of one that OpenRouter passes on, what its maker's page says of it,
    but for the price and what passes besides images."""
    if server == "openrouter":
        maker, _, name = model.partition("/")
        passed = known(_MAKERS.get(maker, ""), name)
        if passed is None:
            return None
        takes = passed.takes & _IMAGES
        return replace(passed, takes=takes, price=None, o200k=False, effort_with_tools="")
    families = _TABLE.get(server, {})
    fitting = [family for family in families if _is_of(model, family)]
    if not fitting:
        return None
    family = max(fitting, key=len)
    facts = families[family]
    return facts if family in (model, _DATE.sub("", model)) else replace(facts, price=None)


def _is_of(name: str, family: str) -> bool:
    """`gpt-4-0613` is of `gpt-4`, `gpt-5.1` of `gpt-5`; `gpt-40` and `o1x` are of nothing."""
    return name.startswith(family) and name[len(family) :][:1] in ("", "-", ".", "@", ":")
