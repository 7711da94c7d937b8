"""What of a message reaches a model that reads text only."""

from __future__ import annotations

from chatsite.messages import Message


def plain_text(message: Message) -> str:
    """The text, then one line for each attached file that it doesn't name yet: never its bytes."""
    text = message.content or ""
    lines = [text] if text else []
    for attachment in message.attachments:
        line = f"File: {attachment.name}"
        if line not in text:
            lines.append(line)
    return "\n".join(lines)
