"""Minimal files: of every accepted type, of some refused types, and damaged ones."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

MP3_FRAME = b"\xff\xfb\x90\x00" + bytes(413)
AAC_FRAME = b"\xff\xf1\x50\x80\x02\x1f\xfc" + bytes(9)


def picture(format: str, *, size: tuple[int, int] = (40, 30), mode: str = "RGB") -> bytes:
    out = io.BytesIO()
    Image.new(mode, size).save(out, format)
    return out.getvalue()


def moving_gif() -> bytes:
    out = io.BytesIO()
    first, second = (Image.new("RGB", (8, 8), colour) for colour in ("red", "blue"))
    first.save(out, "GIF", save_all=True, append_images=[second])
    return out.getvalue()


def turned_jpeg() -> bytes:
    """Stored as 50 by 20 pixels; its EXIF orientation makes viewers show 20 by 50."""
    out, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (50, 20)).save(out, "JPEG", exif=exif)
    return out.getvalue()


def png_header(width: int, height: int) -> bytes:
    """A PNG whose header states this size, with hardly any pixel data."""
    sizes = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", sizes), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


def pdf(*pages: str | bytes, password: str | None = None) -> bytes:
    """One page for each argument: text is drawn, bytes become the page's drawing commands."""
    writer = PdfWriter()
    for content in pages:
        commands = content
        if isinstance(content, str):
            commands = f"BT /F1 12 Tf 20 80 Td ({content}) Tj ET".encode()
        stream = DecodedStreamObject()
        stream.set_data(commands)  # type: ignore[arg-type]
        page = writer.add_blank_page(300, 100)
        font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
        fonts = DictionaryObject({NameObject(k): NameObject(v) for k, v in font.items()})
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): fonts})}
        )
        page[NameObject("/Contents")] = writer._add_object(stream.flate_encode())
    if password is not None:
        writer.encrypt(password, "owner", algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def box(name: bytes, data: bytes = b"") -> bytes:
    return struct.pack(">I4s", 8 + len(data), name) + data


def mp4(brand: bytes, *handlers: bytes) -> bytes:
    """The index (moov) follows the data, as in a phone's recordings."""
    index = b"".join(box(b"hdlr", bytes(8) + handler + bytes(12)) for handler in handlers)
    return box(b"ftyp", brand + bytes(4)) + box(b"mdat", bytes(100)) + box(b"moov", index)


def ogg(codec: bytes) -> bytes:
    return b"OggS\x00\x02" + bytes(20) + b"\x01\x1e" + codec + bytes(50)


def ebml(kind: bytes, codec: bytes) -> bytes:
    return b"\x1a\x45\xdf\xa3\x9f\x42\x82\x84" + kind + bytes(40) + b"\x86\x85" + codec


ACCEPTED: dict[str, tuple[bytes, str, str]] = {
    "JPEG": (picture("JPEG"), "image", "image/jpeg"),
    "PNG": (picture("PNG"), "image", "image/png"),
    "BMP": (picture("BMP"), "image", "image/bmp"),
    "GIF": (picture("GIF"), "image", "image/gif"),
    "WebP": (picture("WEBP"), "image", "image/webp"),
    "PDF": (pdf("Ahoy"), "document", "application/pdf"),
    "text": ("Grüße\n".encode(), "document", "text/plain"),
    "text with a mark": (b"\xef\xbb\xbfHello", "document", "text/plain"),
    "UTF-16": ("Grüße\r\n".encode("utf-16"), "document", "text/plain"),
    "CSV": (b"a,b\n1,2\n", "document", "text/plain"),
    "Latin-1": ("Grüße".encode("latin-1"), "document", "text/plain"),
    "a text about PDFs": (b"%PDFs begin with\n%PDF-1.4\n", "document", "text/plain"),
    "a PDF after line ends": (b"\r\n\r\n" + pdf("x"), "document", "application/pdf"),
    "a PDF after a mark": (b"\xef\xbb\xbf" + pdf("x"), "document", "application/pdf"),
    "a PDF after a NUL": (b"\0" + pdf("x"), "document", "application/pdf"),
    "a PDF after a head": (
        b"Content-Type: application/pdf\r\nX-Name: a\r\n\r\n" + pdf("x"),
        "document",
        "application/pdf",
    ),
    "a PDF after letters": (b"junk" + pdf("x"), "document", "application/pdf"),
    "a PDF after odd bytes": (b"\x01\x02\xff" + pdf("x"), "document", "application/pdf"),
    "a PDF after a printer's commands": (
        b"\x1b%-12345X@PJL ENTER LANGUAGE=PDF\r\n" + pdf("x") + b"\x1b%-12345X",
        "document",
        "application/pdf",
    ),
    "a PDF after a program's warning": (
        b"<br />\n<b>Warning</b>: x\n" + pdf("x"),
        "document",
        "application/pdf",
    ),
    "a text with the source of a PDF": (
        b"A small one:\n%PDF-1.4\n1 0 obj\n<<>>\nendobj\nstartxref\n123\n%%EOF\n",
        "document",
        "text/plain",
    ),
    "a page": (b"<!doctype html><script>alert(1)</script>", "document", "text/plain"),
    "SVG": (b"<svg xmlns='http://www.w3.org/2000/svg' onload='x()'/>", "document", "text/plain"),
    "a log with colours": (b"\x1b[31mred\x1b[0m\n", "document", "text/plain"),
    "MP3 with tags": (b"ID3\x04" + bytes(60), "audio", "audio/mpeg"),
    "MP3": (MP3_FRAME * 3, "audio", "audio/mpeg"),
    "AAC": (AAC_FRAME * 3, "audio", "audio/aac"),
    "WAV": (b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(40), "audio", "audio/wav"),
    "OGG": (ogg(b"\x01vorbis"), "audio", "audio/ogg"),
    "Opus": (ogg(b"OpusHead"), "audio", "audio/ogg"),
    "FLAC": (b"fLaC" + bytes(60), "audio", "audio/flac"),
    "M4A": (mp4(b"M4A ", b"soun"), "audio", "audio/mp4"),
    "MP4 of sound": (mp4(b"isom", b"soun"), "audio", "audio/mp4"),
    "MP4 of a box without end": (
        box(b"ftyp", b"isom" + bytes(4)) + b"\0\0\0\1mdat" + b"\xff" * 8,
        "audio",
        "audio/mp4",
    ),
    "MP4": (mp4(b"isom", b"soun", b"vide"), "video", "video/mp4"),
    "MOV": (mp4(b"qt  ", b"vide"), "video", "video/quicktime"),
    "WebM": (ebml(b"webm", b"V_VP9"), "video", "video/webm"),
    "WebM of sound": (ebml(b"webm", b"A_OPUS"), "audio", "audio/webm"),
}
NOT_ACCEPTED: dict[str, tuple[bytes, str]] = {
    "an archive": (b"PK\x03\x04" + bytes(30), "archive or an Office document"),
    "a program": (b"MZ\x90\x00" + bytes(30), "A program"),
    "HEIC": (mp4(b"heic"), "HEIC"),
    "TIFF": (b"II*\0" + bytes(30), "TIFF"),
    "Matroska": (ebml(b"matroska", b"V_VP9"), "A file of this type"),
    "Theora": (ogg(b"\x80theora"), "A file of this type"),
    "a damaged UTF-8 text": ("Grüße aus Köln, schöne ".encode() + b"\xfc", "A damaged text"),
    "no known encoding": (b"\xa4\xbf;\xb8\xf7\xa8\n" * 3 + b"\xff", "isn't recognized"),
    "NUL in a text": (b"Hello\0there", "A file of this type"),
    "one frame's mark alone": (b"\xff\xfb\x90\x00" + bytes(600), "A file of this type"),
    "any bytes": (bytes(range(256)), "A file of this type"),
    "a PDF that begins too late": (bytes(1100) + pdf("x"), "A file of this type"),
}
DAMAGED: dict[str, tuple[bytes, str]] = {
    "a page that begins as a GIF": (b"GIF89a<script>alert(1)</script>", "damaged or cut off"),
    "a PNG that is cut off": (picture("PNG", size=(300, 300))[:60], "damaged or cut off"),
    "30,000 pixels a side": (png_header(30_000, 30_000), "too large"),
    "a long strip": (png_header(20_000, 10), "20,000 by 10 pixels is too large"),
    "a PDF of nothing": (b"%PDF-1.7\n%%EOF", "PDF can't be read"),
    "a locked PDF": (pdf("secret", password="x"), "locked with a password"),
}
