"""Opens the conversation of a room, puts there what is said, and carries its changes there."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, replace

from chatsite.channels.channel import Trouble
from chatsite.conversations.files.uploads import require_quota, store_upload
from chatsite.conversations.lifecycle import clear_conversation
from chatsite.conversations.versions.deletions import delete_message
from chatsite.conversations.versions.edits import edit_message
from chatsite.errors import BadCommand, ChatsiteError, NotFound, Refused, TurnRunning
from chatsite.files.folder import safe_name
from chatsite.files.intake import too_large
from chatsite.messages import MAX_ATTACHMENT_BYTES, Attachment
from chatsite.talk.api import TalkApi
from chatsite.talk.contents import TalkTrouble
from chatsite.talk.models import TalkMessage
from chatsite.talk.records import RoomFile
from chatsite.talk.room_path import (
    changed_messages,
    finish_change,
    finish_clearing,
    is_to_clear,
    place_messages,
    skip_messages,
    waiting_messages,
)
from chatsite.talk.rooms import forget_all, has_begun, open_room
from chatsite.talk.rooms_file import RoomEntry
from chatsite.talk.surroundings import EnteredRoom, Surroundings
from chatsite.wording import say

# What no file alone is to blame for.
TO_WAIT_FOR = ("server", "busy", "account")
# An answer is being written in the conversation: nothing is put there meanwhile.
BUSY_SECONDS = 2.0
# A quota is full: somebody has to make room.
FULL_SECONDS = 60.0


async def take_files(
    files: tuple[RoomFile, ...], room: EnteredRoom, *, api: TalkApi, around: Surroundings
) -> tuple[list[Attachment], list[tuple[str, str]]]:
    """Stores files that were shared in a room. The second list names the files that aren't taken,
    with the reasons. Raises TalkTrouble if they are to be fetched again later."""
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
    return taken, refused


async def _take_patiently(
    file: RoomFile, name: str, room: EnteredRoom, api: TalkApi, around: Surroundings
) -> Attachment:
    """Tries a second time, and no more often. One file may be out of order while all else works:
    its storage is away, or this account isn't given it. Nobody's question waits for that."""
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
    if file.size > MAX_ATTACHMENT_BYTES:
        raise BadCommand(too_large(), code="too_large")
    if not await api.is_shared(room.entry.token, file):
        raise BadCommand(say("This file isn't shared with this room."))
    await require_quota(room.owner, size=file.size)
    async with (
        aclosing(api.download(file.path)) as blocks,
        around.intake.taken(blocks, owner=room.owner.key) as received,
    ):
        return await store_upload(room.owner, name=name, taken=received)


async def enter_room(entry: RoomEntry, *, server: str, around: Surroundings) -> EnteredRoom:
    """Opens a room with its conversation. From now on its readers find the room in the page."""
    row = await open_room(server=server, token=entry.token, agent=entry.agent)
    await around.opened()
    return EnteredRoom(entry=entry, row=row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placing:
    """Brings what happens in the rooms of one Nextcloud into their conversations."""

    api: TalkApi
    around: Surroundings

    async def settle(self, room: EnteredRoom, *, up_to: int) -> None:
        """Carries all changes, then puts what waits into the conversation, up to a message. Raises
        Trouble if it has to wait."""
        try:
            await self._carry_changes(room)
            await self._place(room, up_to)
        except NotFound:
            fresh = await enter_room(room.entry, server=self.api.server, around=self.around)
            room.row = fresh.row
            why = "its conversation was deleted, and a new one begins"
            raise Trouble(f"the room {room.entry.name}: {why}") from None
        except TurnRunning:
            why = "an answer is being written"
            raise Trouble(f"the room {room.entry.name}: {why}", seconds=BUSY_SECONDS) from None
        except Refused as error:
            why = error.message
            raise Trouble(f"the room {room.entry.name}: {why}", seconds=FULL_SECONDS) from None

    async def _place(self, room: EnteredRoom, up_to: int) -> None:
        key, keep = room.row.pk, self.around.keep
        while waiting := await waiting_messages(room=key, up_to=up_to):
            placed, empty = [], []
            for one in waiting:
                files, _ = await take_files(
                    one.message.shared_files, room, api=self.api, around=self.around
                )
                if one.message.text or files:
                    placed.append(replace(one, attachments=tuple(files)))
                else:
                    empty.append(one.message.number)
            if empty:
                await skip_messages(room=key, numbers=empty, keep=keep)
            came = await place_messages(room=key, agent=room.entry.agent, waiting=placed, keep=keep)
            if came is not None:
                self.around.came(room.conversation, came)

    # ---- changes -------------------------------------------------------------------------------
    async def _carry_changes(self, room: EnteredRoom) -> None:
        if await is_to_clear(room=room.row.pk):
            if await has_begun(owner=room.owner, conversation=room.conversation):
                await clear_conversation(owner=room.owner, conversation=room.conversation)
                await self.around.cleared(room.conversation)
            await finish_clearing(room=room.row.pk)
        for one in await changed_messages(room=room.row.pk):
            await self._carry(room, one)
            await finish_change(one)

    async def _carry(self, room: EnteredRoom, one: TalkMessage) -> None:
        message = str(one.stored)
        try:
            if one.kind == "deleted":
                changed = await delete_message(owner=room.owner, message=message)
            else:
                changed = await edit_message(owner=room.owner, message=message, text=one.text)
        except (NotFound, BadCommand):
            return  # it is gone there already, or nothing of its text is left
        await self.around.changed(room.owner, changed)

    async def forget(self, room: EnteredRoom) -> bool:
        """Forgets all that was said; False if nothing was."""
        if not await has_begun(owner=room.owner, conversation=room.conversation):
            return False
        changed = await forget_all(owner=room.owner, conversation=room.conversation)
        await self.around.changed(room.owner, changed)
        return True
