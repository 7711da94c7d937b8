"""What attached files take of a model's window: estimates, meant to be a little high.

Providers count them by rules of their own, which they change; only afterwards they tell.
"""

from __future__ import annotations

import math

from chatsite.messages import Attachment, Message

# Tiles of GPT-4o, o1 and o3, patches of the later ones with the largest usual factor that isn't
# for a price alone: https://platform.openai.com/docs/guides/images-vision#calculating-costs
_BASE, _TILE, _TILE_SIDE, _SHORT_SIDE, _LONG_SIDE = 85, 170, 512, 768, 2048
_PATCH_SIDE, _MOST_PATCHES, _PER_PATCH = 32, 1536, 1.2
# A page goes as its text and as a picture.
_PAGE, _PAGE_CHARACTERS, _PAGE_BYTES, _CHARACTERS_A_TOKEN = 1_000, 2_000, 150_000, 3.5
# Gemini takes 32 tokens for a second of sound and 263 for one of pictures, OpenAI fewer. Bytes a
# second: uncompressed speech of 16 kHz, an MP3 of 64 kbit/s, a small video.
_SOUND, _PICTURES = 32, 263
_WAV_RATE, _SOUND_RATE, _VIDEO_RATE = 32_000, 8_000, 60_000


def counts_media(message: Message) -> bool:
    """Whether a count of the message holds such an estimate, whatever its tokenizer is."""
    return message.role == "user" and bool(message.attachments)


def media_tokens(message: Message) -> int:
    """Of the files that go along with it, in parts of their own."""
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
    """`width` and `height` in pixels; of an unknown picture, those of the largest."""
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
