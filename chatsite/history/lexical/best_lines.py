"""The line of a long text that shares the rarest words with a question."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from math import fsum, log

from chatsite.history.lexical.words import terms

# Lines before and after the best one, an object of a usual size in JSON; a long one is several.
BEFORE, AFTER = 4, 7
_LINES = re.compile(r"[^\n]{1,240}\n?|\n")

Span = tuple[int, int]


def in_lines(result: str) -> str:
    """A result as lines: it is stored as JSON on a single one. Its texts get their line ends, and
    each value a line. 4 ms for 800 kB; parsing that and writing it anew takes 11.
    """
    if "\n" in result or not result.startswith(("{", "[", '"')):
        return result
    text = result.replace('\\"', '"').replace("\\n", "\n")
    return text.replace(', "', ',\n"').replace("}, {", "},\n{").replace("], [", "],\n[")


def best_line(text: str, question: str) -> tuple[list[Span], int]:
    """Where each line begins and ends, and the number of the best one; 0 where no line has a word
    of the question."""
    lines = [found.span() for found in _LINES.finditer(text)]
    places = _places(_lower(text), lines, question_words(question))
    common = Counter(word for found in places.values() for word in found)
    rarity = {word: log(1 + len(lines) / count) for word, count in common.items()}

    def worth(place: int) -> float:
        near = (places.get(one, ()) for one in range(place - BEFORE, place + AFTER + 1))
        # Exact, since a sum in a set's order would choose another line after a restart.
        return fsum(rarity[word] for word in [*places[place], *set().union(*near)])

    return lines, max(sorted(places), key=worth, default=0)


def lines_around(lines: Sequence[Span], best: int) -> Sequence[Span]:
    """The best line with its neighbours."""
    return lines[max(0, best - BEFORE) : best + AFTER + 1]


def question_words(question: str) -> list[str]:
    return list(dict.fromkeys(word for word in terms(question) if len(word) > 2))


def _places(text: str, lines: Sequence[Span], words: Iterable[str]) -> dict[int, list[str]]:
    """The lines that have one of the words, by number. Looked for in the whole text: line by line,
    800 kB of results held everybody up for 35 ms."""
    starts = [start for start, _ in lines]
    found: dict[int, list[str]] = {}
    for word in words:
        at, line = text.find(word), -1
        while at >= 0:
            here = bisect_right(starts, at) - 1
            # Once a line, and not where a long line was divided inside it.
            if here > line and at + len(word) <= lines[here][1]:
                line = here
                found.setdefault(line, []).append(word)
            at = text.find(word, max(at + 1, lines[here][1] if here == line else 0))
    return found


def _lower(text: str) -> str:
    """In small letters, each character in its place: of "\u0130" two would be made."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(one.lower() if len(one.lower()) == 1 else one for one in text)
