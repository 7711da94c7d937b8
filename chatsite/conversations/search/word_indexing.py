"""Puts titles and messages into the index of words, some at a time and the oldest first.

A turn doesn't wait for it: together, a hundred messages take a fifth of the time that they take one
by one. So are databases indexed that are older than the index.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence

from chatsite.conversations.database.columns import execute_many, fetch
from chatsite.conversations.database.statements import (
    HIGHEST_NUMBER,
    SAVE_MESSAGE_NUMBER,
    SAVE_TITLE_NUMBER,
    UNSEARCHED_MESSAGES,
    UNSEARCHED_TITLES,
    WAITING,
)
from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.search.word_index import Kind, merge_words, numbers_of
from chatsite.conversations.search.words import MOST_CHARACTERS
from chatsite.storage import ROWS, Pieces, in_pieces, reading

# Of one piece: 20 ms.
PIECE_CHARACTERS = 100_000
# An id, the owner's account and guest key, and the length of the text.
_Row = tuple[str, int | None, str, int | None]


@reading
def words_waiting() -> bool:
    """Whether there are titles or messages that aren't in the index yet."""
    return bool(fetch(WAITING)[0][0])


@in_pieces
def index_words() -> Pieces[bool]:
    """Add the next titles and messages, at most `ROWS` of each; whether more may be waiting."""
    titles, waiting = fetch(UNSEARCHED_TITLES, ROWS), fetch(UNSEARCHED_MESSAGES, ROWS)
    messages = _some(waiting)
    execute_many(SAVE_TITLE_NUMBER, _numbered("title", titles))
    execute_many(SAVE_MESSAGE_NUMBER, _numbered("message", messages))
    yield
    merge_words()
    return len(titles) == ROWS or len(waiting) == ROWS or len(messages) < len(waiting)


def _some(rows: Sequence[_Row]) -> Sequence[_Row]:
    """As many as one piece may take, and at least one."""
    characters = 0
    for count, (_, _, _, length) in enumerate(rows):
        characters += min(length or 0, MOST_CHARACTERS)
        if count and characters > PIECE_CHARACTERS:
            return rows[:count]
    return rows


def _numbered(kind: Kind, rows: Iterable[_Row]) -> list[tuple[int, str]]:
    """The numbers that these rows get: each the next one of its owner."""
    next_of: dict[Owner, int] = {}
    numbered = []
    for id, user, guest, _ in rows:
        owner = Owner(user=user, guest=guest)
        if owner not in next_of:
            numbers = numbers_of(owner, kind)
            highest = fetch(HIGHEST_NUMBER[kind], numbers.start, numbers.stop)[0][0]
            next_of[owner] = numbers.start if highest is None else highest + 1
        numbered.append((next_of[owner], id))
        next_of[owner] += 1
    return numbered


def index_again(conversations: Sequence[uuid.UUID]) -> Pieces[None]:
    """Take these conversations' words out, to be added again with the numbers of their owner of
    now."""
    Conversation.objects.filter(id__in=conversations).update(words_row=None)
    indexed = Message.objects.filter(conversation__in=conversations, words_row__isnull=False)
    while some := list(indexed.values_list("id", flat=True)[:ROWS]):
        Message.objects.filter(id__in=some).update(words_row=None)
        yield
