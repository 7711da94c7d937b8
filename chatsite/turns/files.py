"""What becomes of attached files in a request: sent as they are, as their text, or by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from chatsite.errors import NotFound
from chatsite.messages import Attachment, Message
from chatsite.providers.base import Files, Model
from chatsite.providers.forms import Form, form_of

FENCES = re.compile("`{3,}")
PLURALS = {"image": "pictures", "pdf": "PDFs", "audio": "audio", "video": "video"}


async def for_model(messages: Sequence[Message], model: Model, files: Files) -> tuple[Message, ...]:
    """The messages as the model gets them: only what it takes is still attached.

    Each file has its line `File: name` below the message's text, and below that its text where it
    goes as text. Of a file that isn't stored any more only the line is left, and says so.
    """
    return tuple(
        [
            await _rendered(message, model, files) if message.attachments else message
            for message in messages
        ]
    )


async def _rendered(message: Message, model: Model, files: Files) -> Message:
    parts = [message.content] if message.content else []
    kept = []
    for attachment in message.attachments:
        form = form_of(attachment, model)
        try:
            # Asked for the others too: what isn't stored any more would fail the whole request.
            text = await files.text(attachment)
        except NotFound:
            parts.append(f"File: {attachment.name} (no longer stored)")
            continue
        parts.append(as_text(attachment, text) if form == "text" else hint(attachment))
        if form not in ("text", "name"):
            kept.append(attachment)
    return replace(message, content="\n\n".join(parts), attachments=tuple(kept))


def hint(attachment: Attachment) -> str:
    """The line that a model reads of every file."""
    return f"File: {attachment.name}"


def as_text(attachment: Attachment, text: str) -> str:
    """A file's line and its text between fences that are longer than any in it, so that what
    stands in a file can't pass for what stands below it."""
    longest = max((len(run) for run in FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{hint(attachment)}\n{fence}\n{text}\n{fence}"


def told(attachments: Sequence[Attachment], model: Model) -> tuple[str, ...]:
    """What the person should know of their files: a sentence for each that the model doesn't get
    as it is. A text file in its text is as it is."""
    said = (_said(attachment, form_of(attachment, model), model) for attachment in attachments)
    return tuple(sentence for sentence in said if sentence)


def _said(attachment: Attachment, form: Form, model: Model) -> str:
    own = own_form(attachment)
    if own is None:
        why = "no text was found in it"
    elif own in model.takes:
        why = f"{model.label} doesn't take this one as it is"
    else:
        why = f"{model.label} takes no {PLURALS[own]}"
    if form == "name":
        return f"Of {attachment.name} only the name goes in, because {why}."
    if form == "text" and own is not None:
        characters = f"{attachment.characters:,} characters"
        return f"{attachment.name} goes in as its text, {characters}, because {why}."
    return ""


def own_form(attachment: Attachment) -> Form | None:
    """As what it would be sent if any model could be asked; None for a text file."""
    if attachment.modality != "document":
        return attachment.modality
    return "pdf" if attachment.mime_type == "application/pdf" else None
