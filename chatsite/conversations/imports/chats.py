"""Writes the chats of another program: all are hidden until the last one is stored."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any

from django.utils import timezone
from django.utils.crypto import salted_hmac

from chatsite.conversations.database.columns import in_batches
from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.statements import CONVERSATION_TOTALS, MESSAGES
from chatsite.conversations.files.uploads import claim_uploads
from chatsite.conversations.imports.imports import GIVEN_UP, begin_import, unfinished_conversation
from chatsite.conversations.imports.lines import ChatFacts
from chatsite.conversations.models import Conversation, Import, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import find_conversation, owns
from chatsite.conversations.path.active_path import add_to_totals
from chatsite.errors import NotFound
from chatsite.storage import ROWS, Pieces, in_pieces, writing
from chatsite.wording import say


def at(seconds: float | None) -> datetime:
    """The time, and now for one that is unknown or still to come."""
    now = timezone.now()
    return min(datetime.fromtimestamp(seconds, UTC), now) if seconds else now


@writing
def begin_chat(*, owner: Owner, agent: str, facts: ChatFacts, made: Collection[str]) -> str | None:
    """Store a new conversation that nobody finds yet, and return its id; None where this owner has
    the chat already, or the same import has `made` it. A deleted one comes back under another id.
    Raises Refused where a quota is exceeded."""
    hold(owner)
    # The first id has no owner in it: a guest's chats become an account's. Where it is somebody
    # else's, those with the owner follow; they count also after its chat was erased.
    free = ""
    for place in count():
        id = _chat_id(owner.key if place else "", facts, max(place - 1, 0))
        hold(conversation=id)
        found = find_conversation(id)
        if id in made or (found and owns(owner, found) and found.deleted is None):
            return None
        if found is None:
            free = free or id
            if place:
                break
    title = facts.title or say("New chat")
    begin_import.here(owner=owner, agent=agent, title=title, characters=facts.characters, id=free)
    Conversation.objects.filter(id=free).update(
        created=at(facts.created),
        updated=at(facts.updated),
        titled="person" if facts.titled else None,
    )
    return free


def _chat_id(owner: str, facts: ChatFacts, attempt: int) -> str:
    """The same for the same chat, so that a file that is imported again makes no doubles."""
    told = "\0".join((owner, facts.program, facts.id, str(attempt)))
    digest = salted_hmac("chatsite.import", told, algorithm="sha256").digest()
    return str(uuid.UUID(bytes=digest[:16], version=5))


@writing
def add_chat_messages(
    *, id: uuid.UUID, owner: Owner, conversation: str, rows: Sequence[Message], told: dict[str, Any]
) -> None:
    """Store the next messages of a chat with their files, some `ROWS` at most, and how far the
    import `id` is. Raises NotFound where that was given up."""
    hold(owner, conversation=conversation)
    if not Import.objects.filter(id=id).update(told=told):
        raise NotFound(say(GIVEN_UP))
    row = unfinished_conversation(conversation, gone=GIVEN_UP)
    claim_uploads(row, [str(file["id"]) for one in rows for file in one.attachments])
    for one in rows:
        texts = (one.content, one.reasoning, one.metadata, *(str(call) for call in one.calls))
        row.characters += sum(len(text) for text in texts if text)
        if one.on_path:
            add_to_totals(row, one)
    row.next_seq += len(rows)
    MESSAGES.insert(rows)
    CONVERSATION_TOTALS.update(row)


@in_pieces
def show_chats(*, id: uuid.UUID, made: Sequence[str], told: dict[str, Any]) -> Pieces[None]:
    """Show all of an import's conversations: it can't be given up any more. Raises NotFound where
    it was."""
    hold(conversation=made[:ROWS])
    if not Import.objects.filter(id=id).update(told=told, ended=timezone.now()):
        raise NotFound(say(GIVEN_UP))
    for some in in_batches(made, ROWS):
        hold(conversation=some)
        hidden = Conversation.objects.filter(id__in=some, importing=True)
        hidden.update(deleted=None, importing=False)
        yield
