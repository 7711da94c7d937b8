"""What the Talk channel needs of the others, which `wiring` fills, and the rooms that are open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from chatsite.conversations.owners import Owner
from chatsite.conversations.versions.edits import TextChange
from chatsite.files.intake import Intake
from chatsite.talk.models import TalkRoom
from chatsite.talk.rooms_file import RoomEntry
from chatsite.turns.context.turn_context import PageRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Seconds: how long a poll waits, how long to wait after the account or a room was refused, and
    at first and at most after other trouble."""

    poll: int = 30
    refused: float = 180.0
    first: float = 1.0
    longest: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the channel asks of turns and pages.

    `stop` stops the answer that is being written in a conversation, False where none is; `policy`
    says in words what is remembered there. `came` shows the pages what was said (a `TextChange`);
    `changed` tells them, and what was made of the old text, what is otherwise now; `cleared` that
    nothing is left. `opened` lets readers find the room in the page. `keep` is how many messages of
    a room are kept.
    """

    intake: Intake
    stop: Callable[[Owner, str], Awaitable[bool]]
    policy: Callable[[PageRequest], Awaitable[str]]
    came: Callable[[str, TextChange], None]
    changed: Callable[[Owner, TextChange], Awaitable[object]]
    cleared: Callable[[str], Awaitable[None]]
    opened: Callable[[], Awaitable[None]]
    keep: int
    pace: Pace = Pace()


@dataclass(slots=True, kw_only=True)
class EnteredRoom:
    """A room that is open: what the file says of it, and its row. `one_to_one`: the server says
    that nobody is in it but one person and the bot.

    `asking` is the number of the message that is being answered, `turn` its turn once that is
    known; `about` are the ids of who asked it and of whom it names; `stopped` is the one that was
    stopped before its answer was begun. `unsure`: a post may have arrived of which nothing is
    known.
    """

    entry: RoomEntry
    row: TalkRoom
    one_to_one: bool = False
    asking: int = 0
    about: frozenset[str] = frozenset()
    turn: str = ""
    stopped: int = 0
    unsure: bool = False

    @property
    def owner(self) -> Owner:
        return self.row.owner

    @property
    def conversation(self) -> str:
        return str(self.row.conversation)

    def request(self) -> PageRequest:
        return PageRequest(
            owner=self.owner,
            conversation=self.conversation,
            agent=self.entry.agent,
            query="",
            url_allowed=False,
            room=self.entry.room,
        )
