"""Where conversations stand in the sidebar: pinned, in a folder, in the archive, or in the list.

Each stands in one place: the archive comes before pins, pins before folders. A folder is a name,
and is there as long as a conversation that isn't archived has it.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Literal

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.rows import conversation_view
from chatsite.conversations.models import Conversation
from chatsite.conversations.owners import Owner
from chatsite.conversations.path import loading
from chatsite.conversations.path.queries import SHELVES
from chatsite.encoding import Record
from chatsite.errors import NotFound, Refused
from chatsite.storage import ROWS, Pieces, in_pieces, reading, writing
from chatsite.views import ConversationView
from chatsite.wording import say

# All of them come with the first page of the sidebar.
MOST_PINNED = 200
Mark = Literal["pinned", "archived", "deleted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place(Record):
    """Where a conversation stands, so that it can be put back there. Times are ISO 8601."""

    id: str
    pinned: str | None
    archived: str | None
    folder: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups(Record):
    """What the sidebar shows beside the list: those that are pinned, the folders, each as its name
    and how many conversations it shows, and how many are archived."""

    pinned: tuple[ConversationView, ...]
    folders: tuple[tuple[str, int], ...]
    archived: int


def _all_of(owner: Owner) -> QuerySet[Conversation]:
    found = Conversation.objects.filter(owner.filter(), deleted=None)
    return found.exclude(temporary=True)


@reading
def sidebar_groups(*, owner: Owner) -> Groups:
    """Folders in the order of the alphabet, pinned ones newest first."""
    # Sorted here: for the order, SQLite would read every conversation of the owner.
    pinned = list(_all_of(owner).filter(SHELVES["pinned"]))
    pinned.sort(key=lambda row: (row.updated, row.id), reverse=True)
    unpinned, kept = Q(archived=None, pinned=None), Q(archived=None)
    counts = list(
        _all_of(owner)
        .filter(Q(folder__isnull=False) | SHELVES["archive"])
        .values("folder")
        .annotate(shown=Count("id", filter=unpinned), there=Count("id", filter=kept))
        .annotate(all=Count("id"))
        .order_by()
        .values_list("folder", "shown", "there", "all")
    )
    folders = [(name, shown) for name, shown, there, _ in counts if name is not None and there]
    return Groups(
        pinned=tuple(map(conversation_view, pinned)),
        folders=tuple(sorted(folders, key=lambda one: (one[0].casefold(), one[0]))),
        archived=sum(all - there for _, _, there, all in counts),
    )


@reading
def require_own(*, owner: Owner, ids: Sequence[uuid.UUID]) -> None:
    """Raise NotFound unless all of them are conversations of this owner."""
    _rows(owner, ids, deleted=None)


@writing
def mark_conversations(
    *, owner: Owner, ids: Sequence[uuid.UUID], mark: Mark, on: bool
) -> list[Place]:
    """Pin, archive or delete several, or take their mark off; return where each stood before.

    One that is marked already keeps its time. Raises NotFound, and changes nothing, unless all are
    this owner's; Refused where more would be pinned than `MOST_PINNED`.
    """
    hold(owner, conversation=ids)
    rows = _rows(owner, ids, deleted=None)
    found = Conversation.objects.filter(id__in=ids)
    if not on:
        found.update(**{mark: None})
    else:
        found.filter(**{mark: None}).update(**{mark: timezone.now()})
    if mark == "pinned" and on and _all_of(owner).exclude(pinned=None).count() > MOST_PINNED:
        raise Refused(
            say(
                "At most {most} chats can be pinned. Nothing was changed; unpin one first.",
                most=MOST_PINNED,
            )
        )
    if mark == "deleted":
        for id in ids:
            loading.forget_entries(id)
    return [_place(row) for row in rows]


@writing
def move_conversations(
    *, owner: Owner, ids: Sequence[uuid.UUID], folder: str | None
) -> list[Place]:
    """Put several into a folder, or with None into none; return where each stood before. Those that
    are pinned stay it. Raises NotFound, and changes nothing, unless all are this owner's."""
    hold(owner, conversation=ids)
    rows = _rows(owner, ids, deleted=None)
    Conversation.objects.filter(id__in=ids).update(folder=folder)
    return [_place(row) for row in rows]


@in_pieces
def rename_folder(*, owner: Owner, folder: str, name: str | None) -> Pieces[list[Place]]:
    """Give a folder another name, which may be that of another folder, or with None dissolve it;
    return where each conversation stood before. Raises NotFound where it is empty."""
    hold(owner)
    inside = _all_of(owner).filter(folder=folder)
    former: list[Place] = []
    while name != folder and (rows := list(inside[:ROWS])):
        ids = [row.id for row in rows]
        hold(conversation=ids)
        Conversation.objects.filter(id__in=ids).update(folder=name)
        former += map(_place, rows)
        yield
        hold(owner)
    if not former:
        raise NotFound(say("There is no such folder."))
    return former


@writing
def put_back(*, owner: Owner, places: Sequence[Place]) -> None:
    """Put several back where they stood, deleted ones too. Raises NotFound, and changes nothing,
    unless all are this owner's and not yet erased."""
    hold(owner, conversation=(ids := [uuid.UUID(place.id) for place in places]))
    _rows(owner, ids, importing=False)

    def where(place: Place) -> tuple[str, ...]:
        return place.pinned or "", place.archived or "", place.folder or ""

    for (pinned, archived, folder), some in groupby(sorted(places, key=where), where):
        Conversation.objects.filter(id__in=[place.id for place in some]).update(
            pinned=datetime.fromisoformat(pinned) if pinned else None,
            archived=datetime.fromisoformat(archived) if archived else None,
            folder=folder or None,
            deleted=None,
        )


def _rows(owner: Owner, ids: Sequence[uuid.UUID], **wanted: Any) -> list[Conversation]:
    found = Conversation.objects.filter(owner.filter(), id__in=ids, **wanted)
    rows = list(found.only("id", "pinned", "archived", "folder"))
    if len(rows) != len(ids):
        raise NotFound(say("There is no such conversation."))
    return rows


def _place(row: Conversation) -> Place:
    return Place(
        id=str(row.id),
        pinned=row.pinned.isoformat() if row.pinned else None,
        archived=row.archived.isoformat() if row.archived else None,
        folder=row.folder,
    )
