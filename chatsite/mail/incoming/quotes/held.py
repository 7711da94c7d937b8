"""Whether a conversation holds a text already, however it was wrapped, marked and cut."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

# Characters of the pieces that are compared.
PIECE = 8
# Of a line's characters: links and pictures are written out in different ways.
ENOUGH = 0.8
# Of the newest texts of a thread. More costs a second and a hundred megabytes.
MOST_CHARACTERS = 300_000
# What mail programs write behind a word in place of its link, and for a picture; and what Markdown
# has of a link and of code that nobody sees.
_TARGET = re.compile(
    r"<(?:https?|mailto):[^<>\s]*>|\[(?:https?|cid|mailto):[^\[\]\s]*\]"
    r"|(?<=\])\((?:https?|mailto):[^()\s]*\)|^```[\w+-]{1,30}$",
    flags=re.MULTILINE,
)


class Held:
    """The texts of a conversation, the newest first; `footer` is words that stand only in the last
    paragraph of its own mails."""

    def __init__(self, texts: Iterable[str] = (), *, footer: Iterable[str] = ()) -> None:
        self._footer = [letters(words) for words in footer]
        self._pieces: set[str] = set()
        self._lines: set[str] = set()
        self._starts: set[str] = set()
        left = MOST_CHARACTERS
        for text in texts:
            text = text[:left]
            left -= len(text)
            self._lines.update(letters(line) for line in text.split("\n"))
            whole = letters(text)
            self._starts.add(whole[:PIECE])
            self._pieces.update(whole[at : at + PIECE] for at in range(len(whole) - PIECE + 1))
        self._lines.discard("")
        self._starts.discard("")

    def __bool__(self) -> bool:
        return bool(self._lines)

    def begins_with(self, lines: Sequence[str]) -> bool:
        """Whether one of the texts begins as these lines do."""
        said = letters("".join(lines))
        return said[:PIECE] in self._starts or letters("".join(lines[:1])) in self._starts

    def is_footer(self, paragraph: str) -> bool:
        said = letters(paragraph)
        return any(words in said for words in self._footer)

    def which(self, lines: Sequence[str]) -> list[bool]:
        """For each line whether it is held, in the run that it stands in."""
        found = [letters(line) for line in lines]
        whole = "".join(found)
        covered = bytearray(len(whole))
        for at in range(len(whole) - PIECE + 1):
            if whole[at : at + PIECE] in self._pieces:
                covered[at : at + PIECE] = b"\1" * PIECE
        held, at = [], 0
        for line in found:
            count = sum(covered[at : at + len(line)])
            held.append(line in self._lines or count >= ENOUGH * len(line))
            at += len(line)
        return held


def letters(text: str) -> str:
    """What is left of a text in whatever form it is sent: its letters and digits."""
    text = unicodedata.normalize("NFC", _TARGET.sub("", text)).casefold()
    return "".join(filter(str.isalnum, text))
