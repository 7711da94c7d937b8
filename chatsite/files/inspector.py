"""The process that inspects one file: `python -m chatsite.files.inspector PATH`.

An attached file may be made to cost its reader any time and any memory, so the server's own process
parses none. This process prints lines of JSON objects; together they are the result, also when the
process is ended in the middle.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

from PIL import Image, ImageOps

from chatsite.errors import BadCommand
from chatsite.files.kinds import (
    PDF,
    TEXT,
    TOO_LARGE,
    TOO_LARGE_MEASURED,
    Damaged,
    NotTaken,
    kind_of,
)
from chatsite.files.texts import NOTHING_CUT, write_text
from chatsite.process_limits import end_process_after, limit_file_size, limit_memory
from chatsite.wording import later

LONGEST_SIDE = 16_384
MOST_PIXELS = 50_000_000
_BOUNDS = {"millions": MOST_PIXELS // 1_000_000, "longest": LONGEST_SIDE}
# An image that a provider refuses fails every later turn of the conversation, too. Anthropic takes
# no image above 5 MiB in base64, and none above 2,000 pixels a side where a request has more than
# twenty; what is larger is scaled down there and at OpenAI anyway.
SENT_SIDE = 2_000
SENT_BYTES = 3_750_000
# What providers take as it is. OpenAI takes no moving picture, nobody takes BMP.
SENT_MODES = ("1", "L", "LA", "P", "RGB", "RGBA")
ORIENTATION = 0x0112
LYING = (5, 6, 7, 8)
FORMATS = {f"image/{name.lower()}": name for name in ("JPEG", "PNG", "BMP", "GIF", "WEBP")}


def check_picture(path: Path, mime_type: str) -> tuple[int, int]:
    """Return width and height in pixels, as the picture is shown: turned as its orientation says.
    Raises Damaged for a picture that is too large or can't be decoded.

    Writes a copy beside the file where providers wouldn't accept the file as it is.
    """
    Image.MAX_IMAGE_PIXELS = MOST_PIXELS
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=[FORMATS[mime_type]]) as picture:
                width, height = picture.size
                if max(width, height) > LONGEST_SIDE or width * height > MOST_PIXELS:
                    raise Damaged(TOO_LARGE_MEASURED, width=width, height=height, **_BOUNDS)
                lying = picture.getexif().get(ORIENTATION) in LYING
                picture.load()
                if not _sent_as_it_is(picture, path):
                    _send_instead(picture, path)
    except BadCommand:
        raise
    except (Image.DecompressionBombWarning, Image.DecompressionBombError, MemoryError):
        raise Damaged(TOO_LARGE, **_BOUNDS) from None
    except Exception:  # What Pillow raises for broken files isn't bounded by any class.
        raise Damaged(
            later("This picture can't be read: the file is damaged or cut off. Nothing was kept.")
        ) from None
    return (height, width) if lying else (width, height)


def _sent_as_it_is(picture: Image.Image, path: Path) -> bool:
    return (
        picture.format != "BMP"
        and not getattr(picture, "is_animated", False)
        and picture.getexif().get(ORIENTATION, 1) == 1
        and max(picture.size) <= SENT_SIDE
        and path.stat().st_size <= SENT_BYTES
        and picture.mode in SENT_MODES
    )


def _send_instead(picture: Image.Image, path: Path) -> None:
    """Write a small, upright copy beside the file; the first frame of a moving picture."""
    clear = picture.has_transparency_data
    upright = ImageOps.exif_transpose(_small(picture, "RGBA" if clear else "RGB"))
    if picture.format != "JPEG":
        beside = path.with_suffix(".png")
        upright.save(beside, "PNG")
        if beside.stat().st_size <= SENT_BYTES:
            return
        beside.unlink()
    if clear:
        white = Image.new("RGBA", upright.size, "white")
        upright = Image.alpha_composite(white, upright)
    upright.convert("RGB").save(path.with_suffix(".jpeg"), "JPEG", quality=88)


def _small(picture: Image.Image, mode: str) -> Image.Image:
    """Scale before converting where the colours allow it: a copy of all pixels takes 200 MB."""
    if picture.mode in ("RGB", "RGBA", "L", "CMYK"):
        picture.thumbnail((SENT_SIDE, SENT_SIDE))
        return picture.convert(mode)
    converted = picture.convert(mode)
    converted.info.update(picture.info)
    converted.thumbnail((SENT_SIDE, SENT_SIDE))
    return converted


# Fifty million pixels in four colours are 200 MB, and a PDF's page may hold as much.
MEMORY_BYTES = 1024 * 1024 * 1024
WRITTEN_BYTES = 64 * 1024 * 1024
SECONDS = 30.0


def inspect_file() -> None:
    end_process_after(SECONDS)
    limit_memory(MEMORY_BYTES)
    limit_file_size(WRITTEN_BYTES)
    try:
        _look_at(Path(sys.argv[1]))
    # The server says it in the person's language; this process has none.
    except NotTaken as error:
        _tell(not_taken=error.what)
    except Damaged as error:
        _tell(damaged=error.text, values=error.values)


def _look_at(path: Path) -> None:
    kind = kind_of(path)
    _tell(modality=kind.modality, mime_type=kind.mime_type)
    note = NOTHING_CUT
    if kind.modality == "image":
        width, height = check_picture(path, kind.mime_type)
        _tell(width=width, height=height)
    elif kind.mime_type == PDF:
        # Loading pypdf takes longer than most files.
        from chatsite.files.pdfs import write_pdf_text

        note = write_pdf_text(path, _tell)
    elif kind.mime_type == TEXT:
        _tell(codec=kind.codec)
        note = write_text(path, kind.codec)
    _tell(whole=True, note=note)


def _tell(**found: object) -> None:
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    inspect_file()
