"""Reads a style sheet as selectors with their declarations, and counts what a parser would cost.

Browsers' parsers take quadratic time for elements nested deeply and for an element with very many
attributes: a megabyte of `<div>` takes Lexbor minutes. This module counts a parser's steps. If it
can't know, it counts too many; no mail that people write comes near the limit.

A rule counts if it is for every screen: what one screen hides, another shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tinycss2

from chatsite.mail.incoming.html.styles import Declarations, Tokens, declarations

# Steps of 10 ns or so. Long newsletters take a million.
MOST_STEPS = 40_000_000
# The text has at most this many; a parser adds some. Long newsletters have 5,000.
MOST_ELEMENTS = 60_000
_ATTRIBUTE = (
    r"(?:[\s/]++|=?[^\s/>=]++(?:\s*+=\s*+"
    r"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s>"'][^\s>]*+)?)?|=)"""
)
_TOKEN = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))|<[!?][^>]*+"
    rf"|<(?P<end>/?)(?P<name>[a-z][^\s/>]*+)(?P<inner>{_ATTRIBUTE}*+)",
    re.IGNORECASE | re.DOTALL,
)
_ONE_ATTRIBUTE = re.compile(_ATTRIBUTE)
_START = re.compile(r"<[a-z]", re.IGNORECASE)
_RAW = ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
_VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr frame".split()
)
# An end of one of the first ends those of the second that are open in it.
_BLOCKS = frozenset(
    "address article aside blockquote center div dl fieldset footer form header li main nav ol"
    " section table tbody td tfoot th thead tr ul".split()
)
_IMPLIED = frozenset("dd dt li optgroup option p tbody td tfoot th thead tr".split())


def is_too_costly(html: str) -> bool:
    steps = elements = of_body = at = 0
    opened: list[str] = []
    while found := _TOKEN.search(html, at):
        at = found.end()
        steps += len(opened) + 1
        if found["name"] is None:
            continue
        name = found["name"].lower()
        if len(found["inner"]) > 1_000 or name in ("html", "body"):
            count = len(_ONE_ATTRIBUTE.findall(found["inner"]))
            # All go to the same element.
            of_body += count if name in ("html", "body") else 0
            steps += count * max(count, of_body)
        if found["end"]:
            _close(opened, name, _BLOCKS)
        elif name not in _VOID:
            if name in _IMPLIED:
                _close(opened, name, _IMPLIED)
            opened.append(name)
        if name in _RAW and not found["end"]:
            at = _after_raw(html, at, name, opened)
        elements += not found["end"]
        if steps > MOST_STEPS or elements > MOST_ELEMENTS:
            return True
    return False


def _close(opened: list[str], name: str, closing: frozenset[str]) -> None:
    """Closes an element if a parser surely does."""
    last = len(opened) - 1
    if name in closing:
        while last >= 0 and opened[last] != name and opened[last] in _IMPLIED:
            last -= 1
    if last >= 0 and opened[last] == name:
        del opened[last:]


def _after_raw(html: str, at: int, name: str, opened: list[str]) -> int:
    """Finds the end of an element that holds only text. In a drawing it may hold elements: these
    count as open."""
    found = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(html, at)
    end = found.start() if found else len(html)
    opened[-1:-1] = ["?"] * len(_START.findall(html, at, end))
    return end if found else at


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
