"""In which form an attachment reaches a model: as what it is, as the text in it, or by its name."""

from __future__ import annotations

from typing import Literal

from chatsite.messages import Attachment
from chatsite.providers.base.provider import Medium, Model

# "image", "pdf", "audio" and "video" are sent as such; "text" is put into the message; of "name"
# only the line `File: name` is.
Form = Literal["image", "pdf", "audio", "video", "text", "name"]


# What is larger may be refused: gateways' requests end at 20 MB, Anthropic's at 32 MB, and base64
# adds a third. Pictures are made smaller for sending.
LARGEST = 14_000_000
# All files of one request, newest first: 24 MB in base64, which leaves room for the texts.
LARGEST_TOGETHER = 18_000_000
# What `files.pictures` makes of a picture: no longer side, no more bytes. A photograph of that size
# has 0.2 to 0.4 bytes a pixel as the JPEG that is sent.
SENT_SIDE, SENT_BYTES, _BYTES_A_PIXEL = 2_000, 3_750_000, 0.5
SOUNDS = frozenset({"audio/mpeg", "audio/wav"})


def form_of(attachment: Attachment, model: Model) -> Form:
    """The best form that the model takes. What one refuses would be refused in every later turn
    too, so that a file is left out beforehand rather than tried."""
    own = _own(attachment)
    if own is not None and own in model.takes:
        return own
    return "text" if attachment.characters else "name"


def _own(attachment: Attachment) -> Medium | None:
    """As what it would be sent, None for what is only ever sent as text."""
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
    """About what goes of it where it goes as it is; of a picture that is made smaller an estimate,
    meant to be high."""
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
