"""Stores messages from outside the page: of background tasks, of a Talk room, by mail."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import get_args

from django.utils import timezone

from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.rows import view_of
from chatsite.conversations.models import Conversation, Turn
from chatsite.conversations.path.active_path import append_to_path, estimated_tokens
from chatsite.errors import BadCommand, NotFound, TurnRunning
from chatsite.history import BACKGROUND
from chatsite.messages import UNSOUND, Message, Role, Source
from chatsite.storage import writing
from chatsite.views import MessageView
from chatsite.wording import say

ROLES: tuple[Role, ...] = ("assistant", "user")
# What people write elsewhere counts like what is written in the page; a background task's message
# is sent with the message that follows it alone.
FROM_PEOPLE: tuple[Source, ...] = ("talk", "email")
SOURCES: tuple[Source, ...] = (
    *FROM_PEOPLE,
    *(name for name in get_args(Source) if name in BACKGROUND),
)


@writing
def add_message(
    *,
    conversation: str,
    source: Source,
    text: str,
    role: Role | None = None,
    speaker: str = "",
    id: str = "",
) -> MessageView:
    """Store a message at the end of the active path, whoever owns the conversation.

    `role` is "assistant" for an answer or a task's report, which belongs to the turn that it
    follows, or "user" for what a person wrote or the task was asked, which starts a turn of its
    own; None for "user" where the source is people's, else for "assistant". `speaker` wrote it
    where that isn't the owner; `id` is the message's, "" for a new one. The tokens are estimated
    until a tokenizer next counts the path. Raises BadCommand for an empty text, another role or
    source; NotFound for a missing or deleted conversation; TurnRunning while an answer is written.
    Nothing is stored then.
    """
    hold(conversation=conversation)
    text = UNSOUND.sub("\N{REPLACEMENT CHARACTER}", text).strip()
    if not text:
        raise BadCommand(say("The message is empty; nothing was stored."))
    if source not in SOURCES:
        raise BadCommand(
            say(
                "The source {source!r} isn't one of {sources}.",
                source=source,
                sources=", ".join(SOURCES),
            )
        )
    role = role or ("user" if source in FROM_PEOPLE else "assistant")
    if role not in ROLES:
        raise BadCommand(
            say("The role {role!r} isn't one of {roles}.", role=role, roles=", ".join(ROLES))
        )
    row = _conversation(conversation)
    if Turn.objects.filter(conversation=row, state="running").exists():
        raise TurnRunning(
            say("An answer is being written there; nothing was stored. Try again later.")
        )
    said = Message(
        id=id or str(uuid.uuid4()), role=role, content=text, source=source, speaker=speaker
    )
    now = timezone.now()
    (stored,) = append_to_path(row, [replace(said, tokens=estimated_tokens(said))], now=now)
    row.updated = now
    row.save()
    return view_of(stored)


def _conversation(id: str) -> Conversation:
    try:
        key = uuid.UUID(id)
    except ValueError:
        raise NotFound(say("There is no conversation {id!r}: its id is a UUID.", id=id)) from None
    row = Conversation.objects.filter(id=key, deleted=None).first()
    if row is None:
        raise NotFound(say("There is no conversation {id}.", id=id))
    return row
