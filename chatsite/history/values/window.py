"""The room a request has, and the head that every request begins with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from chatsite.messages import Basis, Message, TokenCount


@dataclass(frozen=True, slots=True)
class Window:
    """The model's window and what of it is kept for the reply, in tokens."""

    size: int
    reply: int

    @property
    def room(self) -> int:
        """Tokens that a prompt may have."""
        return self.size - self.reply


@dataclass(frozen=True, slots=True)
class Head:
    """What every request begins with: system messages, then prefilled turns.

    `prefilled` is how many messages at the end are prefilled ones. `hash` is the sha256 of all
    roles and contents, in hex. Every message must carry its tokens before `decide`. `tools` are the
    tokens that the descriptions of the agent's tools take, estimated.
    """

    messages: tuple[Message, ...]
    prefilled: int
    hash: str
    tools: int = 0

    @classmethod
    def of(cls, system: str | None, prefilled: Sequence[Message] = ()) -> Head:
        """A head from the personality and the template's prefilled messages."""
        personality = [Message.system(system, id="personality")] if system else []
        first = personality + [message for message in prefilled if message.role == "system"]
        turns = [message for message in prefilled if message.role != "system"]
        messages = (*first, *turns)
        said = json.dumps([[m.role, m.content] for m in messages], ensure_ascii=False)
        digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
        return cls(messages=messages, prefilled=len(turns), hash=digest)

    def counted(self, counts: Sequence[TokenCount]) -> Head:
        """The same head with the tokens of each message, in order."""
        counted = zip(self.messages, counts, strict=True)
        return replace(self, messages=tuple(replace(m, tokens=count) for m, count in counted))

    @property
    def system(self) -> tuple[Message, ...]:
        return self.messages[: len(self.messages) - self.prefilled]

    @property
    def examples(self) -> tuple[Message, ...]:
        """The prefilled turns."""
        return self.messages[len(self.messages) - self.prefilled :]


# ---- counts of messages ------------------------------------------------------------------
def known_tokens(message: Message) -> TokenCount:
    """The count that a message must carry before a decision; ValueError where there is none."""
    if message.tokens is None:
        raise ValueError(f"message {message.id} has no token count")
    return message.tokens


def known_counts(messages: Iterable[Message]) -> list[TokenCount]:
    """The counts of these, in order; ValueError where a message has none."""
    return [known_tokens(message) for message in messages]


def sum_tokens(messages: Iterable[Message]) -> int:
    """The sum of their counts; ValueError where a message has none."""
    return sum(one.count for one in known_counts(messages))


def sum_counts(messages: Iterable[Message]) -> tuple[int, Basis]:
    """The sum of their counts and its basis; ValueError where a message has none."""
    counts = known_counts(messages)
    return sum(one.count for one in counts), weakest(one.basis for one in counts)


def weakest(bases: Iterable[Basis]) -> Basis:
    """A sum is only as good as its weakest part."""
    found = set(bases)
    if "estimated" in found:
        return "estimated"
    return "reported" if found == {"reported"} else "counted"
