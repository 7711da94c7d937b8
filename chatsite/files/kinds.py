"""The type of a file, by its content: never by its name or by what a browser claims."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from chatsite.errors import BadCommand
from chatsite.files import containers
from chatsite.messages import Modality
from chatsite.wording import later, say

ALLOWED = later(
    "pictures (JPEG, PNG, BMP, GIF, WebP), PDF, text files (UTF-8 or UTF-16), "
    "audio (MP3, WAV, OGG, FLAC, M4A, AAC) and video (MP4, WebM, MOV)"
)
PDF = "application/pdf"
TEXT = "text/plain"
BLOCK = 1024 * 1024
HEAD = 64 * 1024
# All control characters but those that texts have: tab, line ends, and escape (colours in logs).
NOT_IN_TEXT = re.compile("[\x00-\x07\x0e-\x1a\x1c-\x1f]")


@dataclass(frozen=True, slots=True)
class Kind:
    """`mime_type` is one of the few in this module and in `containers`."""

    modality: Modality
    mime_type: str


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
    _require_text(path, head)
    return Kind("document", TEXT)


def encoding_of(head: bytes) -> str:
    """UTF-16 where the first two bytes mark it; everything else has to be UTF-8."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig"


def _require_text(path: Path, head: bytes) -> None:
    decoder = codecs.getincrementaldecoder(encoding_of(head))()
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                if NOT_IN_TEXT.search(decoder.decode(block)):
                    raise NotTaken(later("A file of this type"))
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        if NOT_IN_TEXT.search(head.decode("latin-1")):
            raise NotTaken(later("A file of this type")) from None
        raise NotTaken(later("A text in another encoding than UTF-8 or UTF-16")) from None
