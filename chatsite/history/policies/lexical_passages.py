"""What `relevant` quotes of tools' results that aren't sent: the lines around what is asked for."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import fsum, log

from chatsite.history.evidence import GAVE_WAY
from chatsite.history.lexical.words import terms
from chatsite.history.path.added_messages import quote_tokens
from chatsite.history.path.transcript import Entry
from chatsite.history.path.turn_verdicts import PathVerdict
from chatsite.history.reasons import NEVER_QUOTED
from chatsite.history.token_estimate import estimate_message
from chatsite.messages import TokenCount
from chatsite.wording import later

PASSAGE = later("these lines of the result share rare words with the message")
# Lines before and after the best one, an object of a usual size in JSON; a long one is several.
BEFORE, AFTER = 4, 7
_LINES = re.compile(r"[^\n]{1,240}\n?|\n")
# Tokens for the passages that a question may have, and how many they are.
MOST_TOKENS, MOST = 900, 4


def passage_of(entry: Entry, question: str) -> Entry:
    """A result as its lines with the rarest words of the question, and any other message whole.

    Nothing else decides: the passage is the same for as long as it is quoted.
    """
    text = entry.message.content or ""
    lines = [found.span() for found in _LINES.finditer(text)]
    if entry.message.role != "tool" or not lines:
        return entry
    places = _places(_lower(text), lines, _words(question))
    common = Counter(word for found in places.values() for word in found)
    rarity = {word: log(1 + len(lines) / count) for word, count in common.items()}

    def worth(place: int) -> float:
        near = (places.get(one, ()) for one in range(place - BEFORE, place + AFTER + 1))
        # Exact, since a sum in a set's order would choose another line after a restart.
        return fsum(rarity[word] for word in [*places[place], *set().union(*near)])

    best = max(sorted(places), key=worth, default=0)
    start, end = lines[max(0, best - BEFORE)][0], lines[min(best + AFTER, len(lines) - 1)][1]
    message = replace(entry.message, content=text[start:end].strip("\n"))
    tokens = TokenCount(count=estimate_message(message), tokenizer="estimate", basis="estimated")
    return replace(entry, message=replace(message, tokens=tokens))


def _places(
    text: str, lines: Sequence[tuple[int, int]], words: Iterable[str]
) -> dict[int, list[str]]:
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


def _words(question: str) -> list[str]:
    return list(dict.fromkeys(word for word in terms(question) if len(word) > 2))


def find_passages(
    verdict: PathVerdict, question: str, *, sent: set[int], quoted: set[int], room: int
) -> list[Entry]:
    """The passages with most of the question's rare words, in `room` tokens, of results that aren't
    whole in the request nor `quoted` there; `sent` are the first messages of its turns."""
    found = [
        passage_of(entry, question)
        for turn in verdict.older
        if turn.reason not in NEVER_QUOTED
        for entry in turn.turn.entries
        if entry.message.role == "tool" and not entry.excluded and entry.seq not in quoted
        if turn.first not in sent or turn.lines.get(entry.seq) == GAVE_WAY
    ]
    words = _words(question)
    has = [[word for word in words if word in (e.message.content or "").lower()] for e in found]
    common = Counter(word for one in has for word in one)
    worth = [fsum(log(1 + len(found) / common[word]) for word in one) for one in has]
    chosen: list[Entry] = []
    for value, entry in sorted(zip(worth, found, strict=True), key=lambda one: -one[0])[:MOST]:
        if value and sum(map(quote_tokens, [*chosen, entry])) <= min(room, MOST_TOKENS):
            chosen.append(entry)
    return chosen
