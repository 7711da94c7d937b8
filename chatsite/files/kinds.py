"""The type of a file, by its content: never by its name or by what a browser claims."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from chatsite.alphabets import is_mostly_utf8
from chatsite.errors import BadCommand
from chatsite.files.texts import CONTROLS_IN_BYTES, encodings_of, reads_whole, sample_of
from chatsite.messages import Modality
from chatsite.wording import later, say

# The first one named of an ISO file. Pictures (HEIC, AVIF) come in the same container.
PICTURE_BRANDS = (b"heic", b"heix", b"hevc", b"heim", b"mif1", b"msf1", b"avif", b"avis")
LONGEST_INDEX = 16 * 1024 * 1024
MOST_BOXES = 1_000


def media_type(head: bytes, file: IO[bytes]) -> str | None:
    """Return the MIME type, None for a file that is no accepted audio or video."""
    if head.startswith(b"RIFF") and head[8:12] == b"WAVE":
        return "audio/wav"
    if head.startswith(b"fLaC"):
        return "audio/flac"
    if head.startswith(b"OggS"):
        return _ogg(head)
    if head.startswith(b"\x1a\x45\xdf\xa3"):
        return _webm(head)
    if head[4:8] == b"ftyp":
        return _iso(head, file)
    if head.startswith(b"ID3"):
        return "audio/mpeg"
    return _frames(head)


def _ogg(head: bytes) -> str | None:
    """Every stream begins with a page of its own that names its codec."""
    if any(codec in head[:512] for codec in (b"\x80theora", b"\x01video")):
        return None
    sound = (b"\x01vorbis", b"OpusHead", b"\x7fFLAC", b"Speex  ")
    return "audio/ogg" if any(codec in head[:512] for codec in sound) else None


def _webm(head: bytes) -> str | None:
    """Matroska begins with the same bytes under another name."""
    if b"webm" not in head[:64]:
        return None
    return "video/webm" if b"V_VP" in head or b"V_AV1" in head else "audio/webm"


def is_picture(head: bytes) -> bool:
    return head[4:8] == b"ftyp" and head[8:12] in PICTURE_BRANDS


def _iso(head: bytes, file: IO[bytes]) -> str | None:
    brand = head[8:12]
    if is_picture(head):
        return None
    if brand in (b"M4A ", b"M4B "):
        return "audio/mp4"
    if brand == b"qt  ":
        return "video/quicktime"
    return "video/mp4" if _shows(file) else "audio/mp4"


def _shows(file: IO[bytes]) -> bool:
    """Whether a track is video. The index may be at the end of the file, so the boxes are
    walked."""
    place, end = 0, file.seek(0, os.SEEK_END)
    for _ in range(MOST_BOXES):
        if place >= end:
            return False
        file.seek(place)
        header = file.read(16)
        if len(header) < 8:
            return False
        size, name = struct.unpack(">I4s", header[:8])
        if size == 1 and len(header) == 16:
            (size,) = struct.unpack(">Q", header[8:])
        if name == b"moov":
            file.seek(place)
            return _has_video_handler(file.read(min(size or LONGEST_INDEX, LONGEST_INDEX)))
        if size < 8:
            return False
        place += size
    return False


def _has_video_handler(index: bytes) -> bool:
    """A track's handler: `hdlr`, version and flags, four bytes of zero, its type."""
    place = index.find(b"hdlr")
    while place >= 0:
        if index[place + 12 : place + 16] == b"vide":
            return True
        place = index.find(b"hdlr", place + 4)
    return False


def _frames(head: bytes) -> str | None:
    """MP3 or AAC without a container. Two frames must follow each other, since the eleven bits that
    begin a frame may begin any file."""
    for length_of, mime_type in ((_mp3_length, "audio/mpeg"), (_aac_length, "audio/aac")):
        length = length_of(head[:8])
        if length and length_of(head[length : length + 8]):
            return mime_type
    return None


# Layer III: thousands of bits a second, and samples a second, by the numbers in a frame's header.
# Version 3 is MPEG-1, the others have half its samples in a frame.
MP3_RATES = {
    3: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0),
    2: (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0),
    0: (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0),
}
MP3_SAMPLES = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}


def _mp3_length(frame: bytes) -> int:
    """Bytes of the layer III frame that begins here, 0 where none does."""
    if len(frame) < 4 or frame[0] != 0xFF or frame[1] & 0xE0 != 0xE0:
        return 0
    version, layer = frame[1] >> 3 & 3, frame[1] >> 1 & 3
    rate, sample, padding = frame[2] >> 4, frame[2] >> 2 & 3, frame[2] >> 1 & 1
    if layer != 1 or version not in MP3_RATES or sample == 3:
        return 0
    bits = MP3_RATES[version][rate] * 1000
    share = 144 if version == 3 else 72
    return share * bits // MP3_SAMPLES[version][sample] + padding if bits else 0


def _aac_length(frame: bytes) -> int:
    """Bytes of the ADTS frame that begins here, 0 where none does."""
    if len(frame) < 7 or frame[0] != 0xFF or frame[1] & 0xF6 != 0xF0:
        return 0
    return (frame[3] & 3) << 11 | frame[4] << 3 | frame[5] >> 5


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
        media = media_type(head, file)
        if media is not None:
            modality: Modality = "video" if media.startswith("video/") else "audio"
            return Kind(modality, media)
    if is_picture(head):
        raise NotTaken(later("A HEIC or AVIF picture (save it as JPEG or PNG)"))
    for starts, what in REFUSED:
        if head.startswith(starts):
            raise NotTaken(what)
    if pdf_start(path):
        return Kind("document", PDF)
    return Kind("document", TEXT, _text_codec(path, head))


def pdf_start(path: Path) -> int:
    """Return how many bytes stand before a PDF's header; 0 also where the file is none."""
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
