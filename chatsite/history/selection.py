"""Selections from a conversation: the newest messages, a range, what fits, or plain text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from chatsite.history.token_estimate import tokens_of
from chatsite.messages import Message, Role

_LABELS: dict[Role, str] = {
    "user": "User",
    "assistant": "Assistant",
    "system": "System",
    "tool": "Tool",
}


class Selection:
    """Helpers over a snapshot. Every message counts, also system messages and tool results.

    Results are new lists, oldest first. A bad range is no error: nothing is in it.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = tuple(messages)

    @classmethod
    def before_current(cls, snapshot: Sequence[Message]) -> Selection:
        """The messages before the current one, which is the last of a user."""
        for position in range(len(snapshot) - 1, -1, -1):
            if snapshot[position].role == "user":
                return cls(snapshot[:position])
        return cls(snapshot)

    def last_user(self) -> Message | None:
        return self._last("user")

    def last_assistant(self) -> Message | None:
        """The newest message of the assistant; a tool result is none."""
        return self._last("assistant")

    def range(self, *, from_end: float, to_end: float) -> list[Message]:
        """Messages by their distance from the end (0 is the newest), [from_end, to_end).

        from_end > to_end >= 0. A distance beyond the oldest message means the oldest, and a message
        that a fraction touches is in the range.
        """
        if not (_is_finite(from_end) and _is_finite(to_end) and from_end > to_end >= 0):
            return []
        total = len(self._messages)
        return list(self._messages[int(max(0, total - from_end)) : int(max(0, total - to_end))])

    def recent(self, count: float) -> list[Message]:
        """The newest `count` messages."""
        return self.range(from_end=count, to_end=0)

    def by_tokens(self, max_tokens: float) -> list[Message]:
        """The newest messages that fit: backwards up to the first that would exceed the budget."""
        if not _is_finite(max_tokens) or max_tokens <= 0:
            return []
        start, left = len(self._messages), max_tokens
        while start and tokens_of(self._messages[start - 1]) <= left:
            start -= 1
            left -= tokens_of(self._messages[start])
        return list(self._messages[start:])

    def recent_text(self, count: float) -> str:
        """The newest `count` messages as text, with a blank line between two of them."""
        return "\n\n".join(_as_text(message) for message in self.recent(count))

    def _last(self, role: Role) -> Message | None:
        return next((m for m in reversed(self._messages) if m.role == role), None)


def _is_finite(number: float) -> bool:
    # A whole number may be too large for a float.
    return isinstance(number, int) or math.isfinite(number)


def _as_text(message: Message) -> str:
    label = message.speaker or _LABELS[message.role]
    first = f"{label}: {message.content}" if message.content else f"{label}:"
    files = (file.name or file.id or "attachment" for file in message.attachments)
    return "\n".join([first, *(f"File: {name}" for name in files)])
