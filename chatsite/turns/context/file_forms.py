"""What becomes of attached files in a request: sent as they are, as their text, or by name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from chatsite.conversations.files.uploads import (
    provider_reference,
    save_reference,
    upload_content,
    upload_text,
)
from chatsite.conversations.owners import Owner
from chatsite.errors import NotFound, ProviderError, Refused
from chatsite.messages import Attachment, Message
from chatsite.providers.base.files import FileContent, Files
from chatsite.providers.base.media import LARGEST_TOGETHER, FileForm, choose_form, sent_bytes
from chatsite.providers.base.provider import Model
from chatsite.wording import later, say


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """`providers.base.provider.Files` of one owner: no request reaches another owner's file."""

    owner: Owner

    async def content(self, attachment: Attachment) -> FileContent:
        try:
            return FileContent(*await upload_content(self.owner, id=attachment.id))
        except Refused as error:  # the store is away: the turn fails with its sentence
            raise ProviderError(error.message) from None

    async def text(self, attachment: Attachment) -> str:
        return await upload_text(self.owner, id=attachment.id)

    async def reference(self, attachment: Attachment, *, at: str) -> str | None:
        return await provider_reference(self.owner, id=attachment.id, at=at)

    async def remember(self, attachment: Attachment, *, at: str, reference: str | None) -> None:
        await save_reference(self.owner, id=attachment.id, at=at, reference=reference)


FENCES = re.compile("`{3,}")
# What a person reads of files of which the name alone is sent, or the text: of one, and of several.
_NAME_ALONE = {
    "gave_way": (
        later(
            "Only the name of {files} is sent: the files of one request may have {most} MB "
            "together, and newer ones come first."
        ),
        later(
            "Only the names of {files} are sent: the files of one request may have {most} MB "
            "together, and newer ones come first."
        ),
    ),
    "no_text": (
        later("No text was found in {files}; only its name is sent."),
        later("No text was found in {files}; only their names are sent."),
    ),
    "unfit": (
        later("{model} doesn't take {files} as it is; only its name is sent."),
        later("{model} doesn't take {files} as they are; only their names are sent."),
    ),
    "unseen": (
        later("{model} can't see {files}; only its name is sent."),
        later("{model} can't see {files}; only their names are sent."),
    ),
    "unheard": (
        later("{model} can't hear {files}; only its name is sent."),
        later("{model} can't hear {files}; only their names are sent."),
    ),
}
_AS_TEXT = {
    "gave_way": (
        later(
            "Only the text of {files} is sent, {characters:,} characters: the files of one request "
            "may have {most} MB together, and newer ones come first."
        ),
        later(
            "Only the texts of {files} are sent, {characters:,} characters: the files of one "
            "request may have {most} MB together, and newer ones come first."
        ),
    ),
    "unfit": (
        later(
            "Only the text of {files} is sent, {characters:,} characters: {model} doesn't take it "
            "as it is."
        ),
        later(
            "Only the texts of {files} are sent, {characters:,} characters: {model} doesn't take "
            "them as they are."
        ),
    ),
    "unseen": (
        later("Only the text of {files} is sent, {characters:,} characters: {model} takes no PDF."),
        later(
            "Only the texts of {files} are sent, {characters:,} characters: {model} takes no PDFs."
        ),
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
            smaller: FileForm = "text" if file.characters else "name"
            forms.append(form if size <= left else smaller)
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
        # Enough of it to notice that a text isn't the same any more.
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        sent = SentFile(attachment.id, attachment.name, "text", digest)
        return file_as_text(attachment, text), sent
    return file_line(attachment), SentFile(attachment.id, attachment.name, form)


def file_line(attachment: Attachment) -> str:
    """The line that a model reads of every file."""
    return f"File: {attachment.name}"


def file_as_text(attachment: Attachment, text: str) -> str:
    """A file's line and its text between fences that are longer than any in it, so that what
    stands in a file can't pass for what stands below it."""
    longest = max((len(run) for run in FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{file_line(attachment)}\n{fence}\n{text}\n{fence}"


@dataclass(frozen=True, slots=True)
class _Lesser:
    """A file that isn't sent as it is; `gave_way` where alone it would have gone in a better
    form."""

    file: Attachment
    texts: tuple[str, str]
    gave_way: bool


def has_media(messages: Iterable[Message], model: Model) -> bool:
    """Whether pictures or the like went along, so that its size says nothing of another request."""
    return any(
        choose_form(file, model) in MEDIA for message in messages for file in message.attachments
    )


def file_notes(request: Sequence[Message], model: Model) -> tuple[str, ...]:
    """What the person should know of its files: which the model doesn't get as they are, in one
    sentence for all that have the same reason. A text file in its text is as it is."""
    return _sentences(_lesser(request, model), model)


def draft_file_notes(
    request: Sequence[Message], draft: Sequence[Attachment], model: Model
) -> tuple[str, ...]:
    """As `file_notes`, of the draft's own files and of those that have to give way to them."""
    own = {file.id for file in draft}
    found = _lesser(request, model)
    return _sentences((one for one in found if one.gave_way or one.file.id in own), model)


def _sentences(found: Iterable[_Lesser], model: Model) -> tuple[str, ...]:
    together: dict[tuple[str, str], list[Attachment]] = {}
    for one in found:
        together.setdefault(one.texts, []).append(one.file)
    return tuple(
        say(
            texts[len(files) > 1],
            files=_listed([file.name for file in files], alternatives="can't" in texts[0]),
            most=LARGEST_TOGETHER // 1_000_000,
            model=model.label,
            characters=sum(file.characters for file in files),
        )
        for texts, files in together.items()
    )


def _listed(names: Sequence[str], *, alternatives: bool) -> str:
    if len(names) == 1:
        return names[0]
    text = later("{names} or {last}") if alternatives else later("{names} and {last}")
    return say(text, names=", ".join(names[:-1]), last=names[-1])


def _lesser(request: Sequence[Message], model: Model) -> Iterator[_Lesser]:
    request = [message for message in request if message.attachments]
    forms = zip(request, forms_of(request, model), best_forms(request, model), strict=True)
    for message, each, best in forms:
        for file, form, alone in zip(message.attachments, each, best, strict=True):
            if texts := _texts_of(file, form, model, gave_way=form != alone):
                yield _Lesser(file, texts, form != alone)


def _texts_of(
    attachment: Attachment, form: FileForm, model: Model, *, gave_way: bool
) -> tuple[str, str] | None:
    own = own_form(attachment)
    if form == "name":
        texts = _NAME_ALONE
    elif form == "text" and own is not None:
        texts = _AS_TEXT
    else:
        return None
    if gave_way:
        return texts["gave_way"]
    if own is None:
        return texts["no_text"]
    if own in model.takes:
        return texts["unfit"]
    return texts["unheard" if own == "audio" else "unseen"]


def needs_another_model(attachment: Attachment, model: Model) -> bool:
    """Whether this one gets the file's name alone, and another may take it as it is."""
    own = own_form(attachment)
    return bool(own) and own not in model.takes and choose_form(attachment, model) == "name"


def own_form(attachment: Attachment) -> FileForm | None:
    """As what it would be sent if any model could be asked; None for a text file."""
    if attachment.modality != "document":
        return attachment.modality
    return "pdf" if attachment.mime_type == "application/pdf" else None
