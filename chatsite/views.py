"""What a page shows of a conversation, as records: the parts of a snapshot and of events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from chatsite.encoding import Record, encode
from chatsite.messages import Message, Role
from chatsite.wording import say

State = Literal["running", "complete", "stopped", "failed", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationView(Record):
    """One conversation in a list or at the top of the page.

    Times are ISO 8601, UTC; lists are ordered by `updated`, when the conversation was last used: a
    turn began or ended, it was cleared, copied or imported. `model` is the one chosen for it in the
    page, as `provider:name`; "": the agent's own. `history` is what was chosen of the policy and
    its settings, by the names of a link's parameters; `tuning` of the answers: `temperature` and
    `max_tokens`, without what the agent decides. `pinned` and `archived` say since when it is
    that, `folder` in which one it is. One that is `temporary` is in no list, and is erased when it
    is closed.
    """

    id: str
    agent: str
    title: str
    created: str
    updated: str
    model: str = ""
    history: Mapping[str, str] = field(default_factory=dict)
    pinned: str | None = None
    archived: str | None = None
    folder: str | None = None
    temporary: bool = False
    tuning: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit(Record):
    """A title or a message where a search found its words, or a bookmarked message. `parts` is the
    text around them, each with whether it was found. Of a title `seq` is None and `at` the
    conversation's last change."""

    conversation: str
    title: str
    agent: str
    at: str
    parts: tuple[tuple[str, bool], ...]
    seq: int | None = None
    role: str = ""
    archived: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage(Record):
    """`newest_first`: there are too many to weigh. `more` is where the next page begins. `filters`
    are those in force, as they were typed; `note` says of others why they aren't."""

    hits: tuple[SearchHit, ...]
    newest_first: bool
    more: int | None
    filters: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(Record):
    """What went wrong, what was kept and what can be done, for a person to read. So many `seconds`
    a new attempt is refused, 0: not known; they are told when it happens, and not stored."""

    code: str
    message: str
    seconds: int = 0

    def said(self) -> Problem:
        """A problem of a table, in the reader's language."""
        return replace(self, message=say(self.message))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote(Record):
    """The message that another one replies to; `text` is its beginning."""

    id: str
    seq: int
    role: Role
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Version(Record):
    """One of several messages in the same place of the tree. `at` is when it was written, or last
    changed by a person (`edited`). `model` answered it or wrote it, "" where that isn't known;
    `tokens` are those of the answer as reported, `cost` in US dollars is that of its turn."""

    id: str
    at: str
    model: str = ""
    tokens: int | None = None
    cost: float | None = None
    edited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageView(Record):
    """A stored message as the page shows it. `state` is that of its writing; of a user message
    that of its turn, where nothing of an answer is stored.

    `turn` is set where the message is a turn's answer, so that its receipt can be asked for.
    `problem` is what went wrong with the turn, said of the user message that began it; of an
    answer it says that the server cut the prompt. `state` "running" of a tool message: its call
    hasn't ended. `versions` are all messages in its place of the tree in order, where there are
    several: answers to the same message, a user message and what it was changed from. `edited`: a
    person has changed its text since it was written. `model` is the label of what wrote an answer,
    "" where that isn't known. `kept_whole`: its result, or the texts of its files, never give way.
    `in_force` are its instructions that are sent with every request, a line each; `offered` those
    that could be.
    """

    message: Message
    seq: int
    state: State
    created: str
    turn: str | None = None
    finish_reason: str = ""
    pinned: bool = False
    excluded: bool = False
    bookmarked: bool = False
    kept_whole: bool = False
    in_force: str = ""
    offered: str = ""
    reply: Quote | None = None
    problem: Problem | None = None
    versions: tuple[Version, ...] = ()
    edited: bool = False
    model: str = ""

    def to_dict(self) -> dict[str, Any]:
        message = self.message
        return {
            "id": message.id,
            "seq": self.seq,
            "role": message.role,
            "content": message.content,
            "reasoning": message.reasoning,
            "source": message.source,
            "speaker": message.speaker,
            "state": self.state,
            "created": self.created,
            "turn": self.turn,
            "finish_reason": self.finish_reason,
            "pinned": self.pinned,
            "excluded": self.excluded,
            "bookmarked": self.bookmarked,
            "kept_whole": self.kept_whole,
            "in_force": self.in_force,
            "offered": self.offered,
            "reply": encode(self.reply),
            "problem": encode(self.problem),
            "calls": encode(message.calls),
            "call_id": message.call_id,
            "attachments": encode(message.attachments),
            "tokens": encode(message.tokens),
            "versions": encode(self.versions),
            "edited": self.edited,
            "model": self.model,
            "kv_status": message.kv_status,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView(Record):
    """A turn that runs: `text` and `reasoning` are what has been written so far of the message
    that is being written; messages that the turn has finished are among the others. `calling` names
    the tools whose calls the model is writing; `waiting` is a sentence where the provider is to be
    asked again; `reading` is how much of a long prompt was read and how long it is, in tokens, both
    0 where the provider doesn't report it."""

    id: str
    user_message: str
    text: str = ""
    reasoning: str = ""
    calling: tuple[str, ...] = ()
    waiting: str = ""
    reading: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryView(Record):
    """The running summary that holds for the path, of `messages` up to the sequence number `last`;
    version 0 where there is none. `on`: it may be sent and made in this conversation. `compaction`
    is the version that a person put in the place of older turns, which this one is or was made
    from; `undone` the newest that can be applied again. 0: there is none."""

    on: bool = True
    version: int = 0
    messages: int = 0
    by: str = ""
    last: int = 0
    compaction: int = 0
    undone: int = 0
