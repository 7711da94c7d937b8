"""The protocol between the server and the worker: one line of JSON asks, one line answers.

A stored message travels under its sequence number. The answer names it by that number, never by
its text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from chatsite.agents.template import Template
from chatsite.history import Head, Transcript, Window
from chatsite.history.evidence import TEXT_ROLES, StrategySlot
from chatsite.history.path.in_force import instructions_message
from chatsite.history.path.marks import kept_in_force, remembered_from, selectable_entries
from chatsite.history.path.transcript import split_turns
from chatsite.history.room import RequestRoom
from chatsite.messages import UNSOUND, Attachment, Message, TokenCount, ToolCall

# In an answer: the worker ends with it, since the strategy left threads behind.
LAST = "last"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyInput:
    """What a strategy builds the context from.

    `history` holds the messages before the current one, oldest first, each with its sequence
    number; `input` is the current message's text. `budget` is how many tokens the history may
    take, `limit` how many the whole prompt may.
    """

    history: tuple[tuple[int, Message], ...]
    input: str
    budget: int
    limit: int
    slug: str
    name: str
    personality: str

    @classmethod
    def from_transcript(
        cls,
        transcript: Transcript,
        template: Template,
        *,
        head: Head,
        window: Window,
        budget: int | None,
    ) -> StrategyInput:
        """Return the messages before the current one that may be sent, and the tokens there are for
        them.

        `budget` is that of the settings. Every message must carry its tokens (else ValueError).
        """
        stored = [entry for entry in transcript.entries if entry.message.role != "system"]
        current = [entry.message for entry in split_turns(stored)[-1].entries]
        replied = current[0].reply_to
        before = selectable_entries(transcript, reply_to=frozenset({replied} if replied else ()))
        kept = kept_in_force(transcript.entries, remembered_from(transcript.entries))
        room = RequestRoom.of(
            window,
            budget=budget,
            head=head,
            system=[entry.message for entry in before if entry.message.role == "system"],
            current=current,
            in_force=[instructions_message(kept)] if kept else (),
        )
        return cls(
            history=tuple((entry.seq, entry.message) for entry in before),
            input=current[0].content or "",
            budget=max(0, room.limit - room.fixed),
            limit=room.limit,
            slug=template.slug,
            name=template.name,
            personality=template.personality,
        )

    def to_dict(self) -> dict[str, object]:
        others = {each.name: getattr(self, each.name) for each in fields(self)}
        history = [[seq, _message_to_dict(message)] for seq, message in self.history]
        return {**others, "history": history}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> StrategyInput:
        history = tuple((seq, _message_from_dict(seq, said)) for seq, said in data["history"])
        return cls(**{**data, "history": history})


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyFailure:
    """Why a strategy gave nothing. `error` is the exception's class, `line` its line in the file.

    `reason` is our own sentence, "" where the strategy or Python raised: their messages may hold
    parts of a conversation. So may `trace`, which is only for the administrator's own screen.
    `ended`: the strategy was killed at its time limit.
    """

    error: str = ""
    line: int | None = None
    reason: str = ""
    trace: str = ""
    ended: bool = False

    def sentence(self, file: str) -> str:
        """File, line and what went wrong, on one line; never a message's text."""
        where = file if self.line is None else f"{file}, line {self.line}"
        return f"{where}: {self.reason or self.error}"


def line_of(document: Mapping[str, object]) -> bytes:
    return json.dumps(document).encode() + b"\n"


def read_answer(
    answer: Mapping[str, Any], given: StrategyInput
) -> tuple[StrategySlot, ...] | StrategyFailure:
    """Return the worker's answer. Texts have no token counts yet.

    Raises KeyError, TypeError or ValueError for an answer that no worker of ours gives.
    """
    if "problem" in answer:
        return StrategyFailure(**answer["problem"])
    known = {seq for seq, _ in given.history}
    texts = 0
    slots = []
    for slot in answer["slots"]:
        items: list[int | Message] = []
        for item in slot["items"]:
            if isinstance(item, int):
                if item not in known:
                    raise ValueError("a message that isn't in the history")
                items.append(item)
            else:
                if item["role"] not in TEXT_ROLES:
                    raise ValueError("no role of a text")
                text = _sound(item["text"])
                items.append(Message(id=f"strategy-{texts}", role=item["role"], content=text))
                texts += 1
        name, priority = _sound(slot["name"]), float(slot["priority"])
        slots.append(StrategySlot(name=name, priority=priority, items=tuple(items)))
    return tuple(slots)


def _sound(text: str) -> str:
    """Half characters and NUL can't be sent or stored."""
    return UNSOUND.sub("\N{REPLACEMENT CHARACTER}", text)


def _message_to_dict(message: Message) -> dict[str, object]:
    return {
        "role": message.role,
        "content": message.content,
        "attachments": [asdict(file) for file in message.attachments],
        "calls": [asdict(call) for call in message.calls],
        "call_id": message.call_id,
        "source": message.source,
        "speaker": message.speaker,
        "tokens": asdict(message.tokens) if message.tokens else None,
    }


def _message_from_dict(seq: int, data: Mapping[str, Any]) -> Message:
    """The message's id is its sequence number: an id of our database is of no use there."""
    parts = {
        "attachments": tuple(Attachment(**file) for file in data["attachments"]),
        "calls": tuple(ToolCall(**call) for call in data["calls"]),
        "tokens": TokenCount(**data["tokens"]) if data["tokens"] else None,
    }
    return Message(**{**data, **parts, "id": str(seq)})
