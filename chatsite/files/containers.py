"""Audio and video: which container a file is, and whether it holds pictures."""

from __future__ import annotations

import os
import struct
from typing import IO

# The first one named of an ISO file. Pictures (HEIC, AVIF) come in the same container.
PICTURE_BRANDS = (b"heic", b"heix", b"hevc", b"heim", b"mif1", b"msf1", b"avif", b"avis")
LONGEST_INDEX = 16 * 1024 * 1024
MOST_BOXES = 1_000


def media_type(head: bytes, file: IO[bytes]) -> str | None:
    """The MIME type, None for a file that is no accepted audio or video."""
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
