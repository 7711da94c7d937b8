"""Exact values of a text, found without a model: a few stand in the line for a result that gave
way, and they tell what a summary lost."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from math import log2
from typing import Literal, NamedTuple

from chatsite.history.lexical.best_lines import BEFORE, best_line, in_lines, lines_around
from chatsite.history.lexical.words import STOP
from chatsite.history.token_estimate import estimate
from chatsite.messages import repair_text

AnchorKind = Literal["path", "identifier", "number", "date", "name"]


class Anchor(NamedTuple):
    """An exact value; `text` is as it was written."""

    kind: AnchorKind
    text: str


_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|"
    r"Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
# No quantifier without a bound gives back what it took: hostile text takes no longer.
_TOKEN = re.compile(
    rf"""
    (?=[\w~/\\.@\#+-]) (?:
      (?P<date> (?=[\dJFMASOND]) (?:
          \d{{4}}-\d\d-\d\d (?:T\d\d:\d\d[\d:.]*+(?:Z|[+-]\d\d:?\d\d)?)? (?!\w)
        | \d{{1,2}}[./]\d{{1,2}}[./]\d{{4}} (?!\w)
        | \d{{1,2}}:\d\d(?::\d\d(?:[.,]\d++)?)? (?!\w)
        | {_DAY}\.?[ ]{_MONTH}\b(?:[ ]\d{{4}}\b)?
        | {_MONTH}\.?[ ]{{1,2}}(?:\d{{4}}|{_DAY}(?:,?[ ]\d{{4}})?)\b ))
    | (?P<number> (?<!,)\d{{1,3}}(?:,\d{{3}})++(?:\.\d++)? (?!\w|,\d) )
    | [a-z]++(?=[ "\n,=)])
    | (?P<path> [a-zA-Z][\w+.-]*+://[^\s"'`<>()\[\]{{}}]*+ | [A-Za-z]:\\[^\s"'`<>()|]++ )
    | (?P<word> [\w~/\\.@\#+-]++ (?:['\u2019][^\W\d_]{{2,}}+)? ) )
    """,
    re.VERBOSE,
)
_HUMP = re.compile(r"[^\W\d_A-Z][A-Z]")
_FILE = re.compile(r"[\w-]{2,}\.[a-z][a-z0-9]{0,4}")
_NUMBER = re.compile(r"[\d.+/-]+|\d[\d.]*[^\W\d_]{1,3}")
_INSIDE = dict.fromkeys(map(ord, "-'\u2019"))


def find_anchors(text: str) -> dict[Anchor, int]:
    """Each exact value, in the order in which they come, with the place of the first one. 120 us
    for 1,000 characters.

    - paths: addresses, names of files, and what has slashes and looks like a path
    - identifiers: words with digits, underscores or capitals inside; mail addresses; dotted names
    - dates and times in figures, or with an English month
    - numbers of two digits or more, with a unit that is written to them
    - names: capitalised words in a row; one alone only where no sentence begins with it
    """
    found: dict[Anchor, int] = {}
    for kind, start, end in _spans(text):
        found.setdefault(Anchor(kind, text[start:end]), start)
    return found


def lost_anchors(text: str, draft: str) -> dict[Anchor, int]:
    """The exact values of `text` that don't stand in `draft`, a summary of it, in the order in
    which they come, each with the place of the first one."""
    kept, words = find_anchors(draft), set(re.findall(r"\w+", draft))
    return {
        anchor: place
        for anchor, place in find_anchors(text).items()
        if anchor not in kept and (anchor.kind != "name" or anchor.text not in words)
    }


def _spans(text: str) -> Iterator[tuple[AnchorKind, int, int]]:
    """Kind, beginning and end of each; neighbouring words of a name are one."""
    known: dict[str, AnchorKind | None] = {}
    name: tuple[int, int] | None = None
    for found in _TOKEN.finditer(text):
        kind, start, end = found.lastgroup, *found.span()
        if kind == "path":
            end = start + len(found[0].rstrip(".,;:!?"))
        elif kind == "word":
            word = found[0].rstrip(".+-/\\")
            end = start + len(word)
            start = end - len(word := word.lstrip("+-"))
            kind = known[word] = known[word] if word in known else _kind(word)
        if name and kind == "name" and text[name[1] : start] == " ":
            name = name[0], end
        else:
            if name:
                yield from _name(text, *name)
            name = (start, end) if kind == "name" else None
            if kind and not name:
                yield kind, start, end  # type: ignore[misc]
    if name:
        yield from _name(text, *name)


def _kind(word: str) -> AnchorKind | None:
    """None for a word like any other."""
    if not word or (word.isalpha() and word.islower()):
        return None
    humps = _HUMP.search(word) is not None
    if word[0].isupper() and word[-1].islower() and word.translate(_INSIDE).isalpha() and not humps:
        return "name"
    if "/" in word or "\\" in word:
        # Between words a slash is often none of a path: "and/or".
        path = word[0] in "/~" or word.count("/") > 1 or re.search(r"[\d._\\]", word)
        return "path" if path and any(map(str.isalnum, word)) else None
    digits = sum(map(str.isdigit, word))
    if digits and _NUMBER.fullmatch(word):
        return "number" if digits > 1 else None
    marked = "@" in word[1:-1] or "_" in word.strip("_") or word.count(".") > 1 or humps
    if marked or (digits and len(word) > 2):
        return "identifier"
    return "path" if _FILE.fullmatch(word) else None


def _name(text: str, start: int, end: int) -> Iterator[tuple[AnchorKind, int, int]]:
    """The name without "The" and the like before it; none where a sentence merely begins."""
    words = text[start:end].split(" ")
    while words and words[0].lower() in STOP:
        start += len(words.pop(0)) + 1
    before = start
    while before and text[before - 1] in " \t":
        before -= 1
    if len(words) > 1 or (words and before and text[before - 1] not in ".!?\n\u2026*#-"):
        yield "name", start, end


# ---- the few that stand in the line for a result -------------------------------------------------
# Tokens by estimate, characters of the result for each of them, and characters of a value. 26 have
# half of the values that are asked for later; 60 have 15 % of them more, for which requests hold
# 7 % less talk (docs/benchmarks.md).
MOST_TOKENS, FOR_EACH, LONGEST = 26, 16, 70
# In lines: so much further from what was asked for is a value of these kinds, one that is there
# twice as often, and each line above, which is often of something else.
_FURTHER: Mapping[AnchorKind, float] = {"number": 1.0, "date": 1.5, "name": 2.0}
_AGAIN, _ABOVE = 1.5, 1.5
_KEY = re.compile(r"([^\W\d][\w.-]{0,23})[\"'`]?\s?[:=]\s?[\"'`]?$")
_IS_KEY = re.compile(r"[\"'`]? ?[:=]")


def telling_values(result: str, question: str) -> str:
    """The values of a tool's result that are most likely asked for later, in their order and with
    their keys: "size: 4096; id: 3f2a". "" where there is none.

    They are near the line that shares most with the `question` for which the tool was called, and
    don't stand in that. Takes 0.3 ms for 4 kB.
    """
    text = in_lines(result)
    lines, best = best_line(text, question)
    if not lines:
        return ""
    around, best = lines_around(lines, best), min(best, BEFORE)
    begin, end = around[0][0], around[-1][1]
    passage, starts = text[begin:end], [start - begin for start, _ in around]
    values = list(_whole_values(passage))
    number = Counter(passage[start:end] for _, start, end in values)

    def distance(found: tuple[AnchorKind, int, int]) -> float:
        kind, start, end = found
        away = bisect_right(starts, start) - 1 - best
        again = _AGAIN * log2(number[passage[start:end]])
        return max(away, -away * _ABOVE) + _FURTHER.get(kind, 0) + again

    said: dict[str, int] = {}
    left, asked = min(MOST_TOKENS, len(text) // FOR_EACH), question.lower()
    for _, start, end in sorted(values, key=distance):
        key = _KEY.search(passage[max(0, start - 30) : start])
        value = f"{key[1]}: {passage[start:end]}" if key else passage[start:end]
        cost = estimate(f"; {value}")
        if cost <= left and value not in said and passage[start:end].lower() not in asked:
            said[value], left = start, left - cost
    return repair_text("; ".join(sorted(said, key=said.__getitem__)))


def _whole_values(text: str) -> Iterator[tuple[AnchorKind, int, int]]:
    """Without keys and what is too long; what a colon joins is one: a file and its line."""
    found: list[tuple[AnchorKind, int, int]] = []
    for kind, start, end in _spans(text):
        if found and start == found[-1][2] + 1 and text[start - 1] == ":":
            kind, start, _ = found.pop()
        found.append((kind, start, end))
    for kind, start, end in found:
        is_key = kind in ("identifier", "name") and _IS_KEY.match(text, end)
        if end - start <= LONGEST and not is_key:
            yield kind, start, end


# ---- what a summary lost -------------------------------------------------------------------------
_LOST, LOST_TOKENS = "Exact values that this leaves out, with their messages' numbers: ", 120


def lost_line(lost: object) -> str:
    """What a summary's report has as `lost`, pairs of a value and its message's sequence number, as
    a line of `LOST_TOKENS` tokens at most; "" for none."""
    said, left = [], LOST_TOKENS - estimate(_LOST)
    for value, seq in lost if isinstance(lost, list) else ():
        left -= estimate(one := f"{value} ({seq})") + 1
        if left < 0:
            break
        said.append(one)
    return _LOST + "; ".join(said) if said else ""
