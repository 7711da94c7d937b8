"""The stored files of one owner, as providers ask for them: on the store's threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from chatsite.messages import Attachment
from chatsite.providers.base.files import FileContent
from chatsite.turns.ports import TurnOwner, WorkRunner


class Uploads(Protocol):
    """What is asked of storage; `conversations.files.uploads` is one. All raise NotFound."""

    def upload_content(self, owner: Any, *, id: str) -> tuple[bytes, str]: ...
    def upload_text(self, owner: Any, *, id: str) -> str: ...
    def provider_reference(self, owner: Any, *, id: str, at: str) -> str | None: ...
    def save_reference(self, owner: Any, *, id: str, at: str, reference: str | None) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFiles:
    """`providers.base.provider.Files` of one owner: nobody's request reaches another's file."""

    run: WorkRunner
    reads: Uploads
    owner: TurnOwner

    async def content(self, attachment: Attachment) -> FileContent:
        return FileContent(*await self.run(self.reads.upload_content, self.owner, id=attachment.id))

    async def text(self, attachment: Attachment) -> str:
        return await self.run(self.reads.upload_text, self.owner, id=attachment.id)

    async def reference(self, attachment: Attachment, *, at: str) -> str | None:
        return await self.run(self.reads.provider_reference, self.owner, id=attachment.id, at=at)

    async def remember(self, attachment: Attachment, *, at: str, reference: str | None) -> None:
        await self.run(
            self.reads.save_reference, self.owner, id=attachment.id, at=at, reference=reference
        )
