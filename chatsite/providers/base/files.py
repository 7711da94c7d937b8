"""The attached files of a request: how a provider reads them and remembers what it uploaded."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from chatsite.errors import NotFound
from chatsite.messages import Attachment
from chatsite.wording import say

# We can't delete at a provider what is deleted here, so an upload expires by itself; a conversation
# that still refers to it uploads it once more. In seconds; Anthropic allows at most 90 days.
UPLOAD_LIFETIME = 30 * 24 * 3600
# All uploads of one request together; the largest file takes a minute on a slow line.
UPLOAD_TIMEOUT = 120.0
# Larger files are encoded in a thread: a megabyte takes a millisecond of everybody's event loop.
_INLINE_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file's bytes in a form that providers take (a BMP comes as PNG)."""

    data: bytes
    mime_type: str

    async def base64(self) -> str:
        if len(self.data) < _INLINE_BYTES:
            return base64.b64encode(self.data).decode()
        return (await asyncio.to_thread(base64.b64encode, self.data)).decode()


class Files(Protocol):
    """The stored files of one owner, as far as a request refers to them.

    Every method raises NotFound for a file that was deleted or isn't the owner's.
    """

    async def content(self, attachment: Attachment) -> FileContent: ...

    async def text(self, attachment: Attachment) -> str:
        """The text that can be read in the file, "" where there is none."""
        ...

    async def reference(self, attachment: Attachment, *, at: str) -> str | None:
        """The id of this file at the provider account `at`, None before it was uploaded there."""
        ...

    async def remember(self, attachment: Attachment, *, at: str, reference: str | None) -> None:
        """Store the id of this file at the account `at`; None forgets it."""
        ...


class NoFiles:
    """For requests without attachments."""

    async def content(self, attachment: Attachment) -> FileContent:
        raise NotFound(say("This file isn't stored any more."))

    async def text(self, attachment: Attachment) -> str:
        raise NotFound(say("This file isn't stored any more."))

    async def reference(self, attachment: Attachment, *, at: str) -> str | None:
        return None

    async def remember(self, attachment: Attachment, *, at: str, reference: str | None) -> None:
        return None


NO_FILES = NoFiles()


async def forget_uploads(attachments: Iterable[Attachment], files: Files, *, at: str) -> None:
    """Forget the ids of these files at the account `at`, which lost them."""
    for attachment in attachments:
        await files.remember(attachment, at=at, reference=None)
