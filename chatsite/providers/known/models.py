"""What is known of models beforehand: window, abilities, price. An administrator can add to it.

The facts are data, in models.toml: the format and the sources are described there. A model that it
doesn't list works too, with assumed facts.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import cast, get_args

from chatsite.checked_file import Node
from chatsite.history.receipts.cache_miss import CacheRules
from chatsite.providers.base.provider import CACHE_STEP, Medium, Price
from chatsite.providers.known.servers import BUILT_IN

_MOST_TOKENS = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """`window` in tokens, reply included; `assumed`: nobody states it. `takes` besides text.

    A `reasoning` model thinks, and refuses temperature and top_p; a model that only `thinks`
    unasked takes both. `o200k`: its tokens are counted with that tokenizer. `longest`: tokens of
    the longest reply, None where that isn't known. `effort_with_tools`: the only
    `reasoning_effort` that is accepted together with tools, "" where any is. The beginning of a
    prompt of `least_cached` tokens is kept for the minutes `kept`, see `CacheRules`.
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
    least_cached: int = 0
    kept: tuple[int, int] | None = None
    assumed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedModel:
    """What a server itself reports of a model, None where it reports nothing. `least`: the window
    that the model has where nobody chose one."""

    window: int | None = None
    least: int | None = None
    takes: frozenset[Medium] | None = None
    tools: bool | None = None


def read_facts(given: Node, base: ModelFacts) -> ModelFacts:
    """Return the facts of `base`, replaced by those that the object `given` states. Raises
    BadFile."""
    return replace(
        base,
        window=given.optional("window", _tokens, base.window),
        longest=given.optional("longest", _tokens, base.longest),
        tools=given.optional("tools", Node.flag, base.tools),
        reasoning=given.optional("reasoning", Node.flag, base.reasoning),
        takes=given.optional("takes", _media, base.takes),
        price=given.optional("price", _price, base.price),
        thinks=given.optional("thinks", Node.flag, base.thinks),
        o200k=given.optional("o200k", Node.flag, base.o200k),
        effort_with_tools=given.optional("effort_with_tools", Node.text, base.effort_with_tools),
        least_cached=given.optional("least_cached", _tokens, base.least_cached),
        kept=given.optional(
            "kept", lambda of: (_tokens(of["surely"]), _tokens(of["longest"])), base.kept
        ),
    )


def require_known(given: Node, allowed: Sequence[str]) -> None:
    for key, _ in given.unknown(allowed):
        raise given.error(f"has {key!r}, which isn't known; allowed are {', '.join(allowed)}")


def _tokens(node: Node) -> int:
    return node.whole(1, _MOST_TOKENS)


def _media(given: Node) -> frozenset[Medium]:
    return frozenset(cast(Medium, node.one_of(get_args(Medium))) for node in given.list_of("texts"))


def _price(given: Node) -> Price:
    """Dollars for a million tokens."""
    require_known(given, tuple(each.name for each in fields(Price)))
    for key in ("input", "output"):
        if given[key].value is None:
            raise given.error(f"needs {key}, in dollars for a million tokens")
    return Price(
        _dollars(given["input"]),
        given.optional("cached", _dollars, None),
        _dollars(given["output"]),
    )


def _dollars(node: Node) -> float:
    return node.number(0, 1_000_000)


# For a server that doesn't report its window: small, since more might be cut off silently.
ASSUMED_WINDOW = 8192
_FILE = Path(__file__).with_name("models.toml")
_IMAGES: frozenset[Medium] = frozenset({"image"})
_KEYS = tuple(each.name for each in fields(ModelFacts) if each.name != "assumed")


def read_table(text: str) -> dict[str, dict[str, ModelFacts]]:
    """Facts by server and by a model's name, from the text of models.toml.

    Raises BadFile with the dotted place of what isn't part of the format.
    """
    table: dict[str, dict[str, ModelFacts]] = {}
    for group in Node(tomllib.loads(text))["groups"].list_of("groups"):
        require_known(group, ("server", "pages", "models", *_KEYS))
        if not group["pages"].texts():
            raise group.error("needs the pages that its facts are taken from")
        shared = read_facts(group, ModelFacts(window=0))
        server = table.setdefault(group["server"].text(), {})
        for name, line in group["models"].items():
            require_known(line, _KEYS)
            if name in server:
                raise line.error("is listed twice")
            server[name] = read_facts(line, shared)
            if not server[name].window:
                raise line.error("needs a window in tokens")
    return table


@cache
def _table() -> dict[str, dict[str, ModelFacts]]:
    return read_table(_FILE.read_text(encoding="utf-8"))


# The makers of models by the names that OpenRouter gives them.
_MAKERS = {"openai": "openai", "anthropic": "anthropic", "google": "gemini", "deepseek": "deepseek"}
# -2024-07-18 and -20241018
_DATE = re.compile(r"-20\d\d-?[01]\d-?[0-3]\d$", re.ASCII)

# A turn asks a dozen times for the same model's facts, at 0.05 ms each.
CACHED_MODELS = 256


@dataclass(frozen=True, slots=True)
class ModelTable:
    """Facts by server and model: an administrator's `own` (by `server:model`) first, then what the
    server itself has `reported`, then what is known beforehand."""

    own: Mapping[str, ModelFacts] = field(default_factory=dict)
    reported: Callable[[str, str], ReportedModel | None] = lambda server, model: None

    def facts(self, server: str, model: str) -> ModelFacts | None:
        """None for an unknown model: its provider then states what it assumes."""
        if own := self.own.get(f"{server}:{model}"):
            return own
        reported = self.reported(server, model)
        return known_facts(server, model) if reported is None else _known(server, model, reported)

    def cache_rules(self, server: str, model: str, *, pays_writes: bool) -> CacheRules:
        """`pays_writes`: the server counts what it writes into its cache."""
        facts = self.facts(server, model) or ModelFacts(window=0)
        return CacheRules(
            least=facts.least_cached,
            step=CACHE_STEP if server == "openai" else 1,
            kept=(60 * facts.kept[0], 60 * facts.kept[1]) if facts.kept else None,
            local=server in BUILT_IN,
            premium=facts.price.premium(written=pays_writes) if facts.price else None,
        )


def claude_name(model: str) -> str:
    """Anthropic's own name of the model, "" for another maker's: proxies add a prefix
    (`us.anthropic.claude-opus-5-5`) and write versions with a dot."""
    place = model.find("claude")
    return model[place:].replace(".", "-") if place >= 0 else ""


@lru_cache(maxsize=CACHED_MODELS)  # a turn asks ten times
def _known(server: str, model: str, reported: ReportedModel) -> ModelFacts:
    """The facts, with what its server reported before them."""
    least = reported.least or ASSUMED_WINDOW
    facts = known_facts(server, model) or _of_its_maker(model)
    facts = facts or ModelFacts(window=least, assumed=True)
    if reported.window:
        facts = replace(facts, window=reported.window, assumed=False)
    if reported.takes is not None:
        facts = replace(facts, takes=reported.takes)
    return facts if reported.tools is None else replace(facts, tools=reported.tools)


@lru_cache(maxsize=CACHED_MODELS)
def known_facts(server: str, model: str) -> ModelFacts | None:
    """Return the facts in models.toml. A model behind OpenRouter has the facts that its maker
    states, but for the price, and takes images at most."""
    if server == "openrouter":
        maker, _, name = model.partition("/")
        return _passed_on(known_facts(_MAKERS.get(maker, ""), name))
    if server == "anthropic":
        model = claude_name(model)
    families = _table().get(server, {})
    fitting = [family for family in families if _is_of(model, family)]
    if not fitting:
        return None
    family = max(fitting, key=len)
    facts = families[family]
    return facts if family in (model, _DATE.sub("", model)) else replace(facts, price=None)


def _of_its_maker(model: str) -> ModelFacts | None:
    """A gateway names every model that it lists with its maker, as OpenRouter does."""
    maker, _, name = model.rpartition("/")
    return _passed_on(known_facts(_MAKERS.get(maker, ""), name))


def _passed_on(facts: ModelFacts | None) -> ModelFacts | None:
    """What is left of the maker's facts where somebody else passes the requests on."""
    if facts is None:
        return None
    takes = facts.takes & _IMAGES
    return replace(facts, takes=takes, price=None, o200k=False, effort_with_tools="")


def _is_of(name: str, family: str) -> bool:
    """`gpt-4-0613` is of `gpt-4`, `gpt-5.1` of `gpt-5`; `gpt-40` and `o1x` are of nothing."""
    return name.startswith(family) and name[len(family) :][:1] in ("", "-", ".", "@", ":")
