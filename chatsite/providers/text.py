"""What of a message reaches a model that reads text only."""

from __future__ import annotations

from chatsite.messages import Message


def plain_text(message: Message) -> str:
    """The text, then one line for each attached file: its name, never its bytes."""
    lines = [message.content] if message.content else []
    lines += [f"File: {attachment.name}" for attachment in message.attachments]
    return "\n".join(lines)
