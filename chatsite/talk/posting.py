"""Posts in the rooms of one Nextcloud: every text once, in as many parts as the server takes."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from chatsite.talk.api import TalkApi
from chatsite.talk.contents import TalkTrouble
from chatsite.talk.reader import RoomReader
from chatsite.talk.room_cache import posted
from chatsite.talk.surroundings import EnteredRoom, Surroundings
from chatsite.talk.text.messages import Reference
from chatsite.talk.text.parts import Part, cut
from chatsite.talk.text.words import rings
from chatsite.wording import say

logger = logging.getLogger("chatsite.channels")
# What no server refuses for its length.
LEAST = 100
# The parts of a text that is cut smaller count from here on, so that those which were posted before
# a crash are known from those that would have been posted had the server taken longer ones.
SMALLER = 100_000


@dataclass(slots=True)
class _Said:
    """A text on its way. `begun`: something of it is posted; `thread` is where it goes on, None as
    long as nobody has asked."""

    room: EnteredRoom
    reference: Reference
    reply_to: int
    about: Collection[str]
    begun: bool = False
    thread: int | None = None


class Posting:
    """`readers` are those of the rooms, by their tokens."""

    def __init__(
        self, readers: Mapping[str, RoomReader], *, api: TalkApi, around: Surroundings
    ) -> None:
        self._readers, self._api, self._around = readers, api, around
        self._most = 0
        self._said = False

    async def say(
        self,
        room: EnteredRoom,
        text: str,
        reference: Reference,
        *,
        reply_to: int,
        about: Collection[str] = (),
    ) -> None:
        """Posts a text as a reply to a message; a long text goes on in the same thread. A part that
        the server doesn't take is cut smaller, and given up if the server doesn't take it however
        short it is: tried for ever, it would silence the room. It may ring for those in `about`.
        Raises TalkTrouble if a later try may work."""
        said = _Said(room, reference, reply_to, about)
        rest, smaller = text, 0
        while True:
            parts = cut(rest, max(await self._longest() >> smaller, LEAST))
            taken = await self._parts(said, parts, smaller)
            if taken == len(parts):
                return
            refused = len(parts[taken].text)
            if refused <= LEAST:
                await self._give_up(said)
                return
            self._say_smaller()
            rest = "".join([parts[taken].opening, *(one.body for one in parts[taken:])])
            while await self._longest() >> smaller >= refused:
                smaller += 1

    async def _parts(self, said: _Said, parts: Sequence[Part], smaller: int) -> int:
        """Posts the parts up to one that isn't taken, and returns how many are posted."""
        for number, part in enumerate(parts):
            if not part.text.strip():
                continue
            if said.begun and said.thread is None:
                token = said.room.entry.token
                said.thread = await self._api.thread_of(token, said.reply_to)
            try:
                await self.once(
                    said.room,
                    part.text,
                    said.reference._replace(part=smaller * SMALLER + number + 1),
                    reply_to=0 if said.begun else said.reply_to,
                    thread=said.thread or 0,
                    about=said.about,
                )
            except TalkTrouble as trouble:
                if trouble.concern != "request":
                    raise
                return number
            said.begun = True
        return len(parts)

    async def once(
        self,
        room: EnteredRoom,
        text: str,
        reference: Reference,
        *,
        reply_to: int,
        thread: int = 0,
        about: Collection[str] = (),
    ) -> None:
        """Posts a text, unless it was posted before. Raises TalkTrouble if it isn't taken or is to
        be tried again: then it may have arrived all the same."""
        if str(reference) in await self._posted(room, reference.about):
            return
        try:
            raw = await self._api.post(
                room.entry.token,
                text,
                reference=str(reference),
                reply_to=reply_to,
                thread=thread,
                silent=rings(text, about=about),
            )
        except TalkTrouble:
            room.unsure = True
            raise
        await self._readers[room.entry.token].take_own(raw)

    async def _posted(self, room: EnteredRoom, about: str) -> frozenset[str]:
        """Lists what was posted about a turn, also what arrived although nobody heard of it."""
        if room.unsure:
            await self._readers[room.entry.token].read_up(0)
            room.unsure = False
        return await posted(room=room.row.pk, about=about)

    async def _longest(self) -> int:
        """Tells how many characters a post may have."""
        if not self._most:
            self._most = await self._api.longest_message()
        return self._most

    def _say_smaller(self) -> None:
        """Logs once that posts are cut smaller. The server may have another limit by now."""
        self._most = 0
        if not self._said:
            self._said = True
            logger.warning("Talk: the server doesn't take a post; it is cut smaller")

    async def _give_up(self, said: _Said) -> None:
        entry = said.room.entry
        logger.error(
            "Talk: the room %s (%s): a post isn't taken, and is given up", entry.name, entry.token
        )
        note = Reference(said.reference.about, "progress", SMALLER)
        text = say("The room doesn't take this answer.")
        with suppress(TalkTrouble):
            await self.once(said.room, text, note, reply_to=said.reply_to)
