"""What a passage has in common with a question, in words for a reader."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container, Iterable, Sequence
from itertools import islice

from chatsite.history.lexical.index import REACH, Index
from chatsite.wording import later, say

# A word in more of the passages than this distinguishes nothing, unless these are few.
COMMON, FEW = 0.3, 5
NAMED = 3
# Stored with receipts, where a deletion of the words finds them: never changed nor translated.
SHARES, NEAR = "it shares ", "it stands close to where "
_SHARED, _SAID = " with your message", " was said"
NAMES_TIME = later("it was said at a time that your message names")

_QUOTED = re.compile(r'"[^"]*"')


class Sharing:
    """A question's telling words, the rarest first, looked up where an index has them.

    Passages before `first`, from `end` on, and of messages in `without` don't count: what a
    person left out must not bring its neighbours back.
    """

    def __init__(
        self,
        index: Index,
        spelled: Iterable[tuple[str, str]],
        *,
        first: int,
        end: int,
        without: Container[int],
    ) -> None:
        self._index = index
        self._first, self._end, self._without = first, end, without
        most = max(COMMON * len(index), FEW)
        words: dict[str, str] = {}
        for word, term in spelled:
            words.setdefault(term, word)
        counted = sorted((len(index.postings.get(term, ())), term) for term in words)
        self._words = [
            (words[term], index.postings[term]) for count, term in counted if 0 < count <= most
        ]
        few = max(COMMON * len(index.starts), 1) if len(index.starts) > 1 else 0
        named = (index.days.get(term, ()) for term in words)
        self._days = {session for days in named if len(days) <= few for session in days}

    def why(self, place: int) -> str:
        """Completes "recalled because ..."; "" where no rare word in it or around it is shared."""
        if own := self._between(place, place + 1):
            return f"{SHARES}{_quoted(own)}{_SHARED}"
        start, end = self._index.session(place)
        if near := self._between(max(start, place - REACH), min(end, place + REACH + 1)):
            return f"{NEAR}{_quoted(near)}{_SAID}"
        if self._days and self._index.session_number(place) in self._days:
            return NAMES_TIME
        return ""

    def _between(self, start: int, end: int) -> list[str]:
        """The rarest shared words, as many as are named: looking up the others takes as long."""
        start, end = max(start, self._first), min(end, self._end)
        standing = (word for word, places in self._words if self._stands(places, start, end))
        return list(islice(standing, NAMED))

    def _stands(self, places: Sequence[int], start: int, end: int) -> bool:
        at = bisect_left(places, start)
        while at < len(places) and places[at] < end:
            if self._index.seqs[places[at]] not in self._without:
                return True
            at += 1
        return False


def show_why(stored: str) -> str:
    """A verdict's own sentence in the reader's language. Receipts store it in English, or said
    already where it has values; the forms with words are recognised by how they begin."""
    if stored.startswith(SHARES) and stored.endswith(_SHARED):
        words = _show_words(stored.removeprefix(SHARES).removesuffix(_SHARED))
        return say("it shares {words} with your message", words=words)
    if stored.startswith(NEAR) and stored.endswith(_SAID):
        words = _show_words(stored.removeprefix(NEAR).removesuffix(_SAID))
        return say("it stands close to where {words} was said", words=words)
    return say(stored)


def _show_words(quoted: str) -> str:
    match _QUOTED.findall(quoted):
        case [first, second]:
            return say("{first} and {second}", first=first, second=second)
        case [first, second, third]:
            return say("{first}, {second} and {third}", first=first, second=second, third=third)
    return quoted


def _quoted(words: list[str]) -> str:
    quoted = [f'"{word}"' for word in words]
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"
