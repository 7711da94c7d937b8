"""The table of links, and the tokens that open them."""

import uuid
from base64 import urlsafe_b64decode, urlsafe_b64encode

from django.db import models
from django.utils.crypto import constant_time_compare, salted_hmac

from chatsite.conversations.models import Conversation


class Share(models.Model):
    """Stores a link to a conversation; taking it back deletes the row.

    With `following` it shows the path as it is then, otherwise the messages in `runs`, pairs of the
    first and the last sequence number. `cleared` is the conversation's: where that is cleared
    later, the link is gone. `receipts`, `tools` (with the thoughts), `files`: shown where ticked.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE)
    created = models.DateTimeField()
    ends = models.DateTimeField()
    following = models.BooleanField(default=False)
    runs = models.JSONField(default=list)
    cleared = models.PositiveIntegerField(default=0)
    receipts = models.BooleanField(default=False)
    tools = models.BooleanField(default=False)
    files = models.BooleanField(default=False)


def token_of(id: uuid.UUID) -> str:
    """Make it from the id and 160 bits that sign it by SECRET_KEY: its owner can copy it again, and
    yet no table or backup holds what opens a link. A new SECRET_KEY ends all links."""
    signature = salted_hmac("chatsite.share", id.bytes, algorithm="sha256").digest()
    return urlsafe_b64encode(id.bytes + signature[:20]).decode()


def id_of(token: str) -> uuid.UUID | None:
    """Return the id of a token that was made here, None for anything else."""
    try:
        id = uuid.UUID(bytes=urlsafe_b64decode(token)[:16])
    except ValueError:
        return None
    return id if constant_time_compare(token, token_of(id)) else None
