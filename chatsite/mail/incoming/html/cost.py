"""Estimates how long a parser of HTML takes for a text, before the parser runs.

Browsers' parsers take quadratic time for elements nested deeply and for an element with very many
attributes: a megabyte of `<div>` takes Lexbor minutes. This module counts a parser's steps. If it
can't know, it counts too many; no mail that people write comes near the limit.
"""

from __future__ import annotations

import re

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
