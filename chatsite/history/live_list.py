"""A conversation as a live list: read it, listen to it, replace it.

docs/library.md shows it, for whoever embeds a conversation; of the running program only the
import of a conversation uses it, whose rules for whole messages are the ones it checks. The
messages of a running turn are kept by the store (`chatsite.turns`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from chatsite.errors import BadRestore, TurnRunning
from chatsite.history.path.marks import unsendable
from chatsite.history.path.transcript import Entry
from chatsite.messages import ROLES, Message
from chatsite.wording import say

log = logging.getLogger(__name__)

Listener = Callable[[], None]


class History:
    """User, assistant and tool messages, in the order in which they were added.

    System messages are the agent's: every request begins with them, and they are no part of the
    list. Used from one event loop, without locks.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        """Raises BadRestore like `restore`."""
        self._messages = checked_messages(messages)
        self._listeners: dict[Listener, None] = {}
        self._running = False

    def snapshot(self) -> tuple[Message, ...]:
        """All messages; the same object between two changes."""
        return self._messages

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` once after every change, until the returned function is called.

        A listener subscribed twice is called once. One that raises is logged and stops nobody.
        """
        self._listeners[listener] = None

        def unsubscribe() -> None:
            self._listeners.pop(listener, None)

        return unsubscribe

    def push(self, message: Message) -> None:
        """Add a message at the end; ValueError for a system message."""
        if message.role == "system":
            raise ValueError("a system message belongs to the agent, not to the history")
        self._change((*self._messages, message))

    def reset(self) -> None:
        """Remove every message. Raises TurnRunning while an answer is written."""
        self._require_rest("cleared")
        self._change(())

    def restore(self, messages: Iterable[Message]) -> None:
        """Put other messages in place of all, repairing nothing.

        Raises BadRestore, naming the message by its position from 0, and then changes nothing;
        TurnRunning while an answer is written.
        """
        self._require_rest("restored")
        self._change(checked_messages(messages))

    @contextmanager
    def running(self) -> Iterator[None]:
        """A turn: until it ends messages can only be added. Raises TurnRunning inside another."""
        self._require_rest("continued")
        self._running = True
        try:
            yield
        finally:
            self._running = False

    def _require_rest(self, what: str) -> None:
        if self._running:
            raise TurnRunning(
                say(
                    "An answer is being written. The conversation can be {what} when it is "
                    "finished or stopped.",
                    what=what,
                )
            )

    def _change(self, messages: tuple[Message, ...]) -> None:
        self._messages = messages
        for listener in list(self._listeners):
            if listener not in self._listeners:
                continue
            try:
                listener()
            except Exception:
                log.exception("a listener of a history failed")


def checked_messages(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The same messages as a tuple. Raises BadRestore, naming the first that can't be taken."""
    found = tuple(messages)
    seen: set[str] = set()
    for position, message in enumerate(found):
        if problem := _problem(message, seen):
            raise _refusal(position, problem)
        seen.add(message.id)
    entries = [Entry(message=message, seq=seq) for seq, message in enumerate(found)]
    for position, reason in sorted(unsendable(entries).items()):
        if reason == "incomplete_tool_group":
            raise _refusal(position, _unpaired(found[position]))
    return found


def _refusal(position: int, problem: str) -> BadRestore:
    return BadRestore(
        say(
            "Message {position} can't be restored: {problem}. Nothing changed.",
            position=position,
            problem=problem,
        )
    )


def _problem(message: Message, seen: set[str]) -> str:
    """What is wrong with a message by itself, or ""."""
    if message.role == "system":
        return "it is a system message, and those belong to the agent"
    if message.role not in ROLES:
        return f"its role {message.role!r} is not known"
    if not message.id:
        return "it has no id"
    if message.id in seen:
        return f"its id {message.id!r} appears twice"
    if message.calls and message.role != "assistant":
        return f"a {message.role} message can't call tools"
    if message.call_id is not None and message.role != "tool":
        return f"a {message.role} message is no tool result"
    if message.role == "user":
        try:
            message.validate()
        except ValueError as problem:
            return str(problem)
    return ""


def _unpaired(message: Message) -> str:
    if message.role == "tool":
        return f"it is the result of the call {message.call_id!r}, which does not stand before it"
    ids = ", ".join(repr(call.id) for call in message.calls)
    return f"not every one of its tool calls ({ids}) has one result directly behind it"
