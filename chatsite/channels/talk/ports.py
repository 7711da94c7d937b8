"""What the Talk channel needs of the others, which `wiring` fills."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from chatsite.channels.rooms import OpenRoom
from chatsite.channels.talk.rooms_file import RoomEntry
from chatsite.conversations.values.owners import Owner
from chatsite.conversations.values.room_records import (
    LaggingMessage,
    PlacedMessage,
    RoomArrival,
    RoomChange,
    RoomMessage,
    RoomRow,
    WaitingMessage,
)
from chatsite.files.intake import Intake, ReceivedFile
from chatsite.messages import Attachment
from chatsite.turns.context.turn_context import PageRequest
from chatsite.turns.ports import WorkRunner


class Lag(Protocol):
    """What the conversation lacks of the room's changes."""

    @property
    def messages(self) -> Sequence[LaggingMessage]: ...
    @property
    def to_clear(self) -> bool: ...


class RoomStore(Protocol):
    """The store's units of work for rooms; `conversations.store` is one."""

    def open_room(self, *, server: str, token: str, agent: str) -> RoomRow: ...
    def begin_room(self, *, room: int, newest: int) -> RoomRow: ...
    def take_messages(
        self,
        *,
        room: int,
        messages: Sequence[RoomMessage],
        changes: Sequence[RoomChange] = (),
        last_known: int | None = None,
        keep: int,
    ) -> tuple[RoomArrival, ...]: ...
    def unfinished(self, *, room: int) -> tuple[RoomArrival, ...]: ...
    def posted(self, *, room: int, about: str) -> frozenset[str]: ...
    def waiting_messages(self, *, room: int, up_to: int) -> tuple[WaitingMessage, ...]: ...
    def is_to_be_answered(self, *, room: int, number: int) -> bool: ...
    def take_question(self, *, room: int, number: int) -> WaitingMessage | None: ...
    def place_messages(
        self, *, room: int, agent: str, placed: Sequence[PlacedMessage], keep: int
    ) -> Any: ...
    def skip_messages(self, *, room: int, numbers: Sequence[int], keep: int) -> None: ...
    def finish_question(self, *, room: int, number: int, asked: str, keep: int) -> None: ...
    def lag(self, *, room: int) -> Lag: ...
    def caught_up(
        self, *, room: int, carried: LaggingMessage | None = None, cleared: bool = False
    ) -> None: ...
    def last_receipt(self, *, owner: Any, conversation: str) -> dict[str, Any] | None: ...
    def has_begun(self, *, owner: Any, conversation: str) -> bool: ...
    def forget_all(self, *, owner: Any, conversation: str) -> Any: ...
    def edit_message(self, *, owner: Any, message: str, text: str) -> Any: ...
    def delete_message(self, *, owner: Any, message: str) -> Any: ...
    def clear_conversation(self, *, owner: Any, conversation: str) -> Any: ...
    def require_quota(self, owner: Any, *, size: int) -> None: ...
    def store_upload(self, owner: Any, *, name: str, taken: ReceivedFile) -> Attachment: ...


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
    """Storage, and what the channel asks of turns and pages.

    `stop` stops the answer that is being written in a conversation, False where none is; `policy`
    says in words what is remembered there. `came` shows the pages what was said (a `TextChange`);
    `changed` tells them, and what was made of the old text, what is otherwise now; `cleared` that
    nothing is left. `opened` lets readers find the room in the page. `keep` is how many messages of
    a room are kept.
    """

    run: WorkRunner
    store: RoomStore
    intake: Intake
    stop: Callable[[Owner, str], Awaitable[bool]]
    policy: Callable[[PageRequest], Awaitable[str]]
    came: Callable[[str, Any], None]
    changed: Callable[[Owner, str, Any], Awaitable[None]]
    cleared: Callable[[Owner, str], Awaitable[None]]
    opened: Callable[[OpenRoom], None]
    keep: int
    pace: Pace = Pace()


@dataclass(slots=True, kw_only=True)
class TalkRoom:
    """A room that is open: what the file says of it, its row, and its place in the page.
    `one_to_one`: the server says that nobody is in it but one person and the bot.

    `asking` is the number of the message that is being answered, `turn` its turn once that is
    known; `about` are the ids of who asked it and of whom it names; `stopped` is the one that was
    stopped before its answer was begun. `unsure`: a post may have arrived of which nothing is
    known.
    """

    entry: RoomEntry
    row: RoomRow
    opened: OpenRoom
    one_to_one: bool = False
    asking: int = 0
    about: frozenset[str] = frozenset()
    turn: str = ""
    stopped: int = 0
    unsure: bool = False

    def request(self) -> PageRequest:
        return PageRequest(
            owner=self.row.owner,
            conversation=self.row.conversation,
            agent=self.entry.agent,
            query="",
            url_allowed=False,
            room=self.opened.room,
        )
