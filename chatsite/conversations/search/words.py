"""How the index of words reads a text."""

from __future__ import annotations

import re
import unicodedata

from chatsite.history.lexical.words import UNSPACED

# Of one text. Each 10,000 characters take the writing thread about a millisecond.
MOST_CHARACTERS = 200_000
_ALONE = re.compile(f"([{UNSPACED}])")


def searched_words(text: str | None) -> str:
    """The text as the index reads it: each character of a script without spaces is a word.

    A text leaves the index by being read again, so this must give the same words as long as the
    index lives. Whoever changes it must have all numbers removed by a migration.
    """
    if not text:
        return ""
    text = text[:MOST_CHARACTERS]
    if text.isascii():
        return text
    return _ALONE.sub(r" \1 ", unicodedata.normalize("NFKC", text))
