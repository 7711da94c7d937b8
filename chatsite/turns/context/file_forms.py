"""What becomes of attached files in a request: sent as they are, as their text, or by name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from chatsite.errors import NotFound
from chatsite.messages import Attachment, Message
from chatsite.providers.base.files import Files
from chatsite.providers.base.media import LARGEST_TOGETHER, FileForm, choose_form, sent_bytes
from chatsite.providers.base.model import Model
from chatsite.wording import later, say

FENCES = re.compile("`{3,}")
PLURALS = {
    "image": later("pictures"),
    "pdf": later("PDFs"),
    "audio": later("audio"),
    "video": later("video"),
}
# What a person reads of a file of which the name alone goes in, or its text, by the reason.
_NAME_ALONE = {
    "gave_way": later(
        "Of {file} only the name goes in, because the files of one request may have {most} MB "
        "together, and newer ones come first."
    ),
    "no_text": later("Of {file} only the name goes in, because no text was found in it."),
    "unfit": later(
        "Of {file} only the name goes in, because {model} doesn't take this one as it is."
    ),
    "no_kind": later("Of {file} only the name goes in, because {model} takes no {kinds}."),
}
_AS_TEXT = {
    "gave_way": later(
        "{file} goes in as its text, {characters:,} characters, because the files of one request "
        "may have {most} MB together, and newer ones come first."
    ),
    "unfit": later(
        "{file} goes in as its text, {characters:,} characters, because {model} doesn't take this "
        "one as it is."
    ),
    "no_kind": later(
        "{file} goes in as its text, {characters:,} characters, because {model} takes no {kinds}."
    ),
}
# Forms that are sent as such. Nobody can count them beforehand; a provider's rule gives a guess.
MEDIA = {"image", "pdf", "audio", "video"}
Forms = tuple[FileForm, ...]
SentForm = FileForm | Literal["gone"]


@dataclass(frozen=True, slots=True)
class SentFile:
    """The form in which a file was sent; `digest` is that of its text, where the text was sent."""

    id: str
    name: str
    form: SentForm
    digest: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For the receipt; the file's name is stored with its message."""
        return {"id": self.id, "form": self.form} | ({"digest": self.digest} if self.digest else {})


@dataclass(frozen=True, slots=True)
class RenderedRequest:
    """`messages` as the model gets them, and the form of each of their files, in order."""

    messages: tuple[Message, ...]
    given: tuple[SentFile, ...] = ()


def best_forms(messages: Sequence[Message], model: Model) -> tuple[Forms, ...]:
    """For each message the forms of its files, each as if it were the only file."""
    return tuple(tuple(choose_form(file, model) for file in m.attachments) for m in messages)


def forms_of(request: Sequence[Message], model: Model) -> tuple[Forms, ...]:
    """As `best_forms`, but bounded in all: from the newest message up, what doesn't fit any more
    goes as its text or by name. A request that is too large would fail in every later turn too."""
    left = LARGEST_TOGETHER
    found = []
    for message, best in zip(reversed(request), reversed(best_forms(request, model)), strict=True):
        forms: list[FileForm] = []
        for file, form in zip(message.attachments, best, strict=True):
            size = sent_bytes(file) if form in MEDIA else 0
            forms.append(form if size <= left else _form_without_media(file))
            left -= size if size <= left else 0
        found.append(tuple(forms))
    return tuple(reversed(found))


async def render_files(
    messages: Sequence[Message], forms: Sequence[Sequence[SentForm]], files: Files
) -> RenderedRequest:
    """The messages with their files in these forms: only files sent as they are stay attached.

    Each file has its line `File: name` below the message's text, and below that its text where it
    goes as text. Of a file that isn't stored any more only the line is left, and says so.
    """
    made = []
    gave: list[SentFile] = []
    for message, each in zip(messages, forms, strict=True):
        if not message.attachments:
            made.append(message)
            continue
        parts = [message.content] if message.content else []
        kept = []
        for attachment, form in zip(message.attachments, each, strict=True):
            text, file = await _render_file(attachment, form, files)
            parts.append(text)
            gave.append(file)
            if file.form in MEDIA:
                kept.append(attachment)
        made.append(replace(message, content="\n\n".join(parts), attachments=tuple(kept)))
    return RenderedRequest(tuple(made), tuple(gave))


async def _render_file(
    attachment: Attachment, form: SentForm, files: Files
) -> tuple[str, SentFile]:
    """The text for it in the message, and the form that was sent."""
    try:
        # Asked for the others too: what isn't stored any more would fail the whole request.
        text = await files.text(attachment)
    except NotFound:
        form = "gone"
    if form == "gone":
        line = f"{file_line(attachment)} (no longer stored)"
        return line, SentFile(attachment.id, attachment.name, "gone")
    if form == "text":
        return file_as_text(attachment, text), SentFile(
            attachment.id, attachment.name, "text", text_digest(text)
        )
    return file_line(attachment), SentFile(attachment.id, attachment.name, form)


def text_digest(text: str) -> str:
    """Enough of it to notice that a text isn't the same any more."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def file_line(attachment: Attachment) -> str:
    """The line that a model reads of every file."""
    return f"File: {attachment.name}"


def file_as_text(attachment: Attachment, text: str) -> str:
    """A file's line and its text between fences that are longer than any in it, so that what
    stands in a file can't pass for what stands below it."""
    longest = max((len(run) for run in FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{file_line(attachment)}\n{fence}\n{text}\n{fence}"


def file_notes(request: Sequence[Message], model: Model) -> tuple[str, ...]:
    """What the person should know of its files: a sentence for each that the model doesn't get as
    it is. A text file in its text is as it is."""
    return tuple(sentence for _, _, sentence in _sentences(request, model))


def draft_file_notes(
    request: Sequence[Message], draft: Sequence[Attachment], model: Model
) -> tuple[str, ...]:
    """As `file_notes`, of the draft's own files and of those that have to give way to them."""
    own = {file.id for file in draft}
    return tuple(
        sentence
        for file, gave_way, sentence in _sentences(request, model)
        if gave_way or file.id in own
    )


def _sentences(request: Sequence[Message], model: Model) -> Iterator[tuple[Attachment, bool, str]]:
    """Of each such file, with whether it could have gone in a better form alone."""
    request = [message for message in request if message.attachments]
    forms = zip(request, forms_of(request, model), best_forms(request, model), strict=True)
    for message, each, best in forms:
        for file, form, alone in zip(message.attachments, each, best, strict=True):
            if sentence := _file_note(file, form, model, gave_way=form != alone):
                yield file, form != alone, sentence


def _file_note(attachment: Attachment, form: FileForm, model: Model, *, gave_way: bool) -> str:
    own = own_form(attachment)
    if form == "name":
        texts = _NAME_ALONE
    elif form == "text" and own is not None:
        texts = _AS_TEXT
    else:
        return ""
    if gave_way:
        why = "gave_way"
    elif own is None:
        why = "no_text"
    else:
        why = "unfit" if own in model.takes else "no_kind"
    return say(
        texts[why],
        file=attachment.name,
        most=LARGEST_TOGETHER // 1_000_000,
        model=model.label,
        kinds=say(PLURALS[own]) if own else "",
        characters=attachment.characters,
    )


def _form_without_media(attachment: Attachment) -> FileForm:
    return "text" if attachment.characters else "name"


def own_form(attachment: Attachment) -> FileForm | None:
    """As what it would be sent if any model could be asked; None for a text file."""
    if attachment.modality != "document":
        return attachment.modality
    return "pdf" if attachment.mime_type == "application/pdf" else None
