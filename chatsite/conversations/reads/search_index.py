"""Reads the lines of a conversation for the search index, which follows its path."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import QuerySet

from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.reads.loading import in_batches
from chatsite.conversations.reads.ownership import free_or_owned, messages_on_path
from chatsite.conversations.values.owners import Owner
from chatsite.conversations.values.records import IndexLines, IndexProgress
from chatsite.history import BACKGROUND
from chatsite.history.lexical.index import Line

LOOKED_AT = 50


def index_progress(*, owner: Owner, conversation: str, last: int) -> IndexProgress:
    """For an index that ends at the message `last`. Raises NotFound for another owner's."""
    row = free_or_owned(owner, conversation)
    if row is None:
        return IndexProgress()
    waiting = _messages_after(row, last)
    newest = _indexable(row).filter(seq__lte=last).order_by("-seq").values_list("seq", "turn_seq")
    found = list(newest[:LOOKED_AT]) if last else []
    background = _background_turns(row, {turn for _, turn in found})
    return IndexProgress(
        newest=tuple(seq for seq, turn in found if turn not in background),
        messages=row.path_messages - waiting,
        waiting=waiting,
        text_changes=row.text_changes,
    )


def lines_between(
    *, owner: Owner, conversation: str, after: int, before: int, most: int
) -> IndexLines:
    """User and assistant messages between two places of the path, the oldest first.

    Without greetings, which are never sent, and without turns of background tasks.
    """
    row = free_or_owned(owner, conversation)
    if row is None:
        return IndexLines()
    between = _indexable(row).filter(seq__gt=after, seq__lt=before, content__gt="").order_by("seq")
    columns = between.values_list("seq", "turn_seq", "role", "content", "created")
    found = list(columns[:most])
    background = _background_turns(row, {turn for _, turn, *_ in found})
    lines = tuple(
        Line(seq=seq, author=role[0], text=text or "", at=created)
        for seq, turn, role, text, created in found
        if turn not in background
    )
    last = lines[-1].seq if lines else after
    return IndexLines(lines=lines, messages=row.path_messages - _messages_after(row, last))


def _messages_after(row: Conversation, last: int) -> int:
    return messages_on_path(row).exclude(state="running").filter(seq__gt=last).count()


def _indexable(row: Conversation) -> QuerySet[Message]:
    # Selected by role, SQLite would read all rows of both roles and sort them.
    said = messages_on_path(row).exclude(role__in=("system", "tool")).exclude(source__in=BACKGROUND)
    return said.exclude(state="running").filter(turn_seq__gt=0)


def _background_turns(row: Conversation, turns: Collection[int]) -> set[int]:
    """The turns among these that a background task started."""
    found: set[int] = set()
    if row.path_background:
        for some in in_batches(sorted(turns)):
            asked = messages_on_path(row).filter(seq__in=some, source__in=BACKGROUND)
            found.update(asked.values_list("seq", flat=True))
    return found
