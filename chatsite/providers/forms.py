"""In which form an attachment reaches a model: as what it is, as the text in it, or by its name."""

from __future__ import annotations

from typing import Literal

from chatsite.messages import Attachment
from chatsite.providers.base import Model

# "image", "pdf", "audio" and "video" are sent as such; "text" is put into the message; of "name"
# only the line `File: name` is.
Form = Literal["image", "pdf", "audio", "video", "text", "name"]


def form_of(attachment: Attachment, model: Model) -> Form:
    """The best form that the model takes."""
    own: Form | None = None
    if attachment.modality == "document":
        own = "pdf" if attachment.mime_type == "application/pdf" else None
    else:
        own = attachment.modality
    if own is not None and own in model.takes:
        return own
    return "text" if attachment.characters else "name"
