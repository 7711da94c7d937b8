"""Writes about whole conversations: rename, delete, clear, restore, move to an account."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import partial

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from chatsite.conversations.database.columns import execute_many, key
from chatsite.conversations.database.rows import conversation_view
from chatsite.conversations.database.statements import SAVE_COUNT
from chatsite.conversations.files import uploads
from chatsite.conversations.models import Conversation, Message, Turn
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import owned_conversation
from chatsite.conversations.path import loading
from chatsite.conversations.path.active_path import take_off_path
from chatsite.conversations.search import stored_indexes as search_indexes
from chatsite.conversations.search.word_indexing import index_again
from chatsite.conversations.signals import text_changed
from chatsite.errors import NotFound, TurnRunning
from chatsite.messages import TokenCount
from chatsite.storage import ROWS, Pieces, in_pieces, writing
from chatsite.views import ConversationView
from chatsite.wording import say


@in_pieces
def save_counts(*, conversation: str, counts: Mapping[str, TokenCount]) -> Pieces[None]:
    """Store token counts by message id, and update the path's total."""
    ids = sorted(counts)
    for start in range(0, len(ids), ROWS):
        some = {uuid.UUID(id): counts[id] for id in ids[start : start + ROWS]}
        Conversation.objects.select_for_update().filter(id=conversation).first()
        # Without the texts, which may be long.
        known = Message.objects.filter(conversation_id=uuid.UUID(conversation), id__in=some)
        rows = list(known.values_list("id", "tokens", "on_path", "state"))
        execute_many(
            SAVE_COUNT,
            [(one.count, one.tokenizer, one.basis, key(id)) for id, one in some.items()],
        )
        change = sum(
            some[id].count - tokens
            for id, tokens, on_path, state in rows
            if on_path and state != "running"
        )
        Conversation.objects.filter(id=conversation).update(path_tokens=F("path_tokens") + change)
        yield


@writing
def rename_conversation(*, owner: Owner, conversation: str, title: str) -> ConversationView:
    row = owned_conversation(owner, conversation)
    row.title = title[:200]
    row.save(update_fields=["title"])
    return conversation_view(row)


@writing
def choose_history(*, owner: Owner, conversation: str, history: Mapping[str, str]) -> None:
    """Keep what was chosen in the page with the conversation, in place of what was kept before.
    Raises NotFound."""
    row = owned_conversation(owner, conversation, locked=True)
    row.history = dict(history)
    row.save(update_fields=["history"])


@writing
def delete_conversation(*, owner: Owner, conversation: str) -> None:
    """Hide it at once; `undelete_conversation` undoes this until it is purged."""
    row = owned_conversation(owner, conversation)
    row.deleted = timezone.now()
    row.save(update_fields=["deleted"])
    loading.forget_entries(row.id)


@writing
def undelete_conversation(*, owner: Owner, conversation: str) -> ConversationView:
    row = owned_conversation(owner, conversation, deleted=True)
    if row.importing:
        raise NotFound(say("There is no such conversation."))
    row.deleted = None
    row.save(update_fields=["deleted"])
    return conversation_view(row)


@in_pieces
def clear_conversation(*, owner: Owner, conversation: str) -> Pieces[None]:
    """Start a new, empty path. The messages stay stored, off the path, and lose their places in
    the engine's cache and their unloaded status.

    The oldest messages go first: what somebody sends meanwhile is stored below them, and stays.
    """
    row = owned_conversation(owner, conversation, locked=True)
    if Turn.objects.filter(conversation=row, state="running").exists():
        raise TurnRunning(say("An answer is still being written here. Stop it first."))
    below = row.next_seq
    text_changed.send(Conversation, conversations=[row.id])
    search_indexes.delete_index(row)
    row.marked = row.last_background = row.leads_to = 0
    # Until all are off the path: the next message gets this place, and forgets what is above.
    row.forget_above = row.cleared = below
    row.last_turn = None
    row.updated = timezone.now()
    row.save()
    for first in range(1, below, ROWS):
        found = Conversation.objects.select_for_update().filter(id=row.id).first()
        if found is None:
            return  # deleted for good meanwhile
        take_off_path(found, range(first, min(first + ROWS, below)))
        transaction.on_commit(partial(loading.forget_entries, found.id))
        yield
    Conversation.objects.filter(id=row.id, forget_above=below).update(forget_above=0)
    transaction.on_commit(partial(loading.forget_entries, row.id))


@in_pieces
def move_to_account(*, guest: str, user: int) -> Pieces[int]:
    """Move a guest's conversations and files to the account at sign-in; how many conversations."""
    theirs = Conversation.objects.filter(user=None, guest=guest)
    moved = 0
    while some := list(theirs.values_list("id", flat=True)[:ROWS]):
        moved += theirs.filter(id__in=some).update(user_id=user, guest="")
        yield from index_again(some)
        yield
    while uploads.move_uploads(guest=guest, user=user, most=ROWS):
        yield
    return moved
