"""How the index of words reads a text: the same words in both databases.

SQLite's FTS5 cuts a text into words itself. For PostgreSQL they are made here, character by
character as FTS5 folds them; it says so itself, so that both databases find the same.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from contextlib import closing
from itertools import accumulate

from chatsite.history.lexical.words import UNSPACED

# Of one text. Each 10,000 characters take the writing thread about a millisecond.
MOST_CHARACTERS = 200_000
# Marks are letters of words in the scripts of India, Hebrew and Arabic.
TOKENIZER = """tokenize="unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'\""""
# PostgreSQL takes 2,046 bytes of a word, and a megabyte of one text's different words: of a longer
# word its beginning counts, of a text that NFKC writes longer than any real one the same.
MOST_OF_WORD, MOST_LETTERS = 500, 262_000
_ALONE = re.compile(f"([{UNSPACED}])")


def searched_words(text: str | None) -> str:
    """Write the text as the index reads it: each character of a script without spaces is a word.

    A text leaves SQLite's index by being read again, so this must give the same words as long as
    the index lives. Whoever changes it must have all numbers removed by a migration.
    """
    if not text:
        return ""
    text = text[:MOST_CHARACTERS]
    if text.isascii():
        return text
    return _ALONE.sub(r" \1 ", unicodedata.normalize("NFKC", text))


def spelled_words(text: str | None) -> list[str]:
    """Return the words that FTS5 has of a text, in order: without accents and capitals."""
    found = searched_words(text).translate(_SPELLED).split()
    # An accent that stands alone is a word without letters to FTS5.
    words = [word.replace(_ACCENT, "")[:MOST_OF_WORD] or _ACCENT for word in found]
    ends = accumulate(map(len, words))
    return [word for word, end in zip(words, ends, strict=True) if end <= MOST_LETTERS]


class _Spelled(dict[int, str]):
    """Maps each character to its form in a word, to `_ACCENT` if it is dropped there, or to a blank
    if it ends a word. FTS5 is asked for 256 characters at a time, which takes a millisecond."""

    def __missing__(self, code: int) -> str:
        block = range(code - code % 256, code - code % 256 + 256)
        between = [f"x{chr(one)}x".encode(errors="replace").decode() for one in block]
        with closing(sqlite3.connect(":memory:")) as database:
            database.execute(f"CREATE VIRTUAL TABLE words USING fts5(text, {TOKENIZER})")
            database.execute("CREATE VIRTUAL TABLE found USING fts5vocab(words, 'instance')")
            rows = zip(block, between, strict=True)
            database.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", rows)
            for one, word in database.execute("SELECT doc, term FROM found"):
                self[one] = " " if word == "x" else word[1:-1] or _ACCENT
        return self[code]


_ACCENT = "\u0300"
_SPELLED = _Spelled()
