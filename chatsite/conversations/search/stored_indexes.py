"""Search indexes on disk: parts of one are appended, and all go with a changed or deleted text."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import asdict, fields

from chatsite.conversations.database.columns import fetch, in_batches, key
from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.statements import (
    LINES,
    LINES_BETWEEN,
    MESSAGES_AFTER,
    NEWEST_INDEXABLE,
)
from chatsite.conversations.models import Conversation, SearchIndexPart
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import messages_on_path, totals_of_owned
from chatsite.conversations.path.loading import SHORT
from chatsite.conversations.records import IndexLines, IndexPart, IndexProgress
from chatsite.history import BACKGROUND
from chatsite.history.lexical.index import Line
from chatsite.storage import at_once, reading, takes_long, writing


@reading
def load_index(*, owner: Owner, conversation: str) -> tuple[IndexPart, ...]:
    """Return the parts in their order; none where nothing is stored. Raises NotFound for another
    owner's."""
    row = totals_of_owned(owner, conversation)
    if row is None:
        return ()
    parts = SearchIndexPart.objects.filter(conversation=row).order_by("first")
    columns = (field.name for field in fields(IndexPart))
    return tuple(IndexPart(**part) for part in parts.values(*columns))


@reading
def newest_indexed(*, most: int) -> tuple[tuple[Owner, str], ...]:
    """Owner and id of the conversations whose index is stored, those last used first."""
    rows = Conversation.objects.filter(deleted=None, search_index__first=0).order_by("-updated")
    found = rows.values_list("user_id", "guest", "id")[:most]
    return tuple((Owner(user=user, guest=guest), str(id)) for user, guest, id in found)


@writing
def save_index_part(*, conversation: str, text_changes: int, part: IndexPart) -> bool:
    """Store a part in place of all that reach beyond its beginning.

    False, and nothing is stored, where the conversation was deleted or its text changed since the
    index was made: the part may hold that text.
    """
    hold(conversation=conversation)
    # A temporary chat's index stays in memory.
    rows = Conversation.objects.filter(deleted=None, temporary=None, text_changes=text_changes)
    row = rows.filter(id=uuid.UUID(conversation)).first()
    if row is None:
        return False
    SearchIndexPart.objects.filter(conversation=row, end__gt=part.first).delete()
    SearchIndexPart.objects.create(conversation=row, **asdict(part))
    return True


def delete_index(row: Conversation) -> None:
    """Delete the index. Call this in the transaction that changes or deletes text, and save the row
    then.

    An index that is being saved at this moment is refused afterwards, because of the count.
    """
    row.text_changes += 1
    SearchIndexPart.objects.filter(conversation=row).delete()


LOOKED_AT = 50
# A question with its answer, and what tools brought: more lines than that are read on a thread.
FEW = 50


@at_once
@reading
def index_progress(*, owner: Owner, conversation: str, last: int) -> IndexProgress:
    """Find the place of an index that ends at the message `last`. Raises NotFound for another
    owner's."""
    row = totals_of_owned(owner, conversation)
    if row is None:
        return IndexProgress()
    if not last and row.path_messages > SHORT:
        takes_long()
    waiting = _messages_after(row, last)
    newest = _newest_up_to(row, last, 1) if last else []
    # Mostly the path has only grown. While other threads compute, each row more takes its time.
    if last and (row.path_background or newest[:1] != [last]):
        newest = _newest_up_to(row, last, LOOKED_AT)
    return IndexProgress(
        newest=tuple(newest),
        messages=row.path_messages - waiting,
        waiting=waiting,
        text_changes=row.text_changes,
    )


@at_once
@reading
def lines_between(
    *, owner: Owner, conversation: str, after: int, before: int, most: int
) -> IndexLines:
    """Read user and assistant messages between two places of the path, the oldest first: without
    greetings, which are never sent, and without turns of background tasks."""
    row = totals_of_owned(owner, conversation)
    if row is None:
        return IndexLines()
    if before - after > FEW:
        takes_long()
    rows = LINES.where(LINES_BETWEEN, key(row.id), True, *BACKGROUND, after, before, most)
    background = _background_turns(row, {one.turn_seq for one in rows})
    lines = tuple(
        Line(seq=one.seq, author=one.role[0], text=one.content or "", at=one.created)
        for one in rows
        if one.turn_seq not in background
    )
    last = lines[-1].seq if lines else after
    return IndexLines(lines=lines, messages=row.path_messages - _messages_after(row, last))


def _newest_up_to(row: Conversation, last: int, most: int) -> list[int]:
    """Return the newest `most` indexable messages up to `last`, less those of background turns."""
    rows = fetch(NEWEST_INDEXABLE, key(row.id), True, *BACKGROUND, last, most)
    background = _background_turns(row, {turn for _, turn in rows})
    return [seq for seq, turn in rows if turn not in background]


def _messages_after(row: Conversation, last: int) -> int:
    return int(fetch(MESSAGES_AFTER, key(row.id), True, last)[0][0])


def _background_turns(row: Conversation, turns: Collection[int]) -> set[int]:
    """Return the turns among these that a background task started."""
    started: set[int] = set()
    if row.path_background:
        for some in in_batches(sorted(turns)):
            asked = messages_on_path(row).filter(seq__in=some, source__in=BACKGROUND)
            started.update(asked.values_list("seq", flat=True))
    return started
