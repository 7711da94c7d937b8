"""What is removed for good: deleted conversations, files that were never sent, what was left over.

Run at the server's start and every hour, or by `manage.py purge`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from django.db import transaction
from django.db.models import Max, Q
from django.utils import timezone

from chatsite.conversations.files.uploads import upload_folder
from chatsite.conversations.models import Conversation, Message, Summary, Turn, Upload

T = TypeVar("T")
# The page offers to undo a deletion for some seconds; whoever reads that late still can.
DELETED_AFTER = timedelta(hours=1)
UNSENT_AFTER = timedelta(hours=24)
# What is being written now looks like what was left behind.
LEFT_OVER_SECONDS = 3600.0
CHUNK = 2_000
ROWS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """How many there were. `leftovers`: files without a row, and rows without their file."""

    conversations: int
    unsent: int
    leftovers: int


def purge(*, now: datetime | None = None) -> Purged:
    """A unit of work that may take seconds: each of its transactions is short."""
    now = now or timezone.now()
    deleted = Conversation.objects.filter(deleted__lt=now - DELETED_AFTER)
    ids = list(deleted.values_list("id", flat=True))
    for id in ids:
        _remove_conversation(id, before=now - DELETED_AFTER)
    return Purged(
        conversations=len(ids),
        unsent=_remove_unsent(now - UNSENT_AFTER),
        leftovers=_remove_leftovers(now),
    )


def _remove_conversation(id: uuid.UUID, *, before: datetime) -> None:
    """Newest messages first and some at a time: a long conversation must not hold up all writers.

    Not by the ORM's cascade, which reads every row first.
    """
    tree = Message.objects.filter(conversation=id)
    while True:
        with transaction.atomic():
            row = Conversation.objects.select_for_update().filter(id=id).first()
            if row is None or row.deleted is None or row.deleted >= before:
                return  # brought back in this moment
            newest = tree.aggregate(seq=Max("seq"))["seq"]
            if newest is None:
                break
            chunk = tree.filter(seq__gt=newest - CHUNK)
            Conversation.objects.filter(id=id).update(last_turn=None)
            Summary.objects.filter(last__in=chunk).delete()
            Turn.objects.filter(asked__in=chunk).update(asked=None)
            chunk._raw_delete(chunk.db)
    with transaction.atomic():
        turns = Turn.objects.filter(conversation=id)
        turns._raw_delete(turns.db)
        Conversation.objects.filter(id=id).delete()  # its files' rows with it, and their bytes


def _remove_unsent(before: datetime) -> int:
    unsent = Upload.objects.filter(conversation=None, created__lt=before)
    found = list(unsent.values_list("id", flat=True))
    for part in _parts(found):
        with transaction.atomic():
            # Asked again: one may have been sent meanwhile.
            unsent.filter(id__in=part).delete()
    return len(found)


def _remove_leftovers(now: datetime) -> int:
    """What a killed server, or a folder put back from a backup, leaves."""
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
        return count  # rather a disk that isn't mounted, or another FILES_DIR, than a loss
    for part in _parts(lost):
        Upload.objects.filter(id__in=part).delete()
    return count + len(lost)


def _parts(ids: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(ids), ROWS):
        yield ids[start : start + ROWS]


def _ids(which: Q) -> list[uuid.UUID]:
    return list(Upload.objects.filter(which).values_list("id", flat=True))
