"""Writes the text of a file beside it while reading, in the child process only; finds out in which
encoding a text is."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from chatsite.alphabets import (
    ISO_2022_JP,
    NOT_IN_TEXT,
    SEEN,
    UNUSED,
    first_beyond_ascii,
    likely_encodings,
)
from chatsite.messages import UNSOUND
from chatsite.wording import later, say

BLOCK = 1024 * 1024
_NO_CHARACTERS = ("Cn", "Co", "Cs", "Cc")
CONTROLS_IN_BYTES = re.compile(NOT_IN_TEXT.pattern.encode())
# What a reading is shown as, by Python's name. The server takes no other from the child process.
_OTHERS = {"cp874": "windows-874", "cp932": "Shift-JIS", "cp949": "EUC-KR"}
LABELS = _OTHERS | dict.fromkeys(("utf_16_le", "utf_16_be"), "UTF-16")
LABELS |= {
    codecs.lookup(label).name.replace("-", "_"): label
    for label in (
        *(f"windows-{number}" for number in range(1250, 1259)),
        *(f"ISO-8859-{number}" for number in (2, 5, 6, 7, 8, 9, 13, 15, 16)),
        *("IBM850", "IBM852", "IBM866", "Mac Roman", "Mac Cyrillic", "KOI8-R", "KOI8-U"),
        *("GB18030", "Big5", "EUC-JP", "ISO-2022-JP"),
    )
}


def encodings_of(path: Path, head: bytes) -> Iterator[str]:
    """Python's names of the encodings that the text may be in, the most plausible one first. Those
    that `LABELS` knows are guesses. Nothing comes for what is no text."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        yield "utf-32"
    elif head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        yield "utf-16"
    else:
        if ISO_2022_JP.search(head):
            yield "iso2022_jp"
        yield "utf-8-sig"
        sample = sample_of(path)
        has_zeros = b"\0" in head or b"\0" in sample
        yield from _without_mark(head) if has_zeros else likely_encodings(sample)


def reads_whole(path: Path, codec: str) -> bool:
    """Return whether the file is a text in this encoding, to its end."""
    decoder = codecs.getincrementaldecoder(codec)()
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                text = decoder.decode(block)
                if NOT_IN_TEXT.search(text) or (codec in LABELS and UNUSED.search(text)):
                    return False
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def sample_of(path: Path) -> bytes:
    """Return the lines from the first byte on that isn't ASCII."""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            if sample := first_beyond_ascii(block):
                return sample + file.read(SEEN - len(sample))
    return b""


def _without_mark(head: bytes) -> Iterator[str]:
    """UTF-16 without its mark: a text has line ends and blanks, whose zeros are all on one side."""
    even = head[: len(head) // 2 * 2]
    low, high = even[1::2].count(0), even[::2].count(0)
    for codec, zeros, others in (("utf_16_le", low, high), ("utf_16_be", high, low)):
        if zeros <= 4 * others:
            continue
        text = even.decode(codec, "replace")
        if all(c.isspace() or unicodedata.category(c) not in _NO_CHARACTERS for c in text):
            yield codec


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
        writer = TextWriter(out)
        decoder = codecs.getincrementaldecoder(codec)()
        open_end = ""
        try:
            while block := file.read(BLOCK):
                text = open_end + decoder.decode(block)
                open_end = "\r" if text.endswith("\r") else ""
                writer.add(text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n"))
        except TextLimitReached:
            return FileNote(CUT, {"most": MOST_CHARACTERS})
    return NOTHING_CUT


def beside(path: Path) -> IO[str]:
    return path.with_suffix(ENDING).open("w", encoding="utf-8", newline="")


def cut_after(page: int, pages: int) -> FileNote:
    """Return the note on a PDF that took too long, or too much memory."""
    return FileNote(TOOK_TOO_MUCH, {"page": page, "pages": pages})
