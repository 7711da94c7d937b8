"""A running Talk channel for tests: real turns and storage, on a Talk-shaped server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from chatsite.channels.channel import Rooms
from chatsite.channels.desk import Desk
from chatsite.channels.supervisor import Channels
from chatsite.conversations.models import Message
from chatsite.conversations.owners import Owner
from chatsite.files.intake import Intake
from chatsite.talk.api import TalkApi
from chatsite.talk.channel import TalkChannel
from chatsite.talk.models import TalkMessage
from chatsite.talk.rooms import opened_rooms
from chatsite.talk.rooms_file import RoomEntry, RoomsFile
from chatsite.talk.surroundings import Pace, Surroundings
from chatsite.talk.text.words import policy_words
from chatsite.turns.context.turn_context import PageRequest
from tests.fakes.talk_server import BOT, PASSWORD, FakeTalk
from tests.presence import leading
from tests.turns.conftest import World

TOKEN = "harbour1"
PATIENCE = 20.0
QUICK = Pace(poll=1, refused=0.05, first=0.02, longest=0.1)


def entry(token: str = TOKEN, **said: Any) -> RoomEntry:
    return RoomEntry(**{"token": token, "name": "Harbour works", "agent": "demo", **said})


class Running:
    """`async with Running(world, talk, desk, folder) as rooms:` follows the rooms until the end."""

    def __init__(
        self,
        world: World,
        talk: FakeTalk,
        desk: Desk,
        folder: Path,
        *,
        rooms: Sequence[RoomEntry] = (),
        keep: int = 200,
    ) -> None:
        self.world, self.talk = world, talk
        self.rooms = Rooms()
        self.changes: list[Any] = []
        self.shown: list[str] = []
        self.cleared: list[str] = []
        file = RoomsFile(
            server=talk.url, user=BOT, password=PASSWORD, rooms=tuple(rooms) or (entry(),)
        )
        self.rooms.find = partial(opened_rooms, file)
        around = Surroundings(
            intake=Intake(folder, kept_free=0),
            stop=self._stop,
            policy=self._policy,
            came=self._came,
            changed=self._changed,
            cleared=self._cleared,
            opened=self.rooms.look,
            keep=keep,
            pace=QUICK,
        )
        api = TalkApi(server=talk.url, user=BOT, password=PASSWORD)
        self.channel = TalkChannel(file, api=api, around=around)
        self.channels = Channels(
            [self.channel], desk, presence=leading(), first_wait=0.02, drain_seconds=0.2
        )

    async def _stop(self, owner: Owner, conversation: str) -> bool:
        turns = self.world.turns
        return turns.is_running(conversation) and await turns.stop(owner, conversation)

    async def _policy(self, request: PageRequest) -> str:
        return policy_words((await self.world.turns.drafts.context(request)).settings)

    def _came(self, conversation: str, change: Any) -> None:
        self.shown += [view.message.content for view in change.changed.messages]

    async def _changed(self, owner: Owner, change: Any) -> None:
        self.changes.append(change)

    async def _cleared(self, conversation: str) -> None:
        self.cleared.append(conversation)

    async def __aenter__(self) -> Running:
        self.channels.start()
        await self.until(lambda: self.talk.polling)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.kill()

    async def kill(self) -> None:
        """As a power cut: nothing is drained, what is being answered ends with it."""
        lanes = [lane.task for lane in self.channels._lanes.values() if lane.task is not None]
        for task in lanes:
            task.cancel()
        if lanes:
            await asyncio.wait(lanes)
        for running in list(self.world.turns.running._running.values()):
            if running.writer is not None and running.task is not None:
                running.writer.cancel("interrupted")
                await asyncio.wait([running.task])
        await self.channels.drain()

    # ---- what became of it ---------------------------------------------------------------------
    async def until(self, condition: Callable[[], Any], *, seconds: float = PATIENCE) -> Any:
        """Wait for what a server does; what the condition found."""
        async with asyncio.timeout(seconds):
            while not (found := condition()):  # noqa: ASYNC110 - another thread
                await asyncio.sleep(0.01)
        return found

    async def answered(self, count: int = 1, token: str = TOKEN) -> list[str]:
        """The texts of so many answers, once they are posted and finished."""
        await self.until(lambda: len(self.talk.posts(token)) >= count)
        await self.settled(token)
        return self.talk.posts(token)

    async def settled(self, token: str = TOKEN) -> None:
        """Until nothing is left to be done with what the room has now."""
        newest = self.talk.rooms[token].messages[-1]["id"]

        async def done() -> bool:
            rows = await self.rows(token)
            known = {row.number for row in rows}
            open_rows = [row for row in rows if row.state != "finished" or row.changed]
            lanes = [place for _, place in self.channels._lanes if place.startswith(token)]
            return newest in known and not open_rows and not lanes

        async with asyncio.timeout(PATIENCE):
            while not await done():  # noqa: ASYNC110 - another thread
                await asyncio.sleep(0.01)

    async def rows(self, token: str = TOKEN) -> list[TalkMessage]:
        rows = TalkMessage.objects.filter(room__token=token).order_by("number")
        return await self.world.run(list, rows)

    async def path(self, token: str = TOKEN) -> list[tuple[str, str, str]]:
        """Role, speaker and text of what is in the room's conversation, in order."""
        found = UUID(self.conversation(token))
        rows = Message.objects.filter(conversation=found, on_path=True).order_by("seq")
        values = rows.values_list("role", "speaker", "content")
        return [(a, b, c or "") for a, b, c in await self.world.run(list, values)]

    def conversation(self, token: str = TOKEN) -> str:
        return self.channel._readers[token].room.conversation

    def sent(self, request: int = -1) -> list[str]:
        """What the model got with a request, without its instructions."""
        messages = self.world.provider.requests[request].messages
        return [one.content or "" for one in messages if one.role != "system"]
