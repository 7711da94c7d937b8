"""Finds the elements for the rules of a mail's own style sheets.

This module cuts a selector at its combinators. Lexbor finds the elements of each part; this module
finds which stands in or behind which, since Lexbor takes exponential time for that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from selectolax.lexbor import LexborNode, SelectolaxError

from chatsite.mail.incoming.html.rules import (
    MOST_ELEMENTS,
    Selector,
    TooMuch,
    Weight,
    is_for_all_screens,
    rules_of,
)
from chatsite.mail.incoming.html.styles import Declarations, Tokens

# Long newsletters have 100 KB of styles, 1,000 selectors and 5,000 elements. What has many times as
# much isn't read at all: the rule that hides might be the last one.
MOST_TOKENS = 100_000
MOST_LOOKED_AT = 20_000_000
MOST_FOUND = 250_000
_TOKEN = re.compile(r"[\w-]+|[^\w\s]")
# Of each property: whether it is important, the number of its rule, and its value.
Ordered = Mapping[str, tuple[bool, int, Tokens]]


@dataclass(slots=True)
class Element:
    """An element with its rules; `before` is the element before it in the same parent."""

    node: LexborNode
    tag: str
    attributes: Mapping[str, str | None]
    parent: Element | None
    before: Element | None = None
    rules: list[tuple[Weight, Ordered]] = field(default_factory=list)


def elements_of(root: LexborNode) -> dict[int, Element]:
    """Lists the elements in their order by the ids of their nodes."""
    found: dict[int, Element] = {}
    last: dict[int, Element] = {}
    for node in root.traverse():
        parent = node.parent
        above = parent.mem_id if parent is not None else 0
        if node.is_element_node and (tag := node.tag):
            one = Element(node, tag, node.attributes, found.get(above), last.get(above))
            found[node.mem_id] = last[above] = one
        if len(found) > 2 * MOST_ELEMENTS:
            raise TooMuch
    return found


def apply_sheets(root: LexborNode, elements: Mapping[int, Element]) -> None:
    """Gives each element its rules."""
    rules: list[tuple[Selector, Declarations]] = []
    texts = {element.attributes.get("style") or "" for element in elements.values()}
    texts |= {element.node.text() for element in elements.values() if element.tag == "style"}
    if sum(len(_TOKEN.findall(text)) for text in texts) > MOST_TOKENS:
        raise TooMuch
    for element in elements.values():
        kind = (element.attributes.get("type") or "text/css").strip().lower()
        media = element.attributes.get("media") or ""
        if element.tag == "style" and kind == "text/css" and is_for_all_screens(media):
            rules += rules_of(element.node.text())
    found: dict[str, list[Element]] = {}
    budget = _Budget(len(elements), _count_most_children(elements))
    for selector, style in _merge_rules(rules).items():
        matched = _find_elements(root, elements, selector, found, budget)
        budget.take(5 * len(matched) * len(style), 0)
        for element in matched:
            element.rules.append((selector.weight, style))


def _merge_rules(
    rules: Iterable[tuple[Selector, Declarations]],
) -> dict[Selector, dict[str, tuple[bool, int, Tokens]]]:
    """Merges the rules that have the same selector."""
    found: dict[Selector, dict[str, tuple[bool, int, Tokens]]] = {}
    for order, (selector, style) in enumerate(rules):
        known = found.setdefault(selector, {})
        for name, (important, tokens) in style.items():
            if important or name not in known or not known[name][0]:
                known[name] = (important, order, tokens)
    return found


# ---- elements ----------------------------------------------------------------------------------
@dataclass(slots=True)
class _Budget:
    elements: int
    widest: int
    looked_at: int = 0
    found: int = 0

    def take(self, looked_at: int, found: int) -> None:
        self.looked_at += looked_at
        self.found += found
        if self.looked_at > MOST_LOOKED_AT or self.found > MOST_FOUND:
            raise TooMuch


def _count_most_children(elements: Mapping[int, Element]) -> int:
    """Counts the children of the element that has the most."""
    counts = Counter(id(element.parent) for element in elements.values())
    return max(counts.values(), default=0)


def _find_elements(
    root: LexborNode,
    elements: Mapping[int, Element],
    selector: Selector,
    found: dict[str, list[Element]],
    budget: _Budget,
) -> list[Element]:
    matched: list[Element] = []
    for at, part in enumerate(selector.parts):
        if part not in found:
            # Lexbor counts the elements before each one.
            nth = budget.widest // 10 + 1 if "nth" in part or "-of-type" in part else 1
            budget.take(budget.elements * nth + len(part), 0)
            try:
                ids = [node.mem_id for node in root.css(part)]
            except SelectolaxError:
                ids = []
            found[part] = [elements[one] for one in ids if one in elements]
            budget.take(0, len(found[part]))
        here = found[part]
        if at and here:
            budget.take(20 * (len(here) + len(matched)), 0)
            here = _filter_joined(
                here, {id(one) for one in matched}, selector.combinators[at - 1], budget
            )
        matched = here
        if not matched:
            return []
    return matched


def _filter_joined(
    here: list[Element], above: set[int], combinator: str, budget: _Budget
) -> list[Element]:
    """Lists those of `here` that the combinator joins to one of `above`."""
    step: Callable[[Element], Element | None]
    step = (lambda one: one.parent) if combinator in " >" else (lambda one: one.before)
    if combinator in ">+":
        return [one for one in here if id(step(one)) in above]
    known: dict[int, bool] = {}
    for one in here:
        way, at = [], step(one)
        while at is not None and id(at) not in known and id(at) not in above:
            way.append(id(at))
            at = step(at)
        is_there = at is not None and (id(at) in above or known[id(at)])
        known |= dict.fromkeys(way, is_there)
        known[id(one)] = is_there
    budget.take(len(known), 0)
    return [one for one in here if known[id(one)]]
