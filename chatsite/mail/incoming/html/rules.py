"""Reads a style sheet as selectors with their declarations.

A rule counts if it is for every screen: what one screen hides, another shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tinycss2

from chatsite.mail.incoming.html.styles import Declarations, Tokens, declarations

DEEPEST = 10
# Hovering, for instance: never so while a mail is only read. Lexbor knows the last of these alone.
_NEVER = re.compile(
    r":(?:visited|target|focus-within|focus-visible|user-invalid|user-valid|autofill|fullscreen"
    r"|modal|popover-open|hover)(?![\w-])",
    re.IGNORECASE,
)
_WIDTH = re.compile(r"\(\s*(min|max)-(?:device-)?width\s*:\s*([\d.]+)(px|em|rem)\s*\)")
_OF_ALL = re.compile(r"\(\s*min-[\w-]+\s*:\s*0[a-z]*\s*\)|\(\s*-webkit-min-[\w-]+\s*:\s*0\s*\)")
# Of a phone and of a wide screen, in pixels.
_NARROW, _WIDE = 320.0, 2560.0

Weight = tuple[int, int, int]


class TooMuch(Exception):
    """The styles of a mail are more than anybody writes."""


@dataclass(frozen=True, slots=True)
class Selector:
    """A selector as its parts, and the signs of CSS between them: one sign less than parts."""

    parts: tuple[str, ...]
    combinators: tuple[str, ...]
    weight: Weight


def is_for_all_screens(query: str) -> bool:
    """Tells whether a media query matches a phone as well as a wide screen."""
    return not query.strip() or any(map(_is_query_for_all, query.lower().split(",")))


def _is_query_for_all(query: str) -> bool:
    for part in re.split(r"\band\b", query):
        part = re.sub(r"^only\s+", "", part.strip())
        if width := _WIDTH.fullmatch(part):
            value = float(width[2]) * (1 if width[3] == "px" else 16)
            if value > _NARROW if width[1] == "min" else value < _WIDE:
                return False
        elif part not in ("all", "screen", "not print") and not _OF_ALL.fullmatch(part):
            return False
    return True


# ---- rules -------------------------------------------------------------------------------------
def rules_of(sheet: str) -> Iterator[tuple[Selector, Declarations]]:
    parsed = tinycss2.parse_stylesheet(sheet, skip_comments=True, skip_whitespace=True)
    yield from _read_rules(parsed, (), 0)


def _read_rules(
    parsed: Iterable[Any], above: Tokens, depth: int
) -> Iterator[tuple[Selector, Declarations]]:
    """Reads rules and the rules in them; `above` is the selector of the rule around them."""
    for rule in parsed if depth < DEEPEST else ():
        if rule.type == "at-rule" and rule.content is not None:
            query = tinycss2.serialize(rule.prelude).strip().lower()
            media = rule.lower_at_keyword == "media" and is_for_all_screens(query)
            supports = rule.lower_at_keyword == "supports" and not query.startswith("not")
            if media or supports or rule.lower_at_keyword == "layer":
                parse = tinycss2.parse_blocks_contents if above else tinycss2.parse_rule_list
                inner = parse(rule.content, skip_comments=True)
                yield from _read_rules(inner, above, depth + 1)
                yield from _read_style(inner, above) if above else ()
        elif rule.type == "qualified-rule":
            prelude = _combine(rule.prelude, above)
            inner = tinycss2.parse_blocks_contents(rule.content, skip_comments=True)
            yield from _read_style(inner, prelude)
            yield from _read_rules(inner, prelude, depth + 1)


def _read_style(parsed: Iterable[Any], prelude: Tokens) -> Iterator[tuple[Selector, Declarations]]:
    if style := declarations(parsed):
        for tokens in _split(prelude):
            if selector := _selector(tokens):
                yield selector, style


def _combine(prelude: Tokens, above: Tokens) -> Tokens:
    """Combines the selector of a nested rule with the outer one, and replaces `&`."""
    if not above:
        return prelude
    if len(above) + len(prelude) > 1_000:
        raise TooMuch
    parents = _split(above)
    found: list[Any] = []
    for tokens in _split(prelude):
        for parent in parents:
            at = [i for i, token in enumerate(tokens) if token == "&"]
            joined = [*parent, _SPACE, *tokens]
            if at:
                joined = [*tokens[: at[0]], *parent, *tokens[at[0] + 1 :]]
            found += [_COMMA, *joined] if found else joined
    return found


_SPACE, _COMMA = tinycss2.parse_component_value_list(" ,")


def _split(tokens: Tokens) -> list[list[Any]]:
    found: list[list[Any]] = [[]]
    for token in tokens:
        if token == ",":
            found.append([])
        else:
            found[-1].append(token)
    return found


def _selector(tokens: Sequence[Any]) -> Selector | None:
    """Reads a selector; None stands for a broken one, and for one that takes too long to match."""
    parts: list[list[Any]] = [[]]
    combinators: list[str] = []
    for token in tokens:
        sign = " " if token.type == "whitespace" else token.value if token.type == "literal" else ""
        if token.type == "comment" or (sign in ("<!--", "-->") and not parts[-1]):
            continue
        if sign not in (" ", ">", "+", "~"):
            parts[-1].append(token)
        elif parts[-1]:
            combinators.append(sign)
            parts.append([])
        elif combinators and sign != " ":
            combinators[-1] = sign
    if not parts[-1] and combinators:
        parts.pop()
        combinators.pop()
    if not all(parts) or any(map(_is_slow, sum(parts, []))):
        return None
    texts = tuple(_NEVER.sub(":hover", tinycss2.serialize(part)) for part in parts)
    return Selector(texts, tuple(combinators), _weight(sum(parts, [])))


def _is_slow(token: Any) -> bool:
    if token.type != "function":
        return False
    if token.lower_name.startswith(("has", "lexbor")):
        return True
    # A selector in a selector may have no combinators.
    text = tinycss2.serialize(token.arguments).strip()
    return token.lower_name[:3] != "nth" and bool(re.search(r"[^,\s]\s+[^,\s]|[>+~]", text))


def _weight(tokens: Iterable[Any]) -> Weight:
    """Counts how specific a selector is, as CSS does."""
    ids = classes = types = 0
    previous = ""
    for token in tokens:
        if token.type == "hash":
            ids += 1
        elif token.type == "[] block" or token in (".", ":"):
            classes += previous != ":"
        elif token.type == "ident" and previous not in (".", ":"):
            types += 1
        elif token.type == "function" and token.lower_name in ("not", "is"):
            inner = max(map(_weight, _split(token.arguments)))
            ids, classes, types = ids + inner[0], classes - 1 + inner[1], types + inner[2]
        previous = token.value if token.type == "literal" else ""
    return ids, classes, types
