"""Writes about whole conversations: rename, delete, clear, restore, import, move to an account."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from chatsite.conversations.active_path import place_at_end, with_token_count
from chatsite.conversations.cache import books, saved_sessions
from chatsite.conversations.database.rows import conversation_view
from chatsite.conversations.database.work import writing
from chatsite.conversations.files import uploads
from chatsite.conversations.models import UNANSWERED, Conversation, Message, Turn
from chatsite.conversations.reads import loading
from chatsite.conversations.reads.ownership import owned_conversation
from chatsite.conversations.values.owners import Owner
from chatsite.errors import TurnRunning
from chatsite.messages import Message as DomainMessage
from chatsite.messages import TokenCount
from chatsite.views import ConversationView


@writing
def save_counts(*, conversation: str, counts: Mapping[str, TokenCount]) -> None:
    """Store token counts by message id, and update the path's total."""
    Conversation.objects.select_for_update().filter(id=conversation).first()
    rows = Message.objects.in_bulk([uuid.UUID(id) for id in counts])
    change = 0
    for id, row in rows.items():
        count = counts[str(id)]
        counts_now = row.on_path and row.state != "running"
        change += (count.count - row.tokens) * counts_now
        row.tokens, row.tokenizer, row.basis = count.count, count.tokenizer, count.basis
    Message.objects.bulk_update(rows.values(), ["tokens", "tokenizer", "basis"], batch_size=300)
    Conversation.objects.filter(id=conversation).update(path_tokens=F("path_tokens") + change)


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


def delete_conversation(*, owner: Owner, conversation: str) -> None:
    """Hide it at once; `undelete_conversation` undoes this until it is purged."""
    row = owned_conversation(owner, conversation)
    row.deleted = timezone.now()
    row.save(update_fields=["deleted"])
    loading.forget_entries(row)


def undelete_conversation(*, owner: Owner, conversation: str) -> ConversationView:
    row = owned_conversation(owner, conversation, deleted=True)
    row.deleted = None
    row.save(update_fields=["deleted"])
    return conversation_view(row)


@writing
def clear_conversation(*, owner: Owner, conversation: str) -> None:
    """Start a new, empty path. The messages stay stored, off the path, and lose their places in
    the engine's cache and their unloaded status."""
    row = owned_conversation(owner, conversation)
    if Turn.objects.filter(conversation=row, state="running").exists():
        raise TurnRunning("An answer is still being written here. Stop it first.")
    books.clear_places(row)
    saved_sessions.delete_saved_session(row)
    Message.objects.filter(conversation=row, on_path=True).update(on_path=False)
    row.path_messages = row.path_users = row.path_background = row.path_tokens = 0
    row.marked = row.forget_above = row.last_background = 0
    row.last_turn = None
    row.updated = timezone.now()
    row.save()
    transaction.on_commit(partial(loading.forget_entries, row))


@writing
def import_conversation(
    *,
    owner: Owner,
    agent: str,
    title: str,
    messages: Sequence[DomainMessage],
    pinned: Collection[str] = (),
    excluded: Collection[str] = (),
    unanswered: Collection[str] = (),
    forget_above: int = 0,
    quoted: Mapping[str, Sequence[int]] = MappingProxyType({}),
    history: Mapping[str, str] = MappingProxyType({}),
) -> ConversationView:
    """A new conversation of this owner with these messages, which `History` has checked.

    `pinned` and `excluded` are disjoint sets of ids, `unanswered` those of user messages whose
    answer failed; the first `forget_above` messages are above the marker. `quoted` are the places
    in `messages`, from 0, of those that were quoted before the question of a message, by its id.
    `history` is the choice to keep with it.
    """
    now = timezone.now()
    row = Conversation(
        id=uuid.uuid4(),
        user_id=owner.user,
        guest=owner.guest,
        agent=agent,
        history=dict(history),
        title=title[:200],
        created=now,
        updated=now,
    )
    rows = place_at_end(row, [with_token_count(said) for said in messages], now=now)
    for one in rows:
        one.pinned, one.excluded = str(one.id) in pinned, str(one.id) in excluded
        one.state = UNANSWERED[0] if str(one.id) in unanswered else one.state
        one.quoted = [rows[place].seq for place in quoted.get(str(one.id), ())]
    row.marked = sum(one.pinned or one.excluded for one in rows)
    if forget_above:
        row.forget_above = rows[0].seq + forget_above
    row.save(force_insert=True)
    Message.objects.bulk_create(rows, batch_size=500)
    return conversation_view(row)


@writing
def move_to_account(*, guest: str, user: int) -> int:
    """Move a guest's conversations and files to the account at sign-in; how many conversations."""
    uploads.move_uploads(guest=guest, user=user)
    return Conversation.objects.filter(user=None, guest=guest).update(user_id=user, guest="")
