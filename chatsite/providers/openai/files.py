"""Attached files in chat completions: sent inline, or uploaded once and referred to by id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chatsite.errors import NotFound
from chatsite.messages import Attachment, Message
from chatsite.providers.base.files import UPLOAD_LIFETIME, UPLOAD_TIMEOUT, FileContent, Files

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_AUDIO = {"mpeg": "mp3", "mp3": "mp3", "wav": "wav", "x-wav": "wav", "wave": "wav"}


@dataclass(slots=True)
class SentFiles:
    """The attachments of one request: `parts` by attachment id, and the attachments of uploaded
    files by the provider's id."""

    parts: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    references: dict[str, Attachment] = field(default_factory=dict)

    def lost(self, message: str) -> list[Attachment]:
        """Return the files that the provider has lost, by the `message` of its refusal."""
        named_files = [file for reference, file in self.references.items() if reference in message]
        if named_files:
            return named_files
        any_lost = "file" in message and any(
            word in message for word in ("not found", "no such", "expired")
        )
        return list(self.references.values()) if any_lost else []


async def collect_files(
    messages: Iterable[Message], files: Files, *, client: AsyncOpenAI, at: str | None
) -> SentFiles:
    """`at` is the account that stores uploads, None where files are sent inline with each request.
    A deleted file is left out: the text of its message has its name."""
    sent = SentFiles()
    for message in messages:
        if message.role != "user":
            continue
        for file in message.attachments:
            if file.id in sent.parts:
                continue
            try:
                sent.parts[file.id] = await _part(file, files, sent, client=client, at=at)
            except NotFound:
                continue
    return sent


async def _part(
    file: Attachment, files: Files, sent: SentFiles, *, client: AsyncOpenAI, at: str | None
) -> Mapping[str, Any]:
    if file.modality == "document":
        if at is not None:
            reference = await files.reference(file, at=at)
            if reference is None:
                reference = await _upload(file, await files.content(file), client=client)
                await files.remember(file, at=at, reference=reference)
            sent.references[reference] = file
            return {"type": "file", "file": {"file_id": reference}}
        data = await _data_url(await files.content(file))
        return {"type": "file", "file": {"filename": file.name, "file_data": data}}
    content = await files.content(file)
    if file.modality == "audio":
        kind = content.mime_type.partition("/")[2]
        audio = {"data": await content.base64(), "format": _AUDIO.get(kind, kind)}
        return {"type": "input_audio", "input_audio": audio}
    form = "image_url" if file.modality == "image" else "video_url"
    return {"type": form, form: {"url": await _data_url(content)}}


async def _upload(file: Attachment, content: FileContent, *, client: AsyncOpenAI) -> str:
    uploaded = await client.files.create(
        file=(file.name, content.data, content.mime_type),
        purpose="user_data",
        expires_after={"anchor": "created_at", "seconds": UPLOAD_LIFETIME},
        timeout=UPLOAD_TIMEOUT,
    )
    return uploaded.id


async def _data_url(content: FileContent) -> str:
    return f"data:{content.mime_type};base64,{await content.base64()}"
