"""A stored receipt's request, rebuilt from the head and the messages that are still stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chatsite.history import Head
from chatsite.messages import Message


def request_of(receipt: Mapping[str, Any], head: Head, sent: Sequence[Message]) -> dict[str, Any]:
    """`{asked, messages, complete, note}`. It is complete where the agent's head is still the one
    that was sent and every sent message is still stored; the note says what differs."""
    notes = []
    if head.hash != receipt["head"]["hash"]:
        notes.append("The agent was changed since: its own messages are shown as they are now.")
    if len(sent) != receipt["facts"]["sent"]:
        notes.append("Some of the messages that were sent are not stored any more.")
    whole = (*head.messages, *sent)
    return {
        "asked": receipt.get("asked", {}),
        "messages": [{"role": message.role, "content": message.content} for message in whole],
        "complete": not notes,
        "note": " ".join(notes),
    }
