"""What was said in a conversation, for an index that follows it."""

from __future__ import annotations

from django.db.models import QuerySet

from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.queries import free_or_owned, path
from chatsite.conversations.said_records import Lines, Standing
from chatsite.history import BACKGROUND
from chatsite.history.index import Line

LOOKED_AT = 50


def standing(*, owner: Owner, conversation: str, last: int) -> Standing:
    """Of an index that ends at the message `last`. Raises NotFound for another's conversation."""
    row = free_or_owned(owner, conversation)
    if row is None:
        return Standing()
    waiting = _behind(row, last)
    newest = _said(row).filter(seq__lte=last).order_by("-seq").values_list("seq", flat=True)
    return Standing(
        newest=tuple(newest[:LOOKED_AT]) if last else (),
        messages=row.path_messages - waiting,
        waiting=waiting,
    )


def said_since(*, owner: Owner, conversation: str, after: int, before: int, most: int) -> Lines:
    """What person and assistant said between two places of the path, the oldest first.

    Left out are greetings, which no model ever gets, and turns of background tasks.
    """
    row = free_or_owned(owner, conversation)
    if row is None:
        return Lines()
    between = _said(row).filter(seq__gt=after, seq__lt=before, content__gt="").order_by("seq")
    found = between.values_list("seq", "role", "content", "created")
    lines = tuple(
        Line(seq=seq, author=role[0], text=text or "", at=created)
        for seq, role, text, created in found[:most]
    )
    last = lines[-1].seq if lines else after
    return Lines(lines=lines, messages=row.path_messages - _behind(row, last))


def _behind(row: Conversation, last: int) -> int:
    return path(row).exclude(state="running").filter(seq__gt=last).count()


def _said(row: Conversation) -> QuerySet[Message]:
    said = path(row).filter(role__in=("user", "assistant"), turn_seq__gt=0)
    said = said.exclude(state="running").exclude(source__in=BACKGROUND)
    if row.path_background:
        asked = path(row).filter(role="user", source__in=BACKGROUND)
        said = said.exclude(turn_seq__in=asked.values("seq"))
    return said
