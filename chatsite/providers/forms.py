"""In which form an attachment reaches a model: as what it is, as the text in it, or by its name."""

from __future__ import annotations

from typing import Literal

from chatsite.messages import Attachment
from chatsite.providers.base import Medium, Model

# "image", "pdf", "audio" and "video" are sent as such; "text" is put into the message; of "name"
# only the line `File: name` is.
Form = Literal["image", "pdf", "audio", "video", "text", "name"]


# What is larger no provider takes within a request: Gemini's end at 20 MB, Anthropic's at 32 MB, and
# base64 adds a third. Pictures are made smaller for sending.
LARGEST = 14_000_000
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
