"""The files of one owner, for the provider that a turn asks."""

from __future__ import annotations

from dataclasses import dataclass

from chatsite.conversations.files.uploads import (
    provider_reference,
    save_reference,
    upload_content,
    upload_text,
)
from chatsite.conversations.owners import Owner
from chatsite.messages import Attachment
from chatsite.providers.base.files import FileContent


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """`providers.base.provider.Files` of one owner: no request reaches another owner's file."""

    owner: Owner

    async def content(self, attachment: Attachment) -> FileContent:
        return FileContent(*await upload_content(self.owner, id=attachment.id))

    async def text(self, attachment: Attachment) -> str:
        return await upload_text(self.owner, id=attachment.id)

    async def reference(self, attachment: Attachment, *, at: str) -> str | None:
        return await provider_reference(self.owner, id=attachment.id, at=at)

    async def remember(self, attachment: Attachment, *, at: str, reference: str | None) -> None:
        await save_reference(self.owner, id=attachment.id, at=at, reference=reference)
