"""The title of a conversation, until somebody writes one: its first words."""

from __future__ import annotations

from chatsite.conversations.models import Conversation
from chatsite.conversations.ownership import messages_on_path
from chatsite.messages import Message

TITLE_LENGTH = 60


def message_title(message: Message) -> str:
    """Return the first words of a message; the first file's name where it has no text."""
    text = message.content or ""
    if not text.strip() and message.attachments:
        text = message.attachments[0].name
    return title_from(text)


def title_from(text: str) -> str:
    """Return the first words of a text, cut at a word where that is possible."""
    line = " ".join(text.split())
    if len(line) <= TITLE_LENGTH:
        return line or "New chat"
    cut = line[:TITLE_LENGTH].rpartition(" ")[0] or line[:TITLE_LENGTH]
    return f"{cut}…"


def path_title(row: Conversation) -> str:
    """Return the title that the path's first user message gives."""
    first = messages_on_path(row).filter(role="user").order_by("seq")
    return title_from(first.values_list("content", flat=True).first() or "")
