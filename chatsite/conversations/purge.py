"""Removes for good what was deleted.

Removed are deleted conversations, files that were never sent, and files or rows whose counterpart
is missing: at the server's start, every hour, and by `manage.py purge`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from django.db import transaction
from django.db.models import Max, Q
from django.utils import timezone

from chatsite.conversations.files.uploads import upload_folder
from chatsite.conversations.models import Conversation, Message, Summary, Turn, Upload
from chatsite.conversations.versions.deletions import DELETED_AFTER, purge_messages
from chatsite.storage import ROWS, Pieces, in_pieces, tidying

T = TypeVar("T")
UNSENT_AFTER = timedelta(hours=24)
# Younger files may still be in the middle of an upload.
LEFT_OVER_SECONDS = 3600.0
CHUNK = ROWS


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """How many there were. `leftovers`: files without a row, and rows without their file."""

    conversations: int
    unsent: int
    leftovers: int
    messages: int = 0


def purge(*, now: datetime | None = None) -> Purged:
    """Everything at once, for the command: it may take seconds, in many short transactions."""
    conversations, messages = purge_conversations.here(now=now), purge_messages.here(now=now)
    return replace(purge_files.here(now=now), conversations=conversations, messages=messages)


@in_pieces
def purge_conversations(*, now: datetime | None = None) -> Pieces[int]:
    """Remove what was deleted long enough ago; how many conversations."""
    before = (now or timezone.now()) - DELETED_AFTER
    deleted = Conversation.objects.filter(deleted__lt=before, importing=False)
    ids = list(deleted.values_list("id", flat=True))
    yield
    for id in ids:
        yield from _remove_conversation(id, Q(deleted__lt=before))
    return len(ids)


@in_pieces
def remove_imports(*, conversation: str | None = None) -> Pieces[int]:
    """Remove what is left of an import that won't be completed, or of all; how many there were."""
    left = Conversation.objects.filter(importing=True)
    if conversation is not None:
        left = left.filter(id=conversation)
    ids = list(left.values_list("id", flat=True))
    yield
    for id in ids:
        yield from _remove_conversation(id, Q(importing=True))
    return len(ids)


@tidying
def purge_files(*, now: datetime | None = None) -> Purged:
    """Remove files that were never sent, and what has no counterpart."""
    now = now or timezone.now()
    return Purged(
        conversations=0,
        unsent=_remove_unsent(now - UNSENT_AFTER),
        leftovers=_remove_leftovers(now),
    )


def _remove_conversation(id: uuid.UUID, which: Q) -> Pieces[None]:
    """The newest messages first, as long as the conversation is one of `which`: somebody may
    restore it meanwhile. Without the ORM's cascade, which would read every row first."""
    tree = Message.objects.filter(conversation=id)
    turns = Turn.objects.filter(conversation=id)
    there = Conversation.objects.select_for_update().filter(which, id=id)
    while there.exists():
        newest = tree.aggregate(seq=Max("seq"))["seq"]
        if newest is not None:
            chunk = tree.filter(seq__gt=newest - CHUNK)
            there.update(last_turn=None)
            Summary.objects.filter(last__in=chunk).delete()
            turns.filter(asked__in=chunk).update(asked=None)
            chunk._raw_delete(chunk.db)
        elif some := list(turns.values_list("id", flat=True)[:CHUNK]):
            part = turns.filter(id__in=some)
            part._raw_delete(part.db)
        elif files := list(Upload.objects.filter(conversation=id).values_list("id")[:CHUNK]):
            Upload.objects.filter(id__in=[file for (file,) in files]).delete()  # with their bytes
        else:
            there.delete()
        yield


def _remove_unsent(before: datetime) -> int:
    unsent = Upload.objects.filter(conversation=None, created__lt=before)
    found = list(unsent.values_list("id", flat=True))
    for part in _parts(found):
        with transaction.atomic():
            # Filtered again: one may have been sent meanwhile.
            unsent.filter(id__in=part).delete()
    return len(found)


def _remove_leftovers(now: datetime) -> int:
    """Files without a row and rows without a file, after a crash or a restored backup."""
    files = upload_folder()
    count = files.discard_unfinished(older_than=LEFT_OVER_SECONDS)
    stored = list(files.ids(older_than=LEFT_OVER_SECONDS))
    for some in _parts(stored):
        known = {str(id) for id in _ids(Q(id__in=some))}
        for id in (id for id in some if id not in known):
            files.remove(id)
            count += 1
    there = set(stored)
    rows = _ids(Q(created__lt=now - timedelta(seconds=LEFT_OVER_SECONDS)))
    lost = [id for id in rows if str(id) not in there and not files.path(str(id)).exists()]
    if len(lost) == len(rows):
        return count  # all are missing: more likely the disk isn't mounted, or FILES_DIR changed
    for part in _parts(lost):
        Upload.objects.filter(id__in=part).delete()
    return count + len(lost)


def _parts(ids: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(ids), ROWS):
        yield ids[start : start + ROWS]


def _ids(which: Q) -> list[uuid.UUID]:
    return list(Upload.objects.filter(which).values_list("id", flat=True))
