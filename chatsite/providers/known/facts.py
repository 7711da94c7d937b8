"""Facts of a model: as a server reports them, and as a line of a file states them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import cast, get_args

from chatsite.checked_file import Node
from chatsite.providers.base.model import Medium, Price

_MOST_TOKENS = 100_000_000


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


def read_facts(given: Node, base: ModelFacts) -> ModelFacts:
    """The facts of `base`, replaced by those that the object `given` states. Raises BadFile."""
    return replace(
        base,
        window=given.optional("window", _tokens, base.window),
        longest=given.optional("longest", _tokens, base.longest),
        tools=given.optional("tools", Node.flag, base.tools),
        reasoning=given.optional("reasoning", Node.flag, base.reasoning),
        takes=given.optional("takes", _media, base.takes),
        price=given.optional("price", _price, base.price),
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
