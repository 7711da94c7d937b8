"""Writes the text of a file beside it while reading. Runs in the child process only."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import IO, NamedTuple

from chatsite.files.encodings import BLOCK, LABELS
from chatsite.messages import UNSOUND
from chatsite.wording import later, say

# About 100,000 tokens: more than most windows hold.
MOST_CHARACTERS = 400_000
ENDING = ".text"
# What the parts that aren't kept of a text are told by. The server takes no others from the process
# that looks into files.
CUT = later("Only its first {most:,} characters are read.")
CUT_AT_PAGE = later(
    "Only its first {most:,} characters are read, up to page {page:,} of {pages:,}."
)
TOOK_TOO_MUCH = later(
    "Only the text of its first {page:,} of {pages:,} pages is read: it took too much."
)
UNREADABLE_PAGES = later("The text of {unread:,} of its {pages:,} pages can't be read.")
NOTES = frozenset({CUT, CUT_AT_PAGE, TOOK_TOO_MUCH, UNREADABLE_PAGES})


class FileNote(NamedTuple):
    """What wasn't read of a file: one of the texts above, and its numbers."""

    text: str
    values: dict[str, int]

    @property
    def in_english(self) -> str:
        return self.text.format(**self.values)

    def for_people(self, *, read_as: str) -> str:
        """With the name of the encoding that was guessed; `read_as` is Python's name for it."""
        label = LABELS.get(read_as)
        guessed = say("Read as {encoding}.", encoding=label) if label else ""
        cut = say(self.text, **self.values) if self.text else ""
        return " ".join(filter(None, (guessed, cut)))


NOTHING_CUT = FileNote("", {})


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


def write_text(path: Path, codec: str = "utf-8-sig") -> FileNote:
    """Write the file's text beside it; NOTHING_CUT where all of it was kept."""
    with path.open("rb") as file, beside(path) as out:
        kept = TextWriter(out)
        decoder = codecs.getincrementaldecoder(codec)()
        open_end = ""
        try:
            while block := file.read(BLOCK):
                text = open_end + decoder.decode(block)
                open_end = "\r" if text.endswith("\r") else ""
                kept.add(text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n"))
        except TextLimitReached:
            return FileNote(CUT, {"most": MOST_CHARACTERS})
    return NOTHING_CUT


def beside(path: Path) -> IO[str]:
    return path.with_suffix(ENDING).open("w", encoding="utf-8", newline="")


def cut_after(page: int, pages: int) -> FileNote:
    """The note on a PDF that took too long, or too much memory."""
    return FileNote(TOOK_TOO_MUCH, {"page": page, "pages": pages})
