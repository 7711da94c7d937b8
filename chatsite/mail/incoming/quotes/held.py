"""Tells whether a conversation holds a text already, however programs wrapped, marked and cut
it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

# Texts are compared in pieces of this many characters.
PIECE = 8
# Links and pictures are written out in different ways: this share of a line's characters is enough.
ENOUGH = 0.8
# Only the newest texts of a thread are compared: more costs a second and a hundred megabytes.
MOST_CHARACTERS = 300_000
# What mail programs write behind a word in place of its link, and for a picture; and what Markdown
# has of a link and of code that nobody sees.
_TARGET = re.compile(
    r"<(?:https?|mailto):[^<>\s]*>|\[(?:https?|cid|mailto):[^\[\]\s]*\]"
    r"|(?<=\])\((?:https?|mailto):[^()\s]*\)|^```[\w+-]{1,30}$",
    flags=re.MULTILINE,
)


class Held:
    """Holds the texts of a conversation, which come the newest first. The words of `footer` stand
    only in the last paragraph of the agent's own mails."""

    def __init__(self, texts: Iterable[str] = (), *, footer: Iterable[str] = ()) -> None:
        self._footer = [letters(words) for words in footer]
        self._pieces: set[str] = set()
        self._lines: set[str] = set()
        self._starts: set[str] = set()
        room = MOST_CHARACTERS
        for text in texts:
            text = text[:room]
            room -= len(text)
            self._lines.update(letters(line) for line in text.split("\n"))
            whole = letters(text)
            self._starts.add(whole[:PIECE])
            self._pieces.update(whole[at : at + PIECE] for at in range(len(whole) - PIECE + 1))
        self._lines.discard("")
        self._starts.discard("")

    def __bool__(self) -> bool:
        return bool(self._lines)

    def begins_with(self, lines: Sequence[str]) -> bool:
        """Tells whether one of the texts begins as these lines do."""
        start = letters("".join(lines))[:PIECE]
        return start in self._starts or letters("".join(lines[:1])) in self._starts

    def is_footer(self, paragraph: str) -> bool:
        written = letters(paragraph)
        return any(words in written for words in self._footer)

    def which(self, lines: Sequence[str]) -> list[bool]:
        """Tells for each line whether the conversation holds it, in the run of lines around it."""
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
    """Reduces a text to its letters and digits, which are the same in whatever form it is sent."""
    text = unicodedata.normalize("NFC", _TARGET.sub("", text)).casefold()
    return "".join(filter(str.isalnum, text))
