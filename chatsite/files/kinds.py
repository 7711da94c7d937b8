"""The type of a file, by its content: never by its name or by what a browser claims."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from chatsite.alphabets import is_mostly_utf8
from chatsite.errors import BadCommand
from chatsite.files import containers
from chatsite.files.encodings import CONTROLS_IN_BYTES, encodings_of, reads_whole, sample_of
from chatsite.messages import Modality
from chatsite.wording import later, say

ALLOWED = later(
    "pictures (JPEG, PNG, BMP, GIF, WebP), PDF, text files, "
    "audio (MP3, WAV, OGG, FLAC, M4A, AAC) and video (MP4, WebM, MOV)"
)
PDF = "application/pdf"
TEXT = "text/plain"
HEAD = 64 * 1024
# As Acrobat, in the first 1,024 bytes: line ends, a mark, a mail's head or anything else may stand
# before it.
PDF_HEADER = re.compile(rb"%PDF-\d\.\d")
PDF_HEADER_BEFORE = 1024
PDF_ENDING = 2048
# The end of a PDF names the place of its table of objects, counted from its header or the file's
# beginning; a text that tells of PDFs has no such table there.
PDF_TABLE_AT = re.compile(rb"startxref\s+(\d{1,12})\s+%%EOF")
PDF_TABLE = re.compile(rb"\s*(?:xref|\d+\s+\d+\s+obj)\b")
NO_TEXT = b" \t\r\n\f\0\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Kind:
    """`mime_type` is one of the few in this module and in `containers`; `codec` is Python's name of
    a text's encoding."""

    modality: Modality
    mime_type: str
    codec: str = ""


class NotTaken(BadCommand):
    """A file of a type that isn't accepted; the message lists those that are."""

    code = "file_type"

    def __init__(self, what: str) -> None:
        super().__init__(
            say(
                "{what} can't be attached. You can attach: {allowed}. Nothing was kept.",
                what=say(what),
                allowed=say(ALLOWED),
            )
        )
        self.what = what


class Damaged(BadCommand):
    """A file of an accepted type that can't be read. `text` is the key of the message, `values`
    are its numbers: the process that looks into files knows no language."""

    code = "file_damaged"

    def __init__(self, text: str, **values: int) -> None:
        super().__init__(say(text, **values))
        self.text, self.values = text, values


# Why a picture isn't taken: with numbers, which come from the process that looks into files.
TOO_LARGE = later(
    "This picture is too large. A picture may have {millions} million pixels, and {longest:,} on a "
    "side. Nothing was kept."
)
TOO_LARGE_MEASURED = later(
    "This picture of {width:,} by {height:,} pixels is too large. A picture may have {millions} "
    "million pixels, and {longest:,} on a side. Nothing was kept."
)


# A browser gets an image's own type only where it is one of these.
IMAGES: dict[str, Callable[[bytes], bool]] = {
    "image/jpeg": lambda head: head.startswith(b"\xff\xd8\xff"),
    "image/png": lambda head: head.startswith(b"\x89PNG\r\n\x1a\n"),
    "image/gif": lambda head: head.startswith((b"GIF87a", b"GIF89a")),
    "image/webp": lambda head: head.startswith(b"RIFF") and head[8:12] == b"WEBP",
    "image/bmp": lambda head: head.startswith(b"BM") and head[6:10] == b"\0\0\0\0",
}
REFUSED: tuple[tuple[tuple[bytes, ...], str], ...] = (
    (
        (b"PK\x03\x04", b"PK\x05\x06", b"\xd0\xcf\x11\xe0"),
        later("An archive or an Office document (save as PDF)"),
    ),
    ((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!"), later("An archive")),
    ((b"MZ", b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"), later("A program")),
    ((b"II*\0", b"MM\0*"), later("A TIFF picture (save it as PNG or JPEG)")),
)


def kind_of(path: Path) -> Kind:
    """Reads a text to its end, so don't call it in the event loop. Raises NotTaken."""
    with path.open("rb") as file:
        head = file.read(HEAD)
        for mime_type, fits in IMAGES.items():
            if fits(head):
                return Kind("image", mime_type)
        if head.startswith(b"%PDF-"):
            return Kind("document", PDF)
        media = containers.media_type(head, file)
        if media is not None:
            modality: Modality = "video" if media.startswith("video/") else "audio"
            return Kind(modality, media)
    if containers.is_picture(head):
        raise NotTaken(later("A HEIC or AVIF picture (save it as JPEG or PNG)"))
    for starts, what in REFUSED:
        if head.startswith(starts):
            raise NotTaken(what)
    if pdf_start(path):
        return Kind("document", PDF)
    return Kind("document", TEXT, _text_codec(path, head))


def pdf_start(path: Path) -> int:
    """How many bytes stand before a PDF's header; 0 also where the file is none."""
    with path.open("rb") as file:
        head = file.read(PDF_HEADER_BEFORE + len("%PDF-1.4"))
        found = PDF_HEADER.search(head)
        if not found:
            return 0
        start = found.start()
        file.seek(max(0, file.seek(0, os.SEEK_END) - PDF_ENDING))
        places = PDF_TABLE_AT.findall(file.read())
        for place in (int(places[-1]), start + int(places[-1])) if places else ():
            file.seek(place)
            if PDF_TABLE.match(file.read(64)):
                return start
    # Its places are wrong, as a program that changed its line ends leaves them.
    return 0 if head[:start].strip(NO_TEXT) or not places else start


def _text_codec(path: Path, head: bytes) -> str:
    """Raises NotTaken."""
    for codec in encodings_of(path, head):
        if reads_whole(path, codec):
            return codec
    if CONTROLS_IN_BYTES.search(head):
        raise NotTaken(later("A file of this type"))
    if is_mostly_utf8(sample_of(path)):
        raise NotTaken(later("A damaged text (save it again as UTF-8)"))
    raise NotTaken(later("A text in an encoding that isn't recognized (save it as UTF-8)"))
