"""Reads one room: everything is stored before anything is done with it."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from chatsite.channels.supervisor import Backoff
from chatsite.talk.api import PAGE, TalkApi
from chatsite.talk.contents import Page, TalkTrouble, within
from chatsite.talk.records import RoomArrival, RoomMessage, RoomReaction, stored_id
from chatsite.talk.room_cache import take_messages, unfinished
from chatsite.talk.rooms import begin_room
from chatsite.talk.surroundings import EnteredRoom, Surroundings
from chatsite.talk.text.messages import (
    number,
    read_change,
    read_message,
    read_reaction,
    read_reference,
)
from chatsite.talk.text.rules import is_stop, is_stop_sign, judge, withdrawal

logger = logging.getLogger("chatsite.channels")
ACCOUNT, SERVER = "account", "server"


class Health:
    """Keeps what doesn't work with one Nextcloud; a `key` names the server, the account or a
    room."""

    def __init__(self) -> None:
        self._wrong: set[str] = set()
        self._times: Counter[str] = Counter()
        self._better = asyncio.Event()

    def wrong(self, key: str, sentence: str) -> None:
        if key not in self._wrong:
            logger.error("Talk: %s", sentence)
        self._wrong.add(key)
        self._times[key] += 1

    def refused(self, sentence: str) -> None:
        """Notes that the server doesn't accept the bot's account."""
        self.wrong(ACCOUNT, f"{sentence}; nothing is read or posted")

    def times(self) -> Mapping[str, int]:
        """Counts how often each key went wrong so far, for `well`."""
        return Counter(self._times)

    def well(self, key: str, sentence: str, *, before: Mapping[str, int]) -> None:
        """Notes that the server answered a request, which began when `key` had gone wrong as often
        as `before` says. If `key` went wrong since, the answer is older than the trouble and says
        nothing."""
        if key not in self._wrong or self._times[key] != before.get(key, 0):
            return
        self._wrong.discard(key)
        logger.info("Talk: %s", sentence)
        self._better.set()
        self._better = asyncio.Event()

    async def wait_for(self, key: str) -> None:
        """Waits until `key` works again."""
        while key in self._wrong:
            await self._better.wait()


# A server that answers a long poll at once would be asked without a pause.
SHORTEST_POLL = 1.0
# Seconds. A proxy between may break off what waits for longer than it likes; none is so impatient.
SHORTEST_WAIT = 5
# What Talk calls a room of one person and the bot.
ONE_TO_ONE = 1
# How many messages are stored in one transaction.
AT_ONCE = 50

Announce = Callable[[RoomArrival], None]


@dataclass(eq=False)
class RoomReader:
    """Follows one room, as long as it runs."""

    room: EnteredRoom
    api: TalkApi
    around: Surroundings
    health: Health
    announce: Announce

    def __post_init__(self) -> None:
        self._known = self.room.row.last_known
        self._limit, self._passed = PAGE, False
        self._seconds = self.around.pace.poll

    # ---- as long as the server runs ------------------------------------------------------------
    async def follow(self) -> None:
        """Reads up to the newest message, then announces what storage holds unfinished, and from
        then on what comes. Trouble is logged once; only a cancellation ends this."""
        backoff, begun = Backoff(self.around.pace.first), False
        now = asyncio.get_running_loop().time
        while True:
            began = now()
            try:
                if not begun:
                    await self._begin()
                    begun = True
                before = self.health.times()
                came = await self.read_up(self._seconds)
                self._well(before)
                backoff = Backoff(self.around.pace.first)
                if not came and now() - began < min(SHORTEST_POLL, self._seconds):
                    await asyncio.sleep(SHORTEST_POLL)
            except TalkTrouble as trouble:
                # A page may also be more than the server or the line can do.
                self._limit = max(1, self._limit // 2)
                if (spent := int(now() - began)) >= SHORTEST_WAIT:
                    self._seconds = min(self._seconds, max(SHORTEST_WAIT, spent // 2))
                await asyncio.sleep(self._wrong(trouble, backoff))
            except Exception:
                logger.exception("Talk: the room %s failed, and is read anew", self._name)
                await asyncio.sleep(backoff.next())

    async def _begin(self) -> None:
        said = await self.api.described(self.room.entry.token)
        self.room.one_to_one = number(said.get("type")) == ONE_TO_ONE
        if self._known is None:
            seen = number(within(said, "lastMessage", "id"))
            newest = max(await self.api.newest(self.room.entry.token), seen)
            begun = await begin_room(room=self.room.row.pk, newest=newest)
            self._known = begun.last_known or 0
        await self._read(0, [])
        # In their order: what was being answered comes before what was said since.
        for arrival in await unfinished(room=self.room.row.pk):
            self.announce(arrival)

    async def read_up(self, seconds: int) -> bool:
        """Takes all that came, waiting so long for the first message, and tells whether any came.
        All is stored before it is announced: what was asked meanwhile is read together."""
        found: list[RoomArrival] = []
        try:
            return await self._read(seconds, found)
        finally:
            for arrival in found:
                self.announce(arrival)

    async def _read(self, seconds: int, found: list[RoomArrival]) -> bool:
        """Does the same, and adds what is to be done to `found`, whatever goes wrong then."""
        came = False
        while True:
            before = self._known or 0
            page = await self.api.poll(
                self.room.entry.token,
                after=before,
                seconds=0 if came else seconds,
                limit=self._limit,
            )
            self._limit = PAGE
            self._say_passed(page)
            if not page.messages and page.last_given <= before:
                return came
            # A server may give more than it is asked for, and all that is taken is in memory twice.
            for start in range(0, len(page.messages) or 1, AT_ONCE):
                last = page.last_given if start + AT_ONCE >= len(page.messages) else 0
                some = Page(page.messages[start : start + AT_ONCE], last)
                found += await self._take(some, self._known or 0)
            came = True
            if self._known == before:
                return came  # it would be the same page again

    # ---- one page ------------------------------------------------------------------------------
    async def _take(self, page: Page, before: int) -> tuple[RoomArrival, ...]:
        bot, entry = self.api.user, self.room.entry
        read = [read_message(raw, bot=bot) for raw in page.messages]
        messages = [
            judge(one, entry, bot=bot, one_to_one=self.room.one_to_one)
            for one in read
            if one is not None
        ]
        changes = [read_change(raw, bot=bot) for raw in page.messages]
        changes += [withdrawal(message) for message in messages]
        known = max(page.last_given, *(message.id for message in messages), before)
        await self._stop(page, messages, before)
        found = await take_messages(
            room=self.room.row.pk,
            messages=messages,
            changes=[one for one in changes if one is not None],
            last_known=known,
            keep=self.around.keep,
        )
        self._known = max(self._known or 0, known)
        return found

    async def take_own(self, raw: object) -> None:
        """Takes a post of the bot, as the server answered it."""
        own = read_message(raw, bot=self.api.user)
        if own is None:
            self.room.unsure = True
            return
        await take_messages(room=self.room.row.pk, messages=[own], keep=self.around.keep)

    async def _stop(self, page: Page, messages: list[RoomMessage], before: int) -> None:
        """Stops an answer at once; the answers of the room wait for nothing else."""
        said = any(one.kind == "command" and is_stop(one) and one.id > before for one in messages)
        reactions = [read_reaction(raw) for raw in page.messages]
        signs = [one for one in reactions if one is not None and one.id > before]
        if not said and not any(self._is_meant(one) for one in signs):
            return
        if not await self.around.stop(self.room.owner, self.room.conversation):
            self.room.stopped = self.room.asking  # its files are still being fetched

    def _is_meant(self, reaction: RoomReaction) -> bool:
        """Tells whether a sign is at the question that is being answered, or at what the bot posted
        about it."""
        if not is_stop_sign(reaction, self.room.entry, bot=self.api.user):
            return False
        reference = read_reference(reaction.reference)
        about = reference.about if reference is not None else ""
        asking, token = self.room.asking, self.room.entry.token
        own = (self.room.turn, stored_id(self.api.server, token, asking))
        return bool(asking) and (reaction.message == asking or (bool(about) and about in own))

    # ---- what doesn't work ---------------------------------------------------------------------
    @property
    def _name(self) -> str:
        return f"{self.room.entry.name} ({self.room.entry.token})"

    @property
    def _key(self) -> str:
        return f"room {self.room.entry.token}"

    def _say_passed(self, page: Page) -> None:
        """Logs it once: whoever writes one such message may write many."""
        if page.passed and not self._passed:
            self._passed = True
            logger.error(
                "Talk: the room %s: a message is too long to be read, and is passed over",
                self._name,
            )

    def _wrong(self, trouble: TalkTrouble, backoff: Backoff) -> float:
        """Logs the trouble, and tells how long to wait."""
        pace = self.around.pace
        if trouble.concern == "account":
            self.health.refused(trouble.message)
        elif trouble.concern == "server":
            self.health.wrong(SERVER, trouble.message)
        else:
            self.health.wrong(self._key, f"the room {self._name}: {trouble.message}")
        if trouble.concern not in ("server", "busy"):
            return max(pace.refused, trouble.seconds)
        return max(min(backoff.next(), pace.longest), trouble.seconds)

    def _well(self, before: Mapping[str, int]) -> None:
        for key, sentence in (
            (ACCOUNT, "the user name and the app password are accepted again"),
            (SERVER, "the server answers again"),
            (self._key, f"the room {self._name} can be read again"),
        ):
            self.health.well(key, sentence, before=before)
