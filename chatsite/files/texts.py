"""Writes the text of a file beside it while reading. Runs in the child process only."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import IO

from chatsite.files.kinds import BLOCK, HEAD, encoding_of
from chatsite.messages import UNSOUND

# About 100,000 tokens: more than most windows hold.
MOST_CHARACTERS = 400_000
ENDING = ".text"


class TextLimitReached(Exception):
    """The text has reached the length that is kept."""


class TextWriter:
    """Writes text up to the limit. Every piece is in the file when `add` returns."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._left = MOST_CHARACTERS

    def add(self, text: str) -> None:
        """Raises TextLimitReached once something was cut off."""
        sound = UNSOUND.sub("\N{REPLACEMENT CHARACTER}", text)
        self._file.write(sound[: self._left])
        self._file.flush()
        self._left -= len(sound)
        if self._left < 0:
            raise TextLimitReached


def write_text(path: Path) -> str:
    """Write the file's text beside it; returns a note, "" where all of it was kept."""
    with path.open("rb") as file, beside(path) as out:
        kept = TextWriter(out)
        head = file.read(HEAD)
        decoder = codecs.getincrementaldecoder(encoding_of(head))()
        block, open_end = head, ""
        try:
            while block:
                text = open_end + decoder.decode(block)
                open_end = "\r" if text.endswith("\r") else ""
                kept.add(text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n"))
                block = file.read(BLOCK)
        except TextLimitReached:
            return f"Only its first {MOST_CHARACTERS:,} characters are read."
    return ""


def beside(path: Path) -> IO[str]:
    return path.with_suffix(ENDING).open("w", encoding="utf-8", newline="")


def cut_after(page: int, pages: int) -> str:
    """The note on a PDF that took too long, or too much memory."""
    return f"Only the text of its first {page:,} of {pages:,} pages is read: it took too much."
