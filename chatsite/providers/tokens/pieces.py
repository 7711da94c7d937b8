"""Long texts in pieces that a tokenizer counts one by one, with the same result as all at once."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Characters. About 3 ms of o200k_base; a text that isn't longer is one piece.
PIECE = 50_000
# Without a break for so long, nobody wrote it for people. tiktoken takes 20 ms for as many equal
# characters; a million of blanks overflow its regular expression, which is a panic of Rust and so
# no Exception (https://github.com/openai/tiktoken/issues/15), and in other versions the time grows
# with the square (https://github.com/openai/tiktoken/issues/195).
LONGEST_RUN = 100_000
# No window takes more: the largest that we know has a million tokens.
LONGEST = 5_000_000
# Between these two characters the pattern that splits a text for o200k_base begins anew, whatever
# is around them: before a blank after a word or mark, at a line's beginning, and before a mark
# after a word, unless that is the apostrophe of "it's".
_BREAK = re.compile(r"\S |\n[^\s/]|[^\W_][!-&(-/:-@\[-^`{-~]")


class Unbroken(ValueError):
    """The text is too long, or has no break for too long, to be counted in time."""


def pieces(text: str) -> Iterator[str]:
    """The text in order, in pieces of at most LONGEST_RUN characters. Raises Unbroken."""
    if len(text) > LONGEST:
        raise Unbroken
    start = 0
    while len(text) - start > PIECE:
        found = _BREAK.search(text, start + PIECE - 1, start + LONGEST_RUN)
        if found is None:
            if len(text) - start > LONGEST_RUN:
                raise Unbroken
            break
        yield text[start : found.start() + 1]
        start = found.start() + 1
    yield text[start:]


def is_countable(text: str) -> bool:
    """Whether it can be counted in time as one text."""
    try:
        return all(True for _ in pieces(text))
    except Unbroken:
        return False
