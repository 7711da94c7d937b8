"""Conversations that are open on one server and answered on another.

A server says which conversations its pages have open. Another one that writes there tells it every
event, as a page is sent it; where nobody has the conversation open elsewhere, nothing is told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from chatsite.cluster.notes import Note, Notes
from chatsite.cluster.presence import LOOK_SECONDS, Presence
from chatsite.conversations.turn.end import end_interrupted
from chatsite.conversations.turn.rounds import is_running, running_turns, turns_of
from chatsite.events import Relayed
from chatsite.turns.answer.feed import ConversationFeeds
from chatsite.turns.elsewhere.forwarding import Forwarding

logger = logging.getLogger("chatsite.turns")
# How long a page may go on showing an answer whose end was told and not heard.
CHECK_SECONDS = 5.0
# Of one note: conversations that are open.
PIECE = 500


@dataclass(eq=False)
class OtherServers:
    """What pages on other servers are told, and what pages here get from them.

    `do` says what else a server may ask of this one, by name; each gets one text. `changed` is
    called where the text of a conversation was changed elsewhere; `writes` says whether this server
    writes an answer there; `look` is called every few seconds, for what nobody is told of.
    """

    feeds: ConversationFeeds
    presence: Presence
    do: Mapping[str, Callable[[str], object]]
    changed: Callable[[str], None]
    writes: Callable[[str], bool]
    look: Callable[[], Awaitable[None]]

    def __post_init__(self) -> None:
        self.notes = Notes(
            self.presence,
            take=self._take,
            linked=lambda server: self._say_open([server], self._here),
            missed=self._missed,
        )
        self.forwarding = Forwarding(self.feeds, self.notes)
        self._here: set[str] = set()
        # By conversation: the turn of another server that pages here show.
        self._shown: dict[str, str] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        self.feeds.elsewhere = self
        self.presence.came, self.presence.went = self.notes.came, self._went
        self.presence.address = await self.notes.listen()
        self._tasks = [asyncio.create_task(one) for one in (self._check(), self.forwarding.run())]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await self.notes.stop()

    def ask(self, servers: Iterable[str], what: str, about: str) -> None:
        """Have these servers do what they know under this name."""
        self.notes.tell(servers, {"type": "do", "what": what, "about": about})

    async def until_ended(self, conversation: str, client_id: str = "") -> None:
        """Wait until no server writes an answer there: none that the client id began, if one is
        given."""
        while await is_running(conversation=conversation, client_id=client_id):  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)

    def reopen(self, conversation: str) -> None:
        """Have all pages look again, here and elsewhere: this server ended a dead one's answer."""
        self._shown.pop(conversation, None)
        self.feeds.reopen(conversation)
        self.forwarding.reopen(conversation)

    # ---- what this server's pages have open ----------------------------------------------------
    def opened(self, conversation: str) -> None:
        self._here.add(conversation)
        self._say_open(self.presence.others, [conversation])

    def closed(self, conversation: str) -> None:
        self._here.discard(conversation)
        self._shown.pop(conversation, None)
        note = {"type": "closed", "conversation": conversation}
        self.notes.tell(self.presence.others, note)

    def shows(self, conversation: str, turn: str) -> None:
        """A page here was shown a turn of another server."""
        if conversation in self._here:
            self._shown[conversation] = turn

    def _say_open(self, servers: Iterable[str], conversations: Iterable[str]) -> None:
        every = list(conversations)
        for start in range(0, len(every), PIECE):
            note = {"type": "opened", "conversations": every[start : start + PIECE]}
            self.notes.tell(servers, note)

    def _went(self, server: str) -> None:
        self.notes.went(server)
        self.forwarding.forget(server)

    # ---- what happened elsewhere -------------------------------------------------------------
    def _take(self, sender: str, note: Note) -> None:
        match note:
            case {"type": "event", "conversation": conversation, "event": event}:
                self._relay(conversation, Relayed(event))
            case {"type": "opened", "conversations": conversations}:
                for one in conversations:
                    self.forwarding.opened(one, sender)
            case {"type": "closed", "conversation": conversation}:
                self.forwarding.closed(conversation, sender)
            case {"type": "do", "what": what, "about": about} if what in self.do:
                self.do[what](about)
            case {"type": "reopen", "conversation": conversation}:
                self._shown.pop(conversation, None)
                self.feeds.reopen(conversation)

    def _relay(self, conversation: str, event: Relayed) -> None:
        if event.type in ("path_changed", "messages_changed", "cleared", "deleted"):
            self.changed(conversation)
        if event.type == "turn_started":
            self.shows(conversation, event.wire["turn"])
        elif event.type == "turn_ended":
            self._shown.pop(conversation, None)
        if (feed := self.feeds.known(conversation)) is not None:
            feed.relay(event)

    def _missed(self, server: str) -> None:
        """Some notes are missing: what is open here may be outdated. The server says anew what its
        pages have open."""
        self.forwarding.forget(server)
        self._reopen_all()

    def renew(self) -> None:
        """Others know this server by another number now; what they told the former one is lost."""
        self.notes.renew()
        self._reopen_all()

    def _reopen_all(self) -> None:
        for conversation in list(self._here):
            self._shown.pop(conversation, None)
            self.feeds.reopen(conversation)

    async def _check(self) -> None:
        """Ask the rows for what notes may have been lost of."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            self.forwarding.forget_old()
            try:
                await self._check_own()
                await self._check_shown()
                await self.look()
            except Exception:
                logger.exception("what other servers do couldn't be looked up")

    async def _check_own(self) -> None:
        """A turn whose beginning or end was stored as the connection broke isn't written here, and
        no other server may end it."""
        own = self.presence.id
        for conversation, turn, stop in await turns_of(server=own):
            if self.writes(conversation):
                if stop:
                    self.do["stop"](conversation)
            elif await end_interrupted(turn=turn, own=own):
                self.reopen(conversation)

    async def _check_shown(self) -> None:
        """Whether what is shown of other servers still runs, and whether they are heard: otherwise
        pages get what was saved since."""
        shown = dict(self._shown)
        running = await running_turns(turns=list(shown.values())) if shown else {}
        for conversation, turn in shown.items():
            if self._shown.get(conversation) == turn and running.get(turn) not in self.notes.heard:
                del self._shown[conversation]
                self.feeds.reopen(conversation)
