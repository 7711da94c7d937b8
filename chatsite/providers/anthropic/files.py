"""Files for Anthropic: given once to its Files API and named from then on, or sent along."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chatsite.errors import NotFound
from chatsite.messages import Attachment, Message
from chatsite.providers.base.provider import Content, Files

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

# What is deleted here can't be deleted there by us, so it goes by itself; a conversation that
# still names it then gives it once more. In seconds, at most 90 days.
KEPT_THERE = 30 * 24 * 3600
# Some 100 ms for the largest file, which nobody else should have to wait for.
_IN_A_THREAD = 256 * 1024


async def inline(messages: Sequence[Message], files: Files) -> dict[str, Mapping[str, Any]]:
    """Every file's bytes, as a source of a block. A file that isn't stored any more is left to its
    name, which stands in the message."""
    found: dict[str, Mapping[str, Any]] = {}
    for file in _files_of(messages):
        try:
            content = await files.content(file)
        except NotFound:
            continue
        data = await _encoded(content)
        found[file.id] = {"type": "base64", "media_type": content.mime_type, "data": data}
    return found


async def named(
    messages: Sequence[Message], files: Files, *, client: AsyncAnthropic, at: str
) -> dict[str, Mapping[str, Any]]:
    """The provider's own name for every file, after giving it those that it doesn't have."""
    found: dict[str, Mapping[str, Any]] = {}
    for file in _files_of(messages):
        try:
            name = await files.reference(file, at=at)
            if name is None:
                name = await _given(client, await files.content(file))
                await files.remember(file, at=at, reference=name)
        except NotFound:
            continue
        found[file.id] = {"type": "file", "file_id": name}
    return found


async def _given(client: AsyncAnthropic, content: Content) -> str:
    """Without its own name, which the message has: what isn't sent can't be read by others."""
    upload = ("file", content.data, content.mime_type)
    kept = await client.files.upload(file=upload, expires_in_seconds=KEPT_THERE)
    return kept.id


async def forget(messages: Sequence[Message], files: Files, *, at: str) -> None:
    for file in _files_of(messages):
        await files.remember(file, at=at, reference=None)


def _files_of(messages: Sequence[Message]) -> list[Attachment]:
    found = {file.id: file for said in messages if said.role == "user" for file in said.attachments}
    return [file for file in found.values() if _taken(file)]


def _taken(file: Attachment) -> bool:
    return file.modality == "image" or file.mime_type == "application/pdf"


async def _encoded(content: Content) -> str:
    if len(content.data) < _IN_A_THREAD:
        return base64.b64encode(content.data).decode()
    return (await asyncio.to_thread(base64.b64encode, content.data)).decode()
