"""What a page says of the message that is being written, besides its text."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from chatsite.errors import BadCommand
from chatsite.messages import MAX_ATTACHMENTS
from chatsite.web.api.conversations import sound

MAX_MODEL = 200


def model_name(value: Any) -> str:
    """`provider:name`, or "" for the agent's own."""
    if not isinstance(value, str) or len(value) > MAX_MODEL:
        raise BadCommand(f"model is a text of at most {MAX_MODEL} characters.")
    return sound(value)


def ids(value: Any) -> list[str]:
    """Those of uploaded files."""
    if not isinstance(value, list) or len(value) > MAX_ATTACHMENTS:
        raise BadCommand(f"attachments are a list of at most {MAX_ATTACHMENTS} ids.")
    try:
        return [str(UUID(one)) for one in value]
    except (ValueError, AttributeError, TypeError):
        raise BadCommand("attachments are the ids of files.") from None
