"""Files that were shared in a room, taken as uploads of the room's account."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass

from chatsite.conversations.files.uploads import require_quota, store_upload
from chatsite.errors import BadCommand, ChatsiteError
from chatsite.files.intake import too_large
from chatsite.files.names import safe_name
from chatsite.messages import MAX_ATTACHMENT_BYTES, Attachment
from chatsite.talk.api import TalkApi
from chatsite.talk.records import RoomFile
from chatsite.talk.refusals import TalkTrouble
from chatsite.talk.surroundings import EnteredRoom, Surroundings
from chatsite.wording import say

# What no file alone is to blame for.
TO_WAIT_FOR = ("server", "busy", "account")


@dataclass(frozen=True, slots=True)
class FetchedFiles:
    """`refused` are files that aren't taken, with the reason."""

    attachments: tuple[Attachment, ...]
    refused: tuple[tuple[str, str], ...] = ()


async def take_files(
    files: tuple[RoomFile, ...], room: EnteredRoom, *, api: TalkApi, around: Surroundings
) -> FetchedFiles:
    """Raises TalkTrouble where they are to be fetched again later."""
    taken, refused = [], []
    for file in files:
        name = safe_name(file.name)
        try:
            taken.append(await _take_patiently(file, name, room, api, around))
        except TalkTrouble as trouble:
            if trouble.concern in TO_WAIT_FOR:
                raise
            refused.append((name, say("This file can't be fetched.")))
        except ChatsiteError as error:
            refused.append((name, error.message))
    return FetchedFiles(tuple(taken), tuple(refused))


async def _take_patiently(
    file: RoomFile, name: str, room: EnteredRoom, api: TalkApi, around: Surroundings
) -> Attachment:
    """One file may be out of order while all else works: its storage is away, or this account isn't
    given it. Nobody's question waits for that longer than one more attempt."""
    for _ in range(2):
        try:
            return await _take(file, name, room, api, around)
        except TalkTrouble as trouble:
            if trouble.concern not in TO_WAIT_FOR or trouble.seconds:
                raise
        await api.account()  # raises where the file isn't what is wrong
        await asyncio.sleep(around.pace.first)
    raise TalkTrouble("the file isn't given", concern="request")


async def _take(
    file: RoomFile, name: str, room: EnteredRoom, api: TalkApi, around: Surroundings
) -> Attachment:
    owner = room.row.owner
    if file.size > MAX_ATTACHMENT_BYTES:
        raise BadCommand(too_large(), code="too_large")
    if not await api.is_shared(room.entry.token, file):
        raise BadCommand(say("This file isn't shared with this room."))
    await require_quota(owner, size=file.size)
    async with (
        aclosing(api.download(file.path)) as blocks,
        around.intake.taken(blocks, owner=owner.key) as received,
    ):
        return await store_upload(owner, name=name, taken=received)
