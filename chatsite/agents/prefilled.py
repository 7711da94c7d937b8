"""Reads the conversation that a template puts before every other: `chatSettings.history`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from chatsite.agents.template import UnusedKey
from chatsite.checked_file import Node
from chatsite.messages import Message, Role
from chatsite.wording import later

_ROLES = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefilled:
    """`instructions` are those with which it begins, "" for none; `turns` whole turns, a user
    message and its answer each. `unused` says what isn't sent of it."""

    instructions: str = ""
    turns: tuple[Message, ...] = ()
    unused: tuple[UnusedKey, ...] = ()


UNANSWERED = later("{place} is a user message without an answer: it is not sent.")
OUT_OF_TURN = later(
    "From {place} on the example turns are not sent: after instructions, user and assistant take "
    "turns, user first."
)


def read_prefilled(given: Node) -> Prefilled:
    """As much of it as forms whole turns. Raises BadFile for an entry that is no message."""
    entries = given.list_of("messages with role and content") if given.value is not None else []
    for entry in entries:
        entry["role"].one_of(_ROLES)
        if not entry["content"].text().strip():
            raise entry["content"].error("is empty")
    first = len(list(takewhile(lambda entry: entry["role"].value == "system", entries)))
    turns = []
    for number, entry in enumerate(entries[first:]):
        role: Role = "assistant" if number % 2 else "user"
        if entry["role"].value != role:
            break
        content = entry["content"].text()
        turns.append(Message(id=f"prefilled-{number}", role=role, content=content))
    whole = len(turns) // 2 * 2
    return Prefilled(
        instructions="\n\n".join(entry["content"].text() for entry in entries[:first]),
        turns=tuple(turns[:whole]),
        unused=_unused(entries[first + whole :], ends=first + len(turns) == len(entries)),
    )


def _unused(rest: list[Node], *, ends: bool) -> tuple[UnusedKey, ...]:
    """Why the rest isn't sent; `ends`: it is a user message and nothing follows."""
    if not rest:
        return ()
    place = rest[0].place
    return (UnusedKey(place, UNANSWERED if ends else OUT_OF_TURN, mistake=True),)
