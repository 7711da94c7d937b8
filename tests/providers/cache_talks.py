"""Conversations for the tests of the cache: their turns, and the requests made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from chatsite.messages import Message
from chatsite.providers.base.provider import Request

Head = tuple[Message, ...]

_LONG = (
    "You help people of a small harbour with their boats, their ropes and their papers. The long "
    "quay has forty places with water and light, the short one has twelve without. Who stays over "
    "night pays at the office beside the crane, before nine in the evening or after seven in the "
    "morning. Swimming isn't allowed, fishing is. "
)
# The head of one agent is long enough to be saved, the other's isn't.
HEADS: tuple[Head, ...] = (
    (
        Message.system(_LONG + "Answer in few words and ask where something is unclear.", id="s0"),
        Message.user("Where may I land?", id="p0"),
        Message.assistant("At the long quay, beside the crane.", id="p1"),
    ),
    (Message.system("You are kind.", id="s1"),),
)
# Short and long ones, some with a common beginning, and one that repeats itself.
TEXTS = (
    "Yes.",
    "Yes. And the boat?",
    "What does a place at the long quay cost in winter, with water and light?",
    "What does a place at the long quay cost in summer? 🌊",
    "na " * 30,
    "Grüße! " + "Tell me of the ropes. " * 4,
)
_numbers = count()


def new_id(kind: str) -> str:
    return f"{kind}{next(_numbers)}"


@dataclass
class Turn:
    """`unloaded`: a cleanup took it out until it is brought back."""

    question: Message
    answer: Message | None = None
    unloaded: bool = False

    @property
    def messages(self) -> list[Message]:
        return [self.question, *([self.answer] if self.answer else [])]


@dataclass
class Talk:
    """`said` are the ids of all answers, including replaced ones."""

    head: Head
    id: str = field(default_factory=lambda: new_id("c"))
    turns: list[Turn] = field(default_factory=list)
    said: set[str] = field(default_factory=set)

    def request(self, question: Message, past: Sequence[Turn], *, most: int = 12) -> Request:
        said = [message for turn in past for message in turn.messages]
        return Request(
            conversation=self.id,
            messages=(*self.head, *said, question),
            model="",
            max_tokens=most,
            temperature=0,
            head=len(self.head),
            answer=new_id("a"),
        )

    def sendable(self, policy: int) -> list[Turn]:
        """Whole turns, never those that are unloaded: all of them, the last ones, or any."""
        loaded = [turn for turn in self.turns if not turn.unloaded]
        if policy < 4:
            return loaded[len(loaded) - policy :] if policy < len(loaded) else loaded
        if policy < 32:
            return loaded
        return [turn for at, turn in enumerate(loaded) if policy >> at & 1]

    @property
    def keys(self) -> set[str]:
        """The ids of all messages of which the cache may have cells."""
        said = [message for turn in self.turns for message in turn.messages]
        return {message.id for message in (*self.head, *said)}
