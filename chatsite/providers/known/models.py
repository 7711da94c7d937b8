"""What is known of models beforehand: window, abilities, price. An administrator can add to it.

The facts are data, in models.toml: the format and the sources are described there. A model that it
doesn't list works too, with assumed facts.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, get_args

from chatsite.providers.base.model import Medium, Price

# For a server that doesn't report its window: small, since more might be cut off silently.
ASSUMED_WINDOW = 8192
_FILE = Path(__file__).with_name("models.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """`window` in tokens, reply included; `assumed`: nobody states it. `takes` besides text.

    A `reasoning` model thinks, and refuses temperature and top_p; a model that only `thinks`
    unasked takes both. `o200k`: its tokens are counted with that tokenizer. `longest`: tokens of
    the longest reply, None where that isn't known. `effort_with_tools`: the only
    `reasoning_effort` that is accepted together with tools, "" where any is.
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
    """What a server itself reports of a model, None where it reports nothing. `least`: the window
    that the model has where nobody chose one."""

    window: int | None = None
    least: int | None = None
    takes: frozenset[Medium] | None = None
    tools: bool | None = None


_IMAGES: frozenset[Medium] = frozenset({"image"})


def read_table(text: str) -> dict[str, dict[str, ModelFacts]]:
    """Facts by server and by a model's name, from the text of models.toml.

    Raises ValueError for anything that isn't part of the format, with the server and the model.
    """
    table: dict[str, dict[str, ModelFacts]] = {}
    for group in tomllib.loads(text)["groups"]:
        server, models = group.pop("server"), group.pop("models")
        if not group.pop("pages"):
            raise ValueError(f"models.toml, {server}: a group needs the pages its facts come from")
        for name, own in models.items():
            if name in table.setdefault(server, {}):
                raise ValueError(f"models.toml, {server}: {name} is listed twice")
            try:
                table[server][name] = _read_facts(group | own)
            except (TypeError, ValueError) as error:
                raise ValueError(f"models.toml, {server}, {name}: {error}") from None
    return table


def _read_facts(row: dict[str, Any]) -> ModelFacts:
    takes, price = row.pop("takes", []), row.pop("price", None)
    if unknown := set(takes) - set(get_args(Medium)):
        raise ValueError(f"takes can't be {', '.join(sorted(unknown))}")
    facts = ModelFacts(
        **row,
        takes=frozenset(takes),
        price=Price(**{"cached": None, **price}) if price else None,
    )
    for each in fields(ModelFacts):
        value = getattr(facts, each.name)
        if type(value) not in _TYPES.get(each.name, (type(value),)):
            raise TypeError(f"{each.name} can't be {value!r}")
    return facts


# By exact type: True would pass for a number otherwise.
_TYPES: Mapping[str, tuple[type, ...]] = {
    "window": (int,),
    "longest": (int, type(None)),
    "tools": (bool,),
    "reasoning": (bool,),
    "thinks": (bool,),
    "o200k": (bool,),
    "effort_with_tools": (str,),
}


@cache
def _table() -> dict[str, dict[str, ModelFacts]]:
    return read_table(_FILE.read_text(encoding="utf-8"))


# The makers of models by the names that OpenRouter gives them.
_MAKERS = {"openai": "openai", "anthropic": "anthropic", "google": "gemini", "deepseek": "deepseek"}
# -2024-07-18 and -20241018
_DATE = re.compile(r"-20\d\d-?[01]\d-?[0-3]\d$", re.ASCII)

# A turn asks a dozen times for the same model's facts, at 0.05 ms each.
CACHED_MODELS = 256


def _no_report(server: str, model: str) -> ReportedModel | None:
    return None


@dataclass(frozen=True, slots=True)
class ModelTable:
    """Facts by server and model: an administrator's `own` (by `server:model`) first, then what the
    server itself has `reported`, then what is known beforehand."""

    own: Mapping[str, ModelFacts] = field(default_factory=dict)
    reported: Callable[[str, str], ReportedModel | None] = _no_report
    _known: Callable[[str, str], ModelFacts | None] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", lru_cache(maxsize=CACHED_MODELS)(known_facts))

    def facts(self, server: str, model: str) -> ModelFacts | None:
        """None for an unknown model: its provider then states what it assumes."""
        if own := self.own.get(f"{server}:{model}"):
            return own
        facts, reported = self._known(server, model), self.reported(server, model)
        if reported is None:
            return facts
        least = reported.least or ASSUMED_WINDOW
        facts = facts or ModelFacts(window=least, assumed=True)
        if reported.window:
            facts = replace(facts, window=reported.window, assumed=False)
        if reported.takes is not None:
            facts = replace(facts, takes=reported.takes)
        return facts if reported.tools is None else replace(facts, tools=reported.tools)


def known_facts(server: str, model: str) -> ModelFacts | None:
    """The facts in models.toml. A model behind OpenRouter has the facts that its maker states, but
    for the price, and takes images at most."""
    if server == "openrouter":
        maker, _, name = model.partition("/")
        passed = known_facts(_MAKERS.get(maker, ""), name)
        if passed is None:
            return None
        takes = passed.takes & _IMAGES
        return replace(passed, takes=takes, price=None, o200k=False, effort_with_tools="")
    families = _table().get(server, {})
    fitting = [family for family in families if _is_of(model, family)]
    if not fitting:
        return None
    family = max(fitting, key=len)
    facts = families[family]
    return facts if family in (model, _DATE.sub("", model)) else replace(facts, price=None)


def _is_of(name: str, family: str) -> bool:
    """`gpt-4-0613` is of `gpt-4`, `gpt-5.1` of `gpt-5`; `gpt-40` and `o1x` are of nothing."""
    return name.startswith(family) and name[len(family) :][:1] in ("", "-", ".", "@", ":")
