"""The words of one conversation, ready for search: the index grows at its end, without rebuilds.

Each passage is stored with its own words. The words around it, which matter as much, are spread
from there when a question is asked (`scoring`): stored, they would take thirteen times the room.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from math import log2

from chatsite.history.lexical.words import date_terms, is_question, tells_time, terms

# Characters. A message of up to LONG is one passage: 250 words, most of what people write. Beyond,
# parts of about PART at the best border near it.
LONG = 1_500
PART = 700
_BORDERS = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?])\s|(?<=[\u3002\uff01\uff1f\u0964])"),
    re.compile(r"\s"),
)


def passages(text: str) -> list[str]:
    """The text in order; parts end at a paragraph, a line, a sentence or a word, if they can."""
    found = []
    start = 0
    while len(text) - start > LONG:
        end = _border(text, start + PART // 2, start + PART + PART // 2)
        found.append(text[start:end])
        start = end
    found.append(text[start:])
    return found


def _border(text: str, earliest: int, latest: int) -> int:
    """The last border of the best kind between the two; `latest` where there is none."""
    for border in _BORDERS:
        ends = [match.end() for match in border.finditer(text, earliest, latest)]
        if ends:
            return ends[-1]
    return latest


# Score, in z-scores, that each doubling of the cost takes. A choice between two worlds: BEAM, whose
# evidence is in what people wrote, gains five to seven points by 0.6 and more by more;
# RealMem, whose evidence is mostly in long replies, loses under one point by that and two by 1.
# LoCoMo is the same with any. See docs/benchmarks.md.
WEIGHT = 0.6
# Tokens. Among messages of a sentence or two, length says nothing about worth: on LoCoMo, whose
# messages take 30 to 50 tokens, a price from the first token on loses up to three points.
FREE = 80


def worth(score: float, cost: int, weight: float = WEIGHT) -> float:
    """Reduce `score` by the price of `cost`, the tokens that the quote would take.

    Room is scarce: whoever fills it by score alone spends it on a few long answers, and finds less
    with 1,000 tokens than with 500. Filling a sack by likelihood a token is the order by score less
    the logarithm of the cost, because a score is about the logarithm of a likelihood.
    """
    return score - weight * log2(max(cost, FREE) / FREE)


# How far a passage's words count for its neighbours, and how much at each distance (measured, see
# docs/benchmarks.md: six are better than the previous message alone by two points of recall).
REACH = 6
OWN = 2.0
AROUND = tuple(1.6 / (1 + distance) for distance in range(1, REACH + 1))
# Seconds. After a pause that long a new session begins: its words are about something else.
PAUSE = 3 * 60 * 60

TELLS_TIME, ASKS = 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One message as it is indexed. `author` is one character; `at` is the time of the message."""

    seq: int
    author: str
    text: str
    at: datetime | None = None


class Index:
    """Passages by number, in the order of their messages. Not for two threads at once.

    Attributes are read by `lexical`; this module and `stored` write them. A posting is a passage's
    number, once for every time the term occurs in it.
    """

    def __init__(self) -> None:
        self.postings: dict[str, array[int]] = {}
        self.days: dict[str, array[int]] = {}
        self.seqs = array("I")
        self.authors = bytearray()
        self.flags = bytearray()
        self.lengths = array("H")
        self.widths = array("f")
        self.starts = array("I")
        self.day_lengths = array("B")
        self.length = 0
        self.width = 0.0
        self.times = array("q")

    def __len__(self) -> int:
        return len(self.seqs)

    @property
    def last(self) -> int:
        """The last message's sequence number, 0 where there is none."""
        return self.seqs[-1] if self.seqs else 0

    @property
    def size(self) -> int:
        """Bytes, about: a term takes 200 with its string, its place and its array."""
        each = 4 + 1 + 1 + 2 + 4 + 8
        return 200 * len(self.postings) + 4 * self.length + each * len(self)

    def session(self, passage: int) -> tuple[int, int]:
        """The session of a passage: its first passage and the one behind its last."""
        return self.bounds(self.session_number(passage))

    def session_number(self, passage: int) -> int:
        return bisect_right(self.starts, passage) - 1

    def bounds(self, session: int) -> tuple[int, int]:
        after = session + 1
        return self.starts[session], self.starts[after] if after < len(self.starts) else len(self)

    def cut(self, seq: int) -> None:
        """Forget the messages behind `seq`: they are not on the path. 10 ms with 30,000 terms."""
        first = bisect_right(self.seqs, seq)
        sessions = bisect_left(self.starts, first)
        _drop(self.postings, first)
        _drop(self.days, sessions)
        for passage in range(first, min(first + REACH, len(self))):
            start, _ = self.session(passage)
            for distance in range(passage - first + 1, min(REACH, passage - start) + 1):
                self.widths[passage - distance] -= AROUND[distance - 1] * self.lengths[passage]
        columns = (self.seqs, self.lengths, self.widths, self.times, self.authors, self.flags)
        for column in columns:
            del column[first:]
        del self.starts[sessions:], self.day_lengths[sessions:]
        self.length, self.width = sum(self.lengths), sum(self.widths)

    def extend(self, lines: Iterable[Line]) -> list[str]:
        """Put messages at the end, 150 us for one of 30 words; the texts of their passages."""
        texts = []
        for line in lines:
            time = self._begin(line.at)
            for text in passages(line.text):
                self._add(line, time, text, Counter(terms(text)))
                texts.append(text)
        return texts

    def _begin(self, at: datetime | None) -> int:
        """The time of a message, in seconds; after a long pause a new session begins."""
        time = round(at.timestamp()) if at else self.times[-1] if self.times else 0
        rested = bool(self.times) and time - self.times[-1] > PAUSE
        if not self.starts or rested:
            words = date_terms(at) if at else []
            for word in words:
                self.days.setdefault(word, array("I")).append(len(self.starts))
            self.starts.append(len(self))
            self.day_lengths.append(len(words))
        return time

    def _add(self, line: Line, time: int, text: str, counts: Counter[str]) -> None:
        passage, length = len(self), min(counts.total(), 65_535)
        for term, count in counts.items():
            places = self.postings.get(term)
            if places is None:
                self.postings[term] = array("I", [passage] * count)
            else:
                places.extend([passage] * count)
        flags = TELLS_TIME * tells_time(text) | ASKS * is_question(text)
        self.append(line.seq, time, ord(line.author), flags, length)

    def append(self, seq: int, time: int, author: int, flags: int, length: int) -> None:
        """One passage's columns, behind the words that it adds."""
        passage = len(self)
        width = OWN * length + self.day_lengths[-1]
        for distance in range(1, min(REACH, passage - self.starts[-1]) + 1):
            weight = AROUND[distance - 1]
            self.widths[passage - distance] += weight * length
            width += weight * self.lengths[passage - distance]
            self.width += weight * length
        self.seqs.append(seq)
        self.times.append(time)
        self.authors.append(author)
        self.flags.append(flags)
        self.lengths.append(length)
        self.widths.append(width)
        self.length += length
        self.width += width


def _drop(known: dict[str, array[int]], first: int) -> None:
    """Take out what is at `first` or behind it, and the words that are left with nothing."""
    for word, places in list(known.items()):
        if places[-1] >= first:
            del places[bisect_left(places, first) :]
            if not places:
                del known[word]
