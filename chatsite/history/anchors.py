"""Exact values of a text, found without a model: they stand in for messages that aren't sent, and
tell which values a summary lost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import log2
from typing import Literal, NamedTuple

from chatsite.history.lexical.words import STOP
from chatsite.history.token_estimate import estimate

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
# From token to token: no quantifier of unbounded length gives back what it took, so that hostile
# text takes no longer than other text.
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
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
_INSIDE = dict.fromkeys(map(ord, "-'\u2019"))


def find_anchors(text: str) -> tuple[Anchor, ...]:
    """Each exact value once, in the order in which they come. 120 us for 1,000 characters.

    - paths: addresses, names of files, and what has slashes and looks like a path
    - identifiers: words with digits, underscores or capitals inside; mail addresses; dotted names
    - dates and times in figures, or with an English month
    - numbers of two digits or more, with a unit that is written to them
    - names: capitalised words in a row; one alone only where no sentence begins with it
    """
    return tuple(dict.fromkeys(Anchor(kind, text[a:b]) for kind, a, b in _spans(text)))


def lost_anchors(text: str, draft: str) -> tuple[Anchor, ...]:
    """The exact values of `text` that don't stand in `draft`, a summary of it."""
    kept = {anchor.text for anchor in find_anchors(draft)}
    return tuple(
        anchor
        for anchor in find_anchors(text)
        if anchor.text not in kept and not _is_named(anchor, draft)
    )


def _is_named(anchor: Anchor, draft: str) -> bool:
    """Whether a name stands there at all: where it begins a sentence, it is found as none."""
    alone = rf"(?<!\w){re.escape(anchor.text)}(?!\w)"
    return anchor.kind == "name" and re.search(alone, draft) is not None


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
            if word not in known:
                known[word] = _kind(word)
            kind = known[word]
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
    if not word or (word.isalpha() and word.islower()) or _ORDINAL.fullmatch(word):
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
    if digits and len(word) > 2:
        return "identifier"
    if "@" in word[1:-1] or "_" in word.strip("_") or word.count(".") > 1 or humps:
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
    begins = not before or text[before - 1] in ".!?\n\u2026*#-"
    if len(words) > 1 or (words and not begins):
        yield "name", start, end


# ---- the best of them, for a request ------------------------------------------------------------
HEADING = "Exact values from messages that aren't shown, each after its message's number:"
# Tokens, with the heading.
LEAST_TOKENS, MOST_TOKENS = 40, 120
# Characters that are looked at, of the beginning of each message and in all: 5 ms.
LOOKED_AT, IN_ALL = 2_000, 40_000
# A longer value takes the room of three others.
_LONGEST = 60
# The worth of a kind, of a value with its key, of a newer message, and what each further value of
# a message loses. A value loses one each time that the messages which have it double.
_WORTH: Mapping[AnchorKind, float] = {
    "identifier": 3.0,
    "path": 3.0,
    "name": 2.0,
    "date": 1.5,
    "number": 1.5,
}
_KEYED, _NEWER, _ANOTHER = 1.5, 1.0, 0.75
_KEY = re.compile(r"([^\W\d][\w.-]{0,23})[\"'` ]{0,2}[:=]$")
_IS_KEY = re.compile(r"[\"'`]? ?[:=]")


def anchor_lines(sources: Sequence[tuple[int, str]], *, room: int) -> str:
    """The values that will most likely be asked for, in `room` tokens by estimate: a line for each
    message, with its number. "" where there is none, or too little room.

    `sources` are sequence numbers with texts, in order. Only they decide: for the same messages
    the lines are the same.
    """
    if room < LEAST_TOKENS:
        return ""
    left = min(room, MOST_TOKENS) - estimate(HEADING)
    chosen: dict[int, list[str]] = {}
    ranked = sorted(_candidates(sources), reverse=True)
    for _, seq, said in ranked[:MOST_TOKENS]:
        cost = estimate(f"; {said}" if seq in chosen else f"\n{seq}: {said}")
        if cost <= left:
            left -= cost
            chosen.setdefault(seq, []).append(said)
    lines = [f"{seq}: {'; '.join(said)}" for seq, said in sorted(chosen.items())]
    return "\n".join([HEADING, *lines]) if lines else ""


def _candidates(sources: Sequence[tuple[int, str]]) -> Iterator[tuple[float, int, str]]:
    """Their worth, the message's number, and the value with its key."""
    newest = sources[-(IN_ALL // LOOKED_AT) :]
    found = [(seq, _values(text[:LOOKED_AT])) for seq, text in newest]
    messages = Counter(said for _, values in found for said in values)
    for place, (seq, values) in enumerate(found, 1):
        worths = sorted(
            ((worth - log2(messages[said]), said) for said, worth in values.items()), reverse=True
        )
        for rank, (worth, said) in enumerate(worths):
            yield worth + _NEWER * place / len(found) - _ANOTHER * rank, seq, said


def _values(text: str) -> dict[str, float]:
    """Each value with its key, and its worth; keys are no values."""
    found: dict[str, float] = {}
    for kind, start, end in _spans(text):
        if end - start <= _LONGEST and not _IS_KEY.match(text, end):
            before = text[max(0, start - 30) : start].rstrip("\"'` ")
            key = _KEY.search(before) if before[-1:] in (":", "=") else None
            said = f"{key[1]}: {text[start:end]}" if key else text[start:end]
            found.setdefault(said, _WORTH[kind] + (_KEYED if key else 0))
    return found
