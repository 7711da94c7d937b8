"""Anybody's function that trims a list of messages, as a subject of the kit.

A function over our own messages needs nothing more:

    def trim(messages: list[Message], *, tokens: int) -> list[Message]

A library with messages of its own gets an adapter. Every message carries its tokens in
`message.tokens.count`; the sum of them is what a request takes. To refuse, raise an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from chatsite.messages import Message
from conformance_kit.cases import Case
from conformance_kit.trials import PolicyRefused, Trial

Trim = Callable[..., Sequence[Message]]


class Adapter(Protocol):
    """Translates between our messages and a library's, and calls its trimmer.

    `ours` must give back what `theirs` got: id, role, content, calls, call_id and attachments.
    """

    def theirs(self, message: Message) -> Any: ...

    def trim(self, messages: list[Any], *, tokens: int) -> Sequence[Any]: ...

    def ours(self, message: Any) -> Message: ...


class PlainAdapter:
    """The adapter of a function that takes our own messages."""

    def __init__(self, trim: Trim) -> None:
        self._trim = trim

    def theirs(self, message: Message) -> Message:
        return message

    def trim(self, messages: list[Message], *, tokens: int) -> Sequence[Message]:
        return self._trim(messages, tokens=tokens)

    def ours(self, message: Message) -> Message:
        return message


@dataclass(frozen=True)
class TrimFunction:
    """A subject: the messages are head and path, the tokens what the whole request may take."""

    name: str
    adapter: Adapter

    def run(self, case: Case) -> Trial:
        given = [*case.head, *(entry.message for entry in case.entries)]
        theirs = [self.adapter.theirs(message) for message in given]
        before = list(theirs)
        try:
            found = [
                self.adapter.ours(message)
                for message in self.adapter.trim(theirs, tokens=case.limit)
            ]
        except Exception as error:
            raise PolicyRefused(f"{type(error).__name__}: {error}") from error
        untouched = theirs == before and all(
            _same(self.adapter.ours(one), message)
            for one, message in zip(before, given, strict=True)
        )
        assert untouched, "it changed the list or the messages that it was given"
        by_id = {message.id: message for message in given}
        request = tuple(
            by_id[message.id] if _same(message, by_id.get(message.id)) else message
            for message in found
        )
        return Trial(case, self, request)


def _same(found: Message, given: Message | None) -> bool:
    """Whether a message came back as it was given."""
    return given is not None and _kept_fields(found) == _kept_fields(given)


def _kept_fields(message: Message) -> tuple[object, ...]:
    """The fields that every library keeps; none tells a missing text from an empty one."""
    text = message.content or ""
    return message.role, text, message.calls, message.call_id, message.attachments


def load_function(where: str) -> TrimFunction:
    """The subject named `package.module:name`: a function, an adapter or an adapter's class.

    Raises ValueError, ImportError or AttributeError.
    """
    module, colon, name = where.partition(":")
    if not (module and colon and name):
        raise ValueError(f"{where!r} is not of the form package.module:name")
    found = getattr(import_module(module), name)
    if isinstance(found, type):
        found = found()
    if hasattr(found, "trim") and hasattr(found, "theirs"):
        return TrimFunction(where, found)
    if not callable(found):
        raise ValueError(f"{where} is neither a function nor an adapter")
    return TrimFunction(where, PlainAdapter(found))
