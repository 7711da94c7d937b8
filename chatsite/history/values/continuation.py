"""What asks a model to write its last answer further: it ends such an answer's request."""

from __future__ import annotations

from chatsite.history.values.tokens import estimate_message
from chatsite.messages import Message, TokenCount

CONTINUE_ID = "continue"
CONTINUE_TEXT = (
    "Your last message breaks off. Write on from exactly where it ends: what you write now is "
    "joined to it as it stands. Repeat nothing of it, and don't comment on this."
)


def continue_message(tokens: TokenCount | None = None) -> Message:
    """The instruction, with `tokens` or an estimate."""
    message = Message.user(CONTINUE_TEXT, id=CONTINUE_ID)
    counted = tokens or TokenCount(
        count=estimate_message(message), tokenizer="estimate", basis="estimated"
    )
    return Message(id=message.id, role=message.role, content=message.content, tokens=counted)


def unfinished_message(answer: Message, length: int) -> Message:
    """The beginning of an answer, as it stood before so many characters were written further."""
    return Message.assistant((answer.content or "")[:length], id=answer.id)
