"""Writes a conversation that comes from a file: hidden until its last message is stored."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from types import MappingProxyType

from django.utils import timezone

from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.rows import conversation_view
from chatsite.conversations.database.statements import CONVERSATION_TOTALS, MESSAGES
from chatsite.conversations.files.export import ImportedPart
from chatsite.conversations.files.uploads import characters_of, require_words
from chatsite.conversations.models import UNANSWERED, Conversation
from chatsite.conversations.owners import Owner
from chatsite.conversations.path.active_path import place_at_end, with_token_count
from chatsite.errors import NotFound
from chatsite.storage import writing
from chatsite.views import ConversationView
from chatsite.wording import say


@writing
def begin_import(
    *,
    owner: Owner,
    agent: str,
    title: str,
    characters: int = 0,
    history: Mapping[str, str] = MappingProxyType({}),
    id: str = "",
) -> str:
    """Store a new conversation that nobody finds yet, and return its id: `id` where one is given.
    `history` is the choice to keep with it. Raises Refused where as many `characters` exceed the
    owner's quota."""
    hold(owner)
    require_words(owner, characters)
    now = timezone.now()
    row = Conversation(
        id=uuid.UUID(id) if id else uuid.uuid4(),
        user_id=owner.user,
        guest=owner.guest,
        agent=agent,
        history=dict(history),
        title=title[:200],
        created=now,
        updated=now,
        deleted=now,
        importing=True,
    )
    row.save(force_insert=True)
    return str(row.id)


@writing
def add_imported(*, conversation: str, part: ImportedPart) -> None:
    """Store the next messages of the file, some `ROWS` at most. Raises NotFound where the import
    was given up."""
    hold(conversation=conversation)
    row = _importing(conversation)
    rows = place_at_end(row, [with_token_count(one) for one in part.messages], now=row.created)
    for one in rows:
        id = str(one.id)
        one.pinned, one.excluded = id in part.pinned, id in part.excluded
        one.bookmarked = id in part.bookmarked
        one.state = UNANSWERED[0] if id in part.unanswered else one.state
        # The first message has seq 1, and none is left out.
        one.quoted = [place + 1 for place in part.quoted.get(id, ())]
    row.marked += sum(one.pinned or one.excluded for one in rows)
    row.characters += sum(map(characters_of, part.messages))
    MESSAGES.insert(rows)
    CONVERSATION_TOTALS.update(row)


@writing
def finish_import(*, conversation: str, forget_above: int = 0) -> ConversationView:
    """Show the conversation. Raises NotFound where the import was given up."""
    hold(conversation=conversation)
    row = _importing(conversation)
    row.deleted, row.importing = None, False
    row.updated = timezone.now()
    row.forget_above = forget_above + 1 if forget_above else 0
    row.save(update_fields=["deleted", "importing", "updated", "forget_above"])
    return conversation_view(row)


def _importing(id: str) -> Conversation:
    row = Conversation.objects.filter(id=id, importing=True).first()
    if row is None:
        raise NotFound(say("This import was given up."))
    return row
