"""Takes the files of a mail, by the rules for files that are attached in the page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from chatsite.channels.channel import Trouble
from chatsite.conversations.files.uploads import require_quota, store_upload
from chatsite.conversations.owners import Owner
from chatsite.errors import ChatsiteError, TooMany
from chatsite.files.folder import Folder, safe_name
from chatsite.files.intake import Intake
from chatsite.mail.answers import keep_mail_files, thread_has_file
from chatsite.mail.incoming.contents import AttachedFile
from chatsite.mail.incoming.contents_reader import ContentsReader, UnreadableMail
from chatsite.mail.models import Mail
from chatsite.messages import MAX_ATTACHMENTS
from chatsite.wording import say

BLOCK = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedFiles:
    """`folder` holds the bytes of the mails that wait."""

    intake: Intake
    folder: Folder
    reader: ContentsReader = field(default_factory=ContentsReader)

    async def of(self, mail: Mail, owner: Owner) -> list[str]:
        """Stores the mail's files as uploads of the account, once, and gives their ids."""
        if mail.files is not None:
            return list(mail.files)
        ids: list[str] = []
        refused: list[str] = []
        for number, file in enumerate(await self._new_files(mail)):
            name = safe_name(file.name)
            try:
                if number >= MAX_ATTACHMENTS:
                    raise ChatsiteError(say("A message takes {most} files.", most=MAX_ATTACHMENTS))
                ids.append(await self._upload(owner, name, file))
            except TooMany as error:
                raise Trouble("a mail's files wait for others", seconds=error.seconds) from None
            except ChatsiteError as error:
                refused.append(say("{name} was not taken: {why}", name=name, why=error.message))
        await keep_mail_files(mail=mail.id, files=ids, refused=refused)
        await asyncio.to_thread(self.folder.remove, str(mail.id))
        return ids

    async def _new_files(self, mail: Mail) -> list[AttachedFile]:
        """Reads the mail's files, without pictures of the text that came before: a logo comes with
        each mail."""
        try:
            data = await asyncio.to_thread(self.folder.path(str(mail.id)).read_bytes)
            files = (await self.reader.read(data)).files
        except (FileNotFoundError, UnreadableMail):
            return []  # they could be read when the mail came
        return [
            file
            for file in files
            if not file.is_shown or not await thread_has_file(mail, file.data)
        ]

    async def _upload(self, owner: Owner, name: str, file: AttachedFile) -> str:
        await require_quota(owner, size=len(file.data))
        async with self.intake.taken(_blocks(file.data), owner=owner.key) as taken:
            kept = await store_upload(owner, name=name, taken=taken)
        return kept.id


async def _blocks(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), BLOCK):
        yield data[start : start + BLOCK]
