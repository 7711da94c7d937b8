"""Talk as a channel: rooms are read side by side, and each is answered in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from django.conf import settings

from chatsite.channels.channel import Answer, Question, Trouble
from chatsite.talk.api import TalkApi
from chatsite.talk.contents import TalkTrouble
from chatsite.talk.models import TalkMessage
from chatsite.talk.placing import Placing, enter_room, take_files
from chatsite.talk.posting import Posting
from chatsite.talk.reader import ACCOUNT, Health, RoomReader
from chatsite.talk.records import RoomArrival, stored_id
from chatsite.talk.room_path import (
    WaitingMessage,
    finish_question,
    is_to_be_answered,
    skip_messages,
    take_question,
)
from chatsite.talk.rooms import last_receipt
from chatsite.talk.rooms_file import RoomsFile
from chatsite.talk.surroundings import EnteredRoom, Surroundings
from chatsite.talk.text.messages import Reference, id_of_actor, is_message, named_ids
from chatsite.talk.text.rules import FORGET, POLICY
from chatsite.talk.text.words import (
    acknowledgement,
    answer_text,
    file_refused,
    forgotten,
    why_words,
)

T = TypeVar("T")
STOPPED = Answer(turn="", state="stopped", text="", problem=None, receipt=None)


class TalkChannel:
    """`channels.channel.Channel` for the rooms of one Nextcloud."""

    name = "Talk"

    def __init__(self, file: RoomsFile, *, api: TalkApi, around: Surroundings) -> None:
        self._file, self._api, self._around = file, api, around
        self._placing = Placing(api=api, around=around)
        self._health = Health()
        self._readers: dict[str, RoomReader] = {}
        self._posting = Posting(self._readers, api=api, around=around)

    # ---- receiving -----------------------------------------------------------------------------
    async def receive(self) -> AsyncIterator[RoomArrival]:
        arrivals: asyncio.Queue[RoomArrival] = asyncio.Queue()
        for entry in self._file.rooms:
            room = await enter_room(entry, server=self._file.server, around=self._around)
            self._readers[entry.token] = RoomReader(
                room,
                api=self._api,
                around=self._around,
                health=self._health,
                announce=arrivals.put_nowait,
            )
        following = [asyncio.create_task(one.follow()) for one in self._readers.values()]
        try:
            while True:
                yield await arrivals.get()
        finally:
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)

    def key(self, arrival: RoomArrival) -> str:
        """Gives each change another key: what is changed while a change is carried comes again."""
        return f"{arrival.kind} {arrival.token}/{arrival.id}/{arrival.known}"

    def place(self, arrival: RoomArrival) -> str:
        """Lets words about the policy wait for no answer; all else has its order."""
        apart = arrival.kind == "command" and arrival.command != FORGET
        return f"{arrival.token} commands" if apart else arrival.token

    def language(self, arrival: RoomArrival) -> str:
        return self._readers[arrival.token].room.entry.language or settings.LANGUAGE_CODE

    async def close(self) -> None:
        await self._api.close()

    async def _patiently(self, arrival: RoomArrival, attempt: Callable[[], Awaitable[T]]) -> T:
        """Makes the attempt. A withdrawn password is logged once and waited for; other trouble is
        raised with the room's name, and the supervisor tries again."""
        while True:
            try:
                return await attempt()
            except TalkTrouble as trouble:
                if trouble.concern != "account":
                    name = self._readers[arrival.token].room.entry.name
                    raise Trouble(
                        f"the room {name}: {trouble.message}", seconds=trouble.seconds
                    ) from None
                self._health.refused(trouble.message)
                await self._health.wait_for(ACCOUNT)

    # ---- who asks ------------------------------------------------------------------------------
    async def who(self, arrival: RoomArrival) -> Question | None:
        return await self._patiently(arrival, lambda: self._asked(arrival))

    async def _asked(self, arrival: RoomArrival) -> Question | None:
        room = self._readers[arrival.token].room
        if arrival.kind == "command":
            await self._follow_command(arrival, room)
            return None
        if arrival.kind == "settles":
            await self._placing.settle(room, up_to=arrival.id)
            return None
        asked = {"room": room.row.pk, "number": arrival.id}
        if not await is_to_be_answered(**asked):
            return None  # what takes its place is behind it, and reads it
        await self._placing.settle(room, up_to=arrival.id - 1)
        taken = await take_question(**asked)
        if taken is None:
            return None
        if taken.message.kind == "deleted":
            await self._finish(room, arrival, asked=taken.id)
            return None
        room.asking, room.turn = arrival.id, ""
        question = await self._question(room, taken)
        if room.stopped == arrival.id:
            await self._post_answer(arrival, STOPPED)
            return None
        return question

    async def _question(self, room: EnteredRoom, taken: WaitingMessage) -> Question:
        said, files = taken.message, taken.message.shared_files
        room.about = await self._named(room, said)
        uploads, refused = await take_files(files, room, api=self._api, around=self._around)
        if refused:
            note = "\n".join(file_refused(name, why) for name, why in refused)
            reference = Reference(taken.id, "progress")
            await self._posting.say(room, note, reference, reply_to=said.number)
        return Question(
            request=room.request(),
            client_id=f"talk:{said.number}",
            text=said.text,
            source="talk",
            speaker=said.name,
            id=taken.id,
            reply_to=taken.reply_to,
            attachments=[one.id for one in uploads],
            person=f"talk:{said.actor}",
        )

    async def _named(self, room: EnteredRoom, said: TalkMessage) -> frozenset[str]:
        """Gives the ids of who asked and of whom they name. The server is asked about the latter:
        the stored text has names, and anybody may call themselves as they like."""
        asker = frozenset(filter(None, [id_of_actor(said.actor)]))
        if "@" not in said.text:
            return asker
        token, number = room.entry.token, said.number
        page = await self._api.poll(token, after=number - 1, seconds=0, limit=1)
        return asker.union(*(named_ids(one) for one in page.messages if is_message(one, number)))

    # ---- answering -----------------------------------------------------------------------------
    async def acknowledge(self, arrival: RoomArrival, turn: str) -> None:
        room = self._readers[arrival.token].room
        room.turn = turn
        # The answer comes anyway, and says what is wrong until it does.
        with suppress(TalkTrouble):
            # Of the question, and not of the turn: after a crash it has a second one.
            reference = Reference(self._stored_id(arrival), "ack")
            await self._posting.once(room, acknowledgement(), reference, reply_to=arrival.id)

    async def say(self, arrival: RoomArrival, answer: Answer) -> None:
        await self._patiently(arrival, lambda: self._post_answer(arrival, answer))

    async def _post_answer(self, arrival: RoomArrival, answer: Answer) -> None:
        room = self._readers[arrival.token].room
        room.asking = 0
        message = self._stored_id(arrival)
        about = answer.turn or message
        text = answer_text(answer, about=room.about)
        reference = Reference(about, "result")
        await self._posting.say(room, text, reference, reply_to=arrival.id, about=room.about)
        await self._finish(room, arrival, asked=message if answer.turn else "")

    def _stored_id(self, arrival: RoomArrival) -> str:
        return stored_id(self._file.server, arrival.token, arrival.id)

    async def _finish(self, room: EnteredRoom, arrival: RoomArrival, *, asked: str) -> None:
        await finish_question(
            room=room.row.pk, number=arrival.id, asked=asked, keep=self._around.keep
        )
        await self._placing.settle(room, up_to=arrival.id)

    # ---- commands ------------------------------------------------------------------------------
    async def _follow_command(self, arrival: RoomArrival, room: EnteredRoom) -> None:
        text = await self._words(arrival, room)
        reference = Reference(self._stored_id(arrival), "progress")
        await self._posting.say(room, text, reference, reply_to=arrival.id)
        await skip_messages(room=room.row.pk, numbers=[arrival.id], keep=self._around.keep)

    async def _words(self, arrival: RoomArrival, room: EnteredRoom) -> str:
        if arrival.command == POLICY:
            return await self._around.policy(room.request())
        if arrival.command != FORGET:
            receipt = await last_receipt(owner=room.owner, conversation=room.conversation)
            return why_words(receipt)
        await self._placing.settle(room, up_to=arrival.id)
        return forgotten(await self._placing.forget(room))
