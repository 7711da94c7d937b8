"""Files for Anthropic: uploaded once to its Files API and referred to by id, or sent inline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chatsite.errors import NotFound
from chatsite.messages import Attachment, Message
from chatsite.providers.base.files import UPLOAD_LIFETIME, FileContent, Files

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic


async def inline_sources(messages: Sequence[Message], files: Files) -> dict[str, Mapping[str, Any]]:
    """Every file's bytes, as the source of a block. A deleted file is left out: the text of its
    message has its name."""
    found: dict[str, Mapping[str, Any]] = {}
    for file in sent_files(messages):
        try:
            content = await files.content(file)
        except NotFound:
            continue
        data = await content.base64()
        found[file.id] = {"type": "base64", "media_type": content.mime_type, "data": data}
    return found


async def uploaded_sources(
    messages: Sequence[Message], files: Files, *, client: AsyncAnthropic, at: str
) -> dict[str, Mapping[str, Any]]:
    """The provider's id of every file, after uploading those that it doesn't have."""
    found: dict[str, Mapping[str, Any]] = {}
    for file in sent_files(messages):
        try:
            name = await files.reference(file, at=at)
            if name is None:
                name = await _upload(client, await files.content(file))
                await files.remember(file, at=at, reference=name)
        except NotFound:
            continue
        found[file.id] = {"type": "file", "file_id": name}
    return found


async def _upload(client: AsyncAnthropic, content: FileContent) -> str:
    """Without the file's name, which the message has: what isn't sent can't be read by others."""
    upload = ("file", content.data, content.mime_type)
    kept = await client.files.upload(file=upload, expires_in_seconds=UPLOAD_LIFETIME)
    return kept.id


def sent_files(messages: Sequence[Message]) -> list[Attachment]:
    found = {file.id: file for said in messages if said.role == "user" for file in said.attachments}
    return [file for file in found.values() if _taken(file)]


def _taken(file: Attachment) -> bool:
    return file.modality == "image" or file.mime_type == "application/pdf"
