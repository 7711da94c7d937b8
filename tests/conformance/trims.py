"""Trim functions as third parties write them: a correct one, and several with a fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from chatsite.messages import Message, Role, TokenCount

CALLS = count()


class TooLarge(Exception):
    pass


def size(messages: Sequence[Message]) -> int:
    return sum(message.tokens.count for message in messages if message.tokens)


def whole_turns(messages: list[Message], *, tokens: int) -> list[Message]:
    """Instructions, and the newest whole turns that fit."""
    system = [message for message in messages if message.role == "system"]
    rest = [message for message in messages if message.role != "system"]
    starts = [place for place, message in enumerate(rest) if message.role == "user"]
    kept: list[Message] | None = None
    for start in reversed(starts):
        if size([*system, *rest[start:]]) > tokens:
            break
        kept = rest[start:]
    if kept is None:
        raise TooLarge("instructions and the current turn don't fit")
    return system + kept


def last_three(messages: list[Message], *, tokens: int) -> list[Message]:
    return messages[-3:]


def refuses_long_talks(messages: list[Message], *, tokens: int) -> list[Message]:
    if len(messages) > 4:
        raise TooLarge("too many messages")
    return whole_turns(messages, tokens=tokens)


def eats_its_input(messages: list[Message], *, tokens: int) -> list[Message]:
    kept = whole_turns(messages, tokens=tokens)
    messages.clear()
    return kept


def never_twice_the_same(messages: list[Message], *, tokens: int) -> list[Message]:
    kept = whole_turns(messages, tokens=tokens)
    return kept[:1] + kept[2:] if next(CALLS) % 3 == 0 and len(kept) > 2 else kept


def shortens(messages: list[Message], *, tokens: int) -> list[Message]:
    """Cuts the texts of messages without marking the cut."""
    kept = whole_turns(messages, tokens=tokens)
    return [replace(message, content=(message.content or "")[:3]) for message in kept]


def adds_a_summary(messages: list[Message], *, tokens: int) -> list[Message]:
    summary = Message.user("They spoke.", id="made-up")
    cost = TokenCount(count=1, tokenizer="test", basis="counted")
    return [replace(summary, tokens=cost), *whole_turns(messages, tokens=tokens - 1)]


class Dictionaries:
    """A library whose messages are dictionaries."""

    def theirs(self, message: Message) -> dict[str, Any]:
        return {
            "id": message.id,
            "role": message.role,
            "text": message.content,
            "calls": message.calls,
            "answers": message.call_id,
            "size": size([message]),
        }

    def trim(self, messages: list[dict[str, Any]], *, tokens: int) -> list[dict[str, Any]]:
        kept = whole_turns([self.ours(message) for message in messages], tokens=tokens)
        ids = {message.id for message in kept}
        return [message for message in messages if message["id"] in ids]

    def ours(self, message: dict[str, Any]) -> Message:
        role: Role = message["role"]
        cost = TokenCount(count=message["size"], tokenizer="test", basis="counted")
        return Message(
            id=message["id"],
            role=role,
            content=message["text"],
            calls=message["calls"],
            call_id=message["answers"],
            tokens=cost,
        )


not_callable = 3
