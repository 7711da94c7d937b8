"""What a person looks for: what the index is asked, and where a text has it.

The rules, which docs/people.md tells: every word must be there; where few messages have the words
as they are, longer words that begin so are found too ("light" finds "lights", not "twilight"), from
three letters on; "words in quotation marks" stand next to each other; accents and capitals don't
matter; in scripts without spaces the characters must stand next to each other; signs and emoji
aren't looked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from django.db import connection

from chatsite.conversations.search.plain_text import plain_text
from chatsite.conversations.search.spelling import searched_words, spelled_words
from chatsite.history.lexical.words import MARKS, UNSPACED

# A shorter beginning fits so many words that a search would read a large part of the index.
LEAST_BEGINNING = 3
# As in `history.lexical`: how soon a repeated word stops counting, and what a long text loses.
K1, B = 0.9, 0.4
# Of the text around the first word found.
BEFORE, AFTER = 40, 120
# Of a message around the place, from which the marks of Markdown are taken.
WINDOW = 1_600
_PIECE = re.compile(r'"([^"]*)"?|([^\s"]+)')
_LETTER = rf"[^\W_]|[{MARKS}]"
_WORDS = re.compile(rf"[{UNSPACED}]|(?:(?![{UNSPACED}])(?:{_LETTER}))+")
_GAP = r"[\W_]*"
Snippet = tuple[tuple[str, bool], ...]
# The values of `FOUND_MESSAGES` and its like that say what to look for.
Match = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Phrase:
    """Holds words that stand next to each other; of the last one `begins` is only the beginning.
    `text` is what the index reads, `words` are without accents and capitals."""

    text: str
    words: tuple[str, ...]
    begins: bool

    @property
    def match(self) -> str:
        """Write it for SQLite's FTS5."""
        return f'"{self.text}"' + (" *" if self.begins else "")

    @property
    def pattern(self) -> str:
        parts = [re.escape(self.words[0])]
        for before, word in pairwise(self.words):
            gap = _GAP if _alone(before) or _alone(word) else _GAP[:-1] + "+"
            parts.append(gap + re.escape(word))
        start = "" if _alone(self.words[0]) else f"(?<!{_LETTER})"
        end = "" if self.begins or _alone(self.words[-1]) else f"(?!{_LETTER})"
        return start + "".join(parts) + end


@dataclass(frozen=True)
class TextQuery:
    """Holds a search of one phrase or more, which all must be there."""

    phrases: tuple[Phrase, ...]

    @property
    def match(self) -> Match:
        return _match(self.phrases)

    @property
    def whole(self) -> TextQuery:
        """Return the same words, but no beginnings of words."""
        return TextQuery(tuple(replace(phrase, begins=False) for phrase in self.phrases))

    @cached_property
    def _patterns(self) -> Sequence[re.Pattern[str]]:
        return [re.compile(phrase.pattern) for phrase in self.phrases]

    def weight(self, text: str, average: float) -> float:
        """Weigh how much one of the texts that were found is about the words, by its length. This
        is BM25 without the rarity of words: all of these texts have all of them."""
        length = 1 - B + B * len(text) / average if average else 1.0
        folded = _fold(text)
        counts = [len(pattern.findall(folded)) for pattern in self._patterns]
        return sum(count * (K1 + 1) / (count + K1 * length) for count in counts)

    def passage(self, text: str) -> Snippet:
        """Return the same as `snippet` of a message, without its Markdown, unless a word that was
        looked for stands in it."""
        text, start = unicodedata.normalize("NFC", text), 0
        if len(text) > WINDOW:
            start = max(self._densest(self._spans(_fold(text))) - WINDOW // 4, 0)
            text = text[start : start + WINDOW]
        shown = plain_text(text)
        if shown != text and self._found(shown) != self._found(text):
            shown = text
        return self.snippet(shown, begun=start > 0)

    def _found(self, text: str) -> set[int]:
        """Return which of the phrases are in the text."""
        return {number for _, _, number in self._spans(_fold(text))}

    def _spans(self, folded: str) -> list[tuple[int, int, int]]:
        """Return where each phrase begins and ends, in the order of the text, and its number."""
        patterns = enumerate(self._patterns)
        return sorted((*one.span(), at) for at, each in patterns for one in each.finditer(folded))

    def _densest(self, spans: Sequence[tuple[int, int, int]]) -> int:
        """Return where as many of the phrases as possible stand in one excerpt, 0 for nowhere."""
        last: dict[int, int] = {}
        most = place = 0
        for begin, _, number in spans:
            last[number] = begin
            near = [at for at in last.values() if begin - at <= AFTER]
            if len(near) > most:
                most, place = len(near), min(near)
        return place

    def snippet(self, text: str, *, begun: bool = False) -> Snippet:
        """Return the place where the words are, in parts: a text, and whether it was looked for.
        `begun`: there is more before."""
        text = unicodedata.normalize("NFC", " ".join(text.split()))
        spans = self._spans(_fold(text))
        first = self._densest(spans)
        start, end = _cut(text, first - BEFORE), _cut(text, first + AFTER)
        parts = [("…", False)] if start or begun else []
        at = start
        for begin, stop, _ in spans:
            if begin >= at and stop <= end:
                parts += [(text[at:begin], False), (text[begin:stop], True)]
                at = stop
        parts.append((text[at:end] + ("…" if end < len(text) else ""), False))
        return tuple(part for part in parts if part[0])


def parse_query(text: str) -> TextQuery | None:
    """Read what a person typed; None where there is no word in it."""
    phrases = []
    for quoted, single in _PIECE.findall(text):
        # A full-width quotation mark becomes one of the language of FTS5.
        piece = searched_words(quoted or single).replace('"', " ")
        if words := _WORDS.findall(_fold(piece)):
            begins = not quoted and len(words[-1]) >= LEAST_BEGINNING
            phrases.append(Phrase(piece, tuple(words), begins))
    return TextQuery(tuple(phrases)) if phrases else None


def match_any(words: Sequence[str]) -> Match:
    """Look for texts with a word that begins as one of these."""
    queries = filter(None, map(parse_query, words))
    return _match([phrase for query in queries for phrase in query.phrases], every=False)


def _match(phrases: Sequence[Phrase], *, every: bool = True) -> Match:
    """Look for texts with all phrases, or with any of them."""
    if connection.vendor == "sqlite":
        return ((" " if every else " OR ").join(one.match for one in phrases) or '""',)
    # No word has a quotation mark, or a sign that means something to LIKE.
    spelled = [(spelled_words(one.text), one.begins) for one in phrases]
    found = [(words, begins) for words, begins in spelled if words]
    quoted = ["('" + "' & '".join(words) + "'" + ":*" * begins + ")" for words, begins in found]
    patterns = [f"% {' '.join(words)}{'' if begins else ' '}%" for words, begins in found]
    in_order = patterns if any(len(words) > 1 for words, _ in found) else None
    return (" & " if every else " | ").join(quoted), in_order, in_order


def _alone(word: str) -> bool:
    """Return whether it is a character of a script without spaces."""
    return re.fullmatch(f"[{UNSPACED}]", word) is not None


class _Folded(dict[int, str]):
    """Maps each character to its small letter without accent: one to one, so that places stay."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        base, *marks = list(unicodedata.normalize("NFKD", character))
        # A Korean syllable is made of letters, and "ﬁ" of two.
        plain = all(map(unicodedata.combining, marks)) and len(base.lower()) == 1
        self[code] = base.lower() if plain else character.lower()[0]
        return self[code]


_FOLDED = _Folded()


def _fold(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_FOLDED)


def _cut(text: str, place: int) -> int:
    """Return a place near this one that cuts no word."""
    if place <= 0:
        return 0
    if place >= len(text):
        return len(text)
    space = text.find(" ", place, place + 20)
    return space + 1 if space >= 0 else place
