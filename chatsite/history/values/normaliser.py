"""No call without its results, no result without its call, no answer without text.

Providers refuse a request that breaks one of these, and then every later request of the same
conversation too. Groups never cross turns, so a turn is repaired by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chatsite.history.values.reasons import Reason
from chatsite.history.values.transcript import Entry
from chatsite.messages import Message


def unsendable(entries: Sequence[Entry]) -> dict[int, Reason]:
    """The sequence numbers of a turn's messages that can't be sent, with the reason.

    A call and the results that directly follow it are one group, whatever their order; the group
    is left out whole when one of them is missing. A second result for a call is left out alone.
    """
    found: dict[int, Reason] = {}
    if all(_is_plain(entry.message) for entry in entries):
        # Nearly every turn; without this a long conversation takes half as long again.
        return found
    for group in _groups(entries):
        if is_empty_answer(group[0].message):
            found[group[0].seq] = "empty"
        found.update((entry.seq, "incomplete_tool_group") for entry in _lost(group))
    return found


def is_empty_answer(message: Message) -> bool:
    """Whether an answer has neither text nor calls nor files; reasoning doesn't count."""
    return (
        message.role == "assistant"
        and not message.calls
        and not message.attachments
        and not (message.content or "").strip()
    )


def _is_plain(message: Message) -> bool:
    text = (message.content or "").strip()
    return bool(text) and not (message.calls or message.role == "tool")


def _groups(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """A message that isn't a tool result, with the results that directly follow it."""
    start = 0
    for position in range(1, len(entries)):
        if entries[position].message.role != "tool":
            yield entries[start:position]
            start = position
    if entries:
        yield entries[start:]


def _lost(group: Sequence[Entry]) -> Sequence[Entry]:
    """The messages of a group that can't be sent: all of them, or only a second result."""
    first = group[0].message
    if first.role == "tool":
        return group
    missing = {call.id for call in first.calls}
    if len(missing) < len(first.calls) or "" in missing:
        return group
    extra = []
    for entry in group[1:]:
        if entry.message.call_id in missing:
            missing.remove(entry.message.call_id)
        else:
            extra.append(entry)
    return group if missing else extra
