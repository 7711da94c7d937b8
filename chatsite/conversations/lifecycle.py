"""Writes about whole conversations: rename, delete, restore, move to an account, purge.

`purge` removes deleted conversations, files that were never sent, and files or rows whose
counterpart is missing: at the server's start, every hour, and by `manage.py purge`.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import F, Max, Q
from django.utils import timezone

from chatsite.conversations.database.columns import execute_many, in_batches, key
from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.rows import conversation_view
from chatsite.conversations.database.statements import SAVE_COUNT
from chatsite.conversations.files import uploads
from chatsite.conversations.files.uploads import upload_folder, upload_store
from chatsite.conversations.models import Conversation, Import, Message, Summary, Turn, Upload
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import owned_conversation
from chatsite.conversations.path import loading
from chatsite.conversations.path.active_path import take_off_path
from chatsite.conversations.search import stored_indexes as search_indexes
from chatsite.conversations.search.word_index import index_again
from chatsite.conversations.signals import owner_leaves, text_changed
from chatsite.conversations.versions.deletions import DELETED_AFTER, purge_messages
from chatsite.conversations.versions.versions import require_idle
from chatsite.errors import NotFound, Refused
from chatsite.messages import TokenCount
from chatsite.storage import ROWS, Pieces, in_pieces, tidying, writing
from chatsite.views import ConversationView
from chatsite.wording import say


@in_pieces
def save_counts(*, conversation: str, counts: Mapping[str, TokenCount]) -> Pieces[None]:
    """Store token counts by message id, and update the path's total."""
    ids = sorted(counts)
    for part in in_batches(ids, ROWS):
        hold(conversation=conversation)
        some = {uuid.UUID(id): counts[id] for id in part}
        # Without the texts, which may be long.
        messages = Message.objects.filter(conversation_id=uuid.UUID(conversation), id__in=some)
        rows = list(messages.values_list("id", "tokens", "on_path", "state"))
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
    """Store another title, cut to 200 characters. Raises NotFound."""
    hold(conversation=conversation)
    row = owned_conversation(owner, conversation)
    row.title, row.titled = title[:200], "person"
    row.save(update_fields=["title", "titled"])
    return conversation_view(row)


@writing
def choose_history(*, owner: Owner, conversation: str, history: Mapping[str, str]) -> None:
    """Keep what was chosen in the page with the conversation, in place of what was kept before.
    Raises NotFound."""
    hold(conversation=conversation)
    row = owned_conversation(owner, conversation)
    row.history = dict(history)
    row.save(update_fields=["history"])


@writing
def delete_conversation(*, owner: Owner, conversation: str) -> None:
    """Hide it at once; `undelete_conversation` undoes this until it is purged."""
    hold(conversation=conversation)
    row = owned_conversation(owner, conversation)
    row.deleted = timezone.now()
    row.save(update_fields=["deleted"])
    loading.forget_entries(row.id)


@writing
def undelete_conversation(*, owner: Owner, conversation: str) -> ConversationView:
    """Show a deleted conversation again. Raises NotFound where it was purged."""
    hold(conversation=conversation)
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
    hold(conversation=conversation)
    row = owned_conversation(owner, conversation)
    require_idle(row)
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
        hold(conversation=row.id)
        current = Conversation.objects.filter(id=row.id).first()
        if current is None:
            return  # deleted for good meanwhile
        take_off_path(current, range(first, min(first + ROWS, below)))
        transaction.on_commit(partial(loading.forget_entries, row.id))
        yield
    hold(conversation=row.id)
    Conversation.objects.filter(id=row.id, forget_above=below).update(forget_above=0)
    transaction.on_commit(partial(loading.forget_entries, row.id))


@in_pieces
def move_to_account(*, guest: str, user: int) -> Pieces[int]:
    """Move a guest's conversations and files to the account at sign-in, and return how many
    conversations there were."""
    hold(owner := Owner(guest=guest), Owner(user=user))
    Import.objects.filter(owner.filter()).update(user=user, guest="")
    owner_leaves.send(Owner, owner=owner, user=user)
    theirs, moved = Conversation.objects.filter(owner.filter()), 0
    while some := list(theirs.values_list("id", flat=True)[:ROWS]):
        hold(conversation=some)
        moved += theirs.filter(id__in=some).update(user_id=user, guest="")
        yield from index_again(some)
        yield
        hold(owner)
    while uploads.move_uploads(guest=guest, user=user, most=ROWS):
        yield
        hold(owner)
    return moved


UNSENT_AFTER = timedelta(hours=24)
# Younger files may still be in the middle of an upload.
LEFT_OVER_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """Counts what a purge removed. `leftovers`: files without a row, and rows without their
    file."""

    unsent: int
    leftovers: int
    conversations: int = 0
    messages: int = 0


def purge(*, now: datetime | None = None) -> Purged:
    """Purge everything at once, for the command: this may take seconds, in many short
    transactions."""
    conversations, messages = purge_conversations.here(now=now), purge_messages.here(now=now)
    return replace(purge_files.here(now=now), conversations=conversations, messages=messages)


@in_pieces
def purge_conversations(*, now: datetime | None = None) -> Pieces[int]:
    """Remove what was deleted long enough ago, and return how many conversations."""
    before = (now or timezone.now()) - DELETED_AFTER
    return (yield from remove_conversations(Q(deleted__lt=before, importing=False)))


@in_pieces
def remove_imports(
    *, conversation: str | None = None, begun_before: datetime | None = None
) -> Pieces[int]:
    """Remove what is left of an import that won't be completed, or of all that began by then, and
    return how many there were."""
    which = Q(importing=True)
    if conversation is not None:
        which &= Q(id=conversation)
    if begun_before is not None:
        which &= Q(deleted__lt=begun_before)
        Import.objects.filter(began__lt=begun_before).delete()
    return (yield from remove_conversations(which))


@tidying
def purge_files(*, now: datetime | None = None) -> Purged:
    """Remove files that were never sent, and what has no counterpart."""
    now = now or timezone.now()
    unsent = Upload.objects.filter(conversation=None, created__lt=now - UNSENT_AFTER)
    found = list(unsent.values_list("id", "user_id", "guest"))
    for part in in_batches(found, ROWS):
        with transaction.atomic():
            hold(*{Owner(user=user, guest=guest) for _, user, guest in part})
            # Filtered again: one may have been sent meanwhile.
            unsent.filter(id__in=[id for id, _, _ in part]).delete()
    return Purged(unsent=len(found), leftovers=_remove_leftovers(now))


def remove_conversations(which: Q) -> Pieces[int]:
    """Remove the newest messages first, as long as the conversation is one of `which`: somebody may
    restore it meanwhile. Without the ORM's cascade, which would read every row first."""
    found = Conversation.objects.filter(which).order_by("id")  # one piece may hold two of them
    ids = list(found.values_list("id", flat=True))
    yield
    for id in ids:
        hold(conversation=id)
        tree = Message.objects.filter(conversation=id)
        turns = Turn.objects.filter(conversation=id)
        conversation = Conversation.objects.filter(which, id=id)
        while conversation.exists():
            newest = tree.aggregate(seq=Max("seq"))["seq"]
            if newest is not None:
                chunk = tree.filter(seq__gt=newest - ROWS)
                conversation.update(last_turn=None)
                Summary.objects.filter(last__in=chunk).delete()
                turns.filter(asked__in=chunk).update(asked=None)
                chunk._raw_delete(chunk.db)
            elif some := list(turns.values_list("id", flat=True)[:ROWS]):
                part = turns.filter(id__in=some)
                part._raw_delete(part.db)
            elif files := list(Upload.objects.filter(conversation=id).values_list("id")[:ROWS]):
                # With their bytes.
                Upload.objects.filter(id__in=[file for (file,) in files]).delete()
            else:
                conversation.delete()
            yield
            hold(conversation=id)
    return len(ids)


def _remove_leftovers(now: datetime) -> int:
    """Remove files without a row and rows without a file, after a crash or a restored backup."""
    count = upload_folder().discard_unfinished(older_than=LEFT_OVER_SECONDS)
    with suppress(Refused):  # the bucket is away, as the log says: an hour later again
        count += _remove_unmatched(now)
    return count


def _remove_unmatched(now: datetime) -> int:
    files, count = upload_store(), 0
    on_disk = list(files.ids(older_than=LEFT_OVER_SECONDS))
    for some in in_batches(on_disk, ROWS):
        with_row = {
            str(id) for id in Upload.objects.filter(id__in=some).values_list("id", flat=True)
        }
        for id in set(some) - with_row:
            files.remove(id)
            count += 1
    old = Upload.objects.filter(created__lt=now - timedelta(seconds=LEFT_OVER_SECONDS))
    rows, with_file = list(old.values_list("id", flat=True)), set(on_disk)
    lost = [id for id in rows if str(id) not in with_file and not files.exists(str(id))]
    if len(lost) == len(rows):
        return count  # all are missing: more likely the disk isn't mounted, or FILES_DIR changed
    for part in in_batches(lost, ROWS):
        Upload.objects.filter(id__in=part).delete()
    return count + len(lost)
