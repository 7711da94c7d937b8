"""Opens the conversation of a room, puts there what is said, and carries its changes there."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass

from chatsite.channels.channel import OpenRoom, Trouble
from chatsite.conversations.files.uploads import require_quota, store_upload
from chatsite.conversations.lifecycle import clear_conversation
from chatsite.conversations.versions.deletions import delete_message
from chatsite.conversations.versions.edits import edit_message
from chatsite.errors import BadCommand, ChatsiteError, NotFound, Refused, TurnRunning
from chatsite.files.folder import safe_name
from chatsite.files.intake import too_large
from chatsite.messages import MAX_ATTACHMENT_BYTES, Attachment
from chatsite.talk.api import TalkApi
from chatsite.talk.records import LaggingMessage, PlacedMessage, RoomFile, RoomRow
from chatsite.talk.refusals import TalkTrouble
from chatsite.talk.room_path import caught_up, lag, place_messages, skip_messages, waiting_messages
from chatsite.talk.rooms import forget_all, has_begun, open_room
from chatsite.talk.rooms_file import RoomEntry
from chatsite.talk.surroundings import EnteredRoom, Surroundings
from chatsite.turns.context.turn_context import Room
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


# An answer is being written in the conversation: nothing is put there meanwhile.
BUSY_SECONDS = 2.0
# A quota is full: somebody has to make room.
FULL_SECONDS = 60.0


async def enter_room(entry: RoomEntry, *, server: str, around: Surroundings) -> EnteredRoom:
    """The room with its conversation; its readers find it in the page from now on."""
    row = await open_room(server=server, token=entry.token, agent=entry.agent)
    room = EnteredRoom(entry=entry, row=row, opened=_opened(entry, row))
    around.opened(room.opened)
    return room


async def reopen_room(room: EnteredRoom, *, server: str, around: Surroundings) -> None:
    """Begin a new conversation where the room's was deleted."""
    fresh = await enter_room(room.entry, server=server, around=around)
    room.row, room.opened = fresh.row, fresh.opened


def _opened(entry: RoomEntry, row: RoomRow) -> OpenRoom:
    return OpenRoom(
        room=Room(name=entry.name, settings=entry.settings),
        conversation=row.conversation,
        owner=row.owner,
        agent=entry.agent,
        readers=entry.readers,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Placing:
    """For all rooms of one Nextcloud."""

    api: TalkApi
    around: Surroundings

    async def settle(self, room: EnteredRoom, *, up_to: int) -> None:
        """Carry all changes, then put what waits into the conversation, up to a message. Raises
        Trouble where it has to wait."""
        try:
            await self._carry_changes(room)
            await self._place(room, up_to)
        except NotFound:
            await reopen_room(room, server=self.api.server, around=self.around)
            raise Trouble(
                f"the room {room.entry.name}: its conversation was deleted, and a new one begins"
            ) from None
        except TurnRunning:
            raise Trouble(
                f"the room {room.entry.name}: an answer is being written", seconds=BUSY_SECONDS
            ) from None
        except Refused as error:
            raise Trouble(
                f"the room {room.entry.name}: {error.message}", seconds=FULL_SECONDS
            ) from None

    async def _place(self, room: EnteredRoom, up_to: int) -> None:
        key = room.row.key
        while waiting := await waiting_messages(room=key, up_to=up_to):
            placed, empty = [], []
            for one in waiting:
                files = await take_files(one.message.files, room, api=self.api, around=self.around)
                if one.message.text or files.attachments:
                    placed.append(PlacedMessage(waiting=one, attachments=files.attachments))
                else:
                    empty.append(one.message.id)
            keep = self.around.keep
            if empty:
                await skip_messages(room=key, numbers=empty, keep=keep)
            came = await place_messages(room=key, agent=room.entry.agent, placed=placed, keep=keep)
            if came is not None:
                self.around.came(room.row.conversation, came)

    # ---- changes -------------------------------------------------------------------------------
    async def _carry_changes(self, room: EnteredRoom) -> None:
        row = room.row
        behind = await lag(room=row.key)
        if behind.to_clear:
            await self._clear(room)
        for one in behind.messages:
            await self._carry(room, one)
            await caught_up(room=row.key, carried=one)

    async def _clear(self, room: EnteredRoom) -> None:
        row = room.row
        owner, conversation = row.owner, row.conversation
        if await has_begun(owner=owner, conversation=conversation):
            await clear_conversation(owner=owner, conversation=conversation)
            await self.around.cleared(owner, conversation)
        await caught_up(room=row.key, cleared=True)

    async def _carry(self, room: EnteredRoom, one: LaggingMessage) -> None:
        owner = room.row.owner
        try:
            if one.text is None:
                changed = await delete_message(owner=owner, message=one.id)
            else:
                changed = await edit_message(owner=owner, message=one.id, text=one.text)
        except (NotFound, BadCommand):
            return  # it is gone there already, or nothing of its text is left
        await self.around.changed(owner, room.row.conversation, changed)

    async def forget(self, room: EnteredRoom) -> bool:
        """Forget all that was said; False where nothing was."""
        row = room.row
        owner, conversation = row.owner, row.conversation
        if not await has_begun(owner=owner, conversation=conversation):
            return False
        changed = await forget_all(owner=owner, conversation=conversation)
        await self.around.changed(owner, conversation, changed)
        return True
