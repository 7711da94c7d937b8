"""Attached files and models: in which form a file reaches a model, and how many tokens it costs.

The token counts are estimates, meant to be a little high: providers count files by rules of their
own, which they change, and report the true count only afterwards.
"""

from __future__ import annotations

import math
from typing import Literal

from chatsite.messages import Attachment, Message
from chatsite.providers.base.provider import Medium, Model

# "image", "pdf", "audio" and "video" are sent as they are. Of "text" the readable text is put into
# the message, of "name" only the line `File: name`.
FileForm = Literal["image", "pdf", "audio", "video", "text", "name"]


# In bytes. Larger files may be refused: gateways limit requests to 20 MB, Anthropic to 32 MB, and
# base64 adds a third. Pictures are made smaller for sending.
LARGEST = 14_000_000
# All files of one request, newest first: 24 MB in base64, which leaves room for the texts.
LARGEST_TOGETHER = 18_000_000
# The largest picture that `files.inspector` makes: its longer side in pixels, and its bytes. A
# photograph of that size has 0.2 to 0.4 bytes a pixel as JPEG.
SENT_SIDE, SENT_BYTES, _BYTES_A_PIXEL = 2_000, 3_750_000, 0.5
SOUNDS = frozenset({"audio/mpeg", "audio/wav"})


def choose_form(attachment: Attachment, model: Model) -> FileForm:
    """The best form that the model takes. A form that it refuses would be refused in every later
    turn too, so nothing is tried out."""
    own = _own(attachment)
    if own is not None and own in model.takes:
        return own
    return "text" if attachment.characters else "name"


def _own(attachment: Attachment) -> Medium | None:
    """The form of the file itself, None where only its text is ever sent."""
    match attachment.modality:
        case "image":
            return "image"
        case _ if attachment.size > LARGEST:
            return None
        case "document":
            return "pdf" if attachment.mime_type == "application/pdf" else None
        case "audio":
            return "audio" if attachment.mime_type in SOUNDS else None
    return "video"


def sent_bytes(attachment: Attachment) -> int:
    """About how many bytes are sent where the file itself is sent; for a picture that is made
    smaller an estimate, meant to be high."""
    size = attachment.size
    if attachment.modality != "image":
        return size
    longest = max(attachment.width, attachment.height)
    if size <= SENT_BYTES and longest <= SENT_SIDE:
        return size
    if not longest:
        return min(size, SENT_BYTES)
    scale = min(1.0, SENT_SIDE / longest)
    pixels = attachment.width * attachment.height * scale**2
    return min(size, SENT_BYTES, round(pixels * _BYTES_A_PIXEL))


# ---- tokens --------------------------------------------------------------------------------------
# Tiles of GPT-4o, o1 and o3, patches of the later ones with the largest usual factor that isn't
# for a price alone: https://platform.openai.com/docs/guides/images-vision#calculating-costs
_BASE, _TILE, _TILE_SIDE, _SHORT_SIDE, _LONG_SIDE = 85, 170, 512, 768, 2048
_PATCH_SIDE, _MOST_PATCHES, _PER_PATCH = 32, 1536, 1.2
# A page is sent as its text and as a picture.
_PAGE, _PAGE_CHARACTERS, _PAGE_BYTES, _CHARACTERS_A_TOKEN = 1_000, 2_000, 150_000, 3.5
# Gemini takes 32 tokens for a second of sound and 263 for one of pictures, OpenAI fewer. Bytes a
# second: uncompressed speech of 16 kHz, an MP3 of 64 kbit/s, a small video.
_SOUND, _PICTURES = 32, 263
_WAV_RATE, _SOUND_RATE, _VIDEO_RATE = 32_000, 8_000, 60_000


def counts_media(message: Message) -> bool:
    """Whether a count of the message holds such an estimate, whatever its tokenizer is."""
    return message.role == "user" and bool(message.attachments)


def media_tokens(message: Message) -> int:
    """Tokens of the files that are sent with the message, as parts of their own."""
    if not counts_media(message):
        return 0
    return sum(_tokens(attachment) for attachment in message.attachments)


def _tokens(file: Attachment) -> int:
    match file.modality:
        case "image":
            return image_tokens(file.width, file.height)
        case "document":
            pages = math.ceil(file.characters / _PAGE_CHARACTERS or file.size / _PAGE_BYTES)
            return math.ceil(file.characters / _CHARACTERS_A_TOKEN) + pages * _PAGE
        case "audio":
            wav = "wav" in (file.mime_type or "")
            return math.ceil(file.size / (_WAV_RATE if wav else _SOUND_RATE) * _SOUND)
        case "video":
            return math.ceil(file.size / _VIDEO_RATE * (_SOUND + _PICTURES))


def image_tokens(width: int, height: int) -> int:
    """`width` and `height` are in pixels; where they aren't known, the largest picture counts."""
    most = math.ceil(_MOST_PATCHES * _PER_PATCH)
    if not width or not height:
        return most
    patches = math.ceil(width / _PATCH_SIDE) * math.ceil(height / _PATCH_SIDE)
    return max(_tiles(width, height), min(math.ceil(patches * _PER_PATCH), most))


def _tiles(width: int, height: int) -> int:
    """Shrunk into a square of 2048 and to a short side of 768, then counted in tiles of 512."""
    shrink = min(1.0, _LONG_SIDE / max(width, height))
    shrink *= min(1.0, _SHORT_SIDE / (min(width, height) * shrink))
    across, down = (math.ceil(side * shrink / _TILE_SIDE) for side in (width, height))
    return _BASE + _TILE * across * down
