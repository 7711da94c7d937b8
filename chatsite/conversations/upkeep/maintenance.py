"""Keeps storage in order while the server runs, and removes for good what was deleted.

Removed are deleted conversations, files that were never sent, and files or rows whose counterpart
is missing: at the server's start, every hour, and by `manage.py purge`.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from django.db import transaction
from django.db.models import Max, Q
from django.utils import timezone

from chatsite.conversations.database.work import StorageThreads, flush_write_log
from chatsite.conversations.files.uploads import upload_folder
from chatsite.conversations.models import Conversation, Message, Summary, Turn, Upload
from chatsite.conversations.upkeep.accounts import remove_lost_sessions

logger = logging.getLogger("chatsite")
PURGE_SECONDS = 3_600.0
FLUSH_SECONDS = 5.0
T = TypeVar("T")
# The page offers to undo a deletion for some seconds, but a person may read it late.
DELETED_AFTER = timedelta(hours=1)
UNSENT_AFTER = timedelta(hours=24)
# Younger files may still be in the middle of an upload.
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
    """A unit of work that may take seconds, in many short transactions."""
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
    """In parts, the newest messages first, so that a long conversation doesn't block all writers.

    Without the ORM's cascade, which would read every row first.
    """
    tree = Message.objects.filter(conversation=id)
    while True:
        with transaction.atomic():
            row = Conversation.objects.select_for_update().filter(id=id).first()
            if row is None or row.deleted is None or row.deleted >= before:
                return  # restored in the meantime
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


# ---- while the server runs --------------------------------------------------------------------
class Maintenance:
    """Two tasks of the running server. `sweep` removes leftover files beside the database."""

    def __init__(self, run: StorageThreads, sweep: Callable[[], Awaitable[None]]) -> None:
        self.run = run
        self.sweep = sweep
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(_repeat(self.flush_write_log, FLUSH_SECONDS)),
            asyncio.create_task(_repeat(self.purge, PURGE_SECONDS)),
        ]

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def flush_write_log(self) -> None:
        await self.run(flush_write_log)

    async def purge(self) -> None:
        purged = await self.run(purge)
        if any(astuple(purged)):
            logger.info("Removed for good: %s", purged)
        await self.run(remove_lost_sessions)
        await self.sweep()


async def _repeat(work: Callable[[], Awaitable[None]], seconds: float) -> None:
    """Every `seconds`, also after an error."""
    while True:
        try:
            await work()
        except Exception:
            logger.exception("the store couldn't be kept in order")
        await asyncio.sleep(seconds)
