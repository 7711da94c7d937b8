"""Attached files as chat completions take them: in the request, or kept by the provider."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from chatsite.errors import NotFound
from chatsite.messages import Attachment, Message
from chatsite.providers.base.provider import Content, Files

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# Larger ones are encoded in a thread: a megabyte takes a millisecond, and others wait for it.
_INLINE_BYTES = 256 * 1024
_UPLOAD_SECONDS = 120.0
# What is deleted here can't be deleted there by us, so it goes by itself; a conversation that
# still names it gives it once more.
_KEPT_THERE = 30 * 24 * 3600
_AUDIO = {"mpeg": "mp3", "mp3": "mp3", "wav": "wav", "x-wav": "wav", "wave": "wav"}


def account(base_url: str, key: str) -> str:
    """Names an account at a provider without telling anything of it; a file's id holds there."""
    return f"openai:{hashlib.sha256(f'{base_url} {key}'.encode()).hexdigest()[:32]}"


@dataclass(slots=True)
class Sent:
    """The attachments of one request: each as its part, and what the provider calls those that
    it keeps."""

    parts: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    references: dict[str, Attachment] = field(default_factory=dict)

    def unknown(self, said: str) -> list[Attachment]:
        """Those that the provider doesn't know any more, by its own words for a refusal."""
        named = [file for reference, file in self.references.items() if reference in said]
        if named:
            return named
        lost = "file" in said and any(word in said for word in ("not found", "no such", "expired"))
        return list(self.references.values()) if lost else []


async def collect(
    messages: Iterable[Message], files: Files, *, client: AsyncOpenAI, at: str | None
) -> Sent:
    """`at` is the account that keeps files, None where they go along with each request. A file
    that isn't stored any more is left to its name."""
    sent = Sent()
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


async def forget(attachments: Sequence[Attachment], files: Files, *, at: str) -> None:
    for file in attachments:
        await files.remember(file, at=at, reference=None)


async def _part(
    file: Attachment, files: Files, sent: Sent, *, client: AsyncOpenAI, at: str | None
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
        audio = {"data": await _base64(content.data), "format": _AUDIO.get(kind, kind)}
        return {"type": "input_audio", "input_audio": audio}
    form = "image_url" if file.modality == "image" else "video_url"
    return {"type": form, form: {"url": await _data_url(content)}}


async def _upload(file: Attachment, content: Content, *, client: AsyncOpenAI) -> str:
    kept = await client.files.create(
        file=(file.name, content.data, content.mime_type),
        purpose="user_data",
        expires_after={"anchor": "created_at", "seconds": _KEPT_THERE},
        timeout=_UPLOAD_SECONDS,
    )
    return kept.id


async def _data_url(content: Content) -> str:
    return f"data:{content.mime_type};base64,{await _base64(content.data)}"


async def _base64(data: bytes) -> str:
    if len(data) < _INLINE_BYTES:
        return base64.b64encode(data).decode()
    return (await asyncio.to_thread(base64.b64encode, data)).decode()
