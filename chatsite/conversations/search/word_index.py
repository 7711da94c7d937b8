"""The index of words: which titles and messages are in it, and under which numbers.

A title or text is in the index exactly as long as its row has a number, `words_row`. Triggers see
to it (`word_tables.py`), so that words leave the index whatever deletes or changes them: an edit, a
purge, the admin's pages, a cascade.

A number is made of its owner and a count, so that a search reads one range of the index, however
much others have written. Who moves to another owner is given new numbers.

A turn doesn't wait for it: together, a hundred messages take a fifth of the time that they take one
by one. So are databases indexed that are older than the index.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from typing import Literal

from django.db import connection

from chatsite.conversations.database.columns import execute, execute_many, fetch
from chatsite.conversations.database.locks import hold
from chatsite.conversations.database.statements import (
    HIGHEST_NUMBER,
    NUMBERED_TEXTS,
    SAVE_NUMBER,
    SAVE_WORDS,
    UNSEARCHED_MESSAGES,
    UNSEARCHED_TITLES,
    WAITING,
)
from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.search.spelling import MOST_CHARACTERS, spelled_words
from chatsite.conversations.search.word_tables import MERGE
from chatsite.storage import ROWS, Pieces, in_pieces, reading

Kind = Literal["title", "message"]
_COUNT_BITS = 30
# With the count and the bit for titles 56 bits: FTS5 before SQLite 3.42 misreads larger steps from
# number to number when it reads backwards, and leaves out what was found.
_OWNER_BITS = 25


def numbers_of(owner: Owner, kind: Kind) -> range:
    """Return the numbers that an owner's titles or messages have. Two owners may share a range: a
    search compares the owner, too. Titles and messages don't: they are numbers of one index."""
    digest = hashlib.blake2b(owner.key.encode(), digest_size=4).digest()
    place = int.from_bytes(digest, "big") >> (32 - _OWNER_BITS)
    first = (2 * place + (kind == "title")) << _COUNT_BITS
    return range(first, first + (1 << _COUNT_BITS))


# Of one piece: 20 ms.
PIECE_CHARACTERS = 100_000
# An id, the owner's account and guest key, and the length of the text.
_Row = tuple[str, int | None, str, int | None]


@reading
def words_waiting() -> bool:
    """Return whether there are titles or messages that aren't in the index yet."""
    return bool(fetch(WAITING)[0][0])


@in_pieces
def index_words() -> Pieces[bool]:
    """Add the next titles and messages, at most `ROWS` of each, and return whether more may
    wait."""
    hold(numbers=True)
    titles, waiting = fetch(UNSEARCHED_TITLES, ROWS), fetch(UNSEARCHED_MESSAGES, ROWS)
    messages = _first_piece(waiting)
    _add("title", titles)
    _add("message", messages)
    yield
    execute(MERGE[connection.vendor])
    return len(titles) == ROWS or len(waiting) == ROWS or len(messages) < len(waiting)


def _add(kind: Kind, rows: Sequence[_Row]) -> None:
    """Give the rows their numbers. SQLite adds the words by itself."""
    numbered = _assign_numbers(kind, rows)
    execute_many(SAVE_NUMBER[kind], numbered)
    if connection.vendor == "postgresql":
        numbers = [number for number, _ in numbered]
        texts = fetch(NUMBERED_TEXTS[kind], MOST_CHARACTERS, numbers)
        execute_many(SAVE_WORDS, [(row, " ".join(spelled_words(text))) for row, text in texts])


def _first_piece(rows: Sequence[_Row]) -> Sequence[_Row]:
    """Return as many rows as one piece may take, and at least one."""
    characters = 0
    for count, (_, _, _, length) in enumerate(rows):
        characters += min(length or 0, MOST_CHARACTERS)
        if count and characters > PIECE_CHARACTERS:
            return rows[:count]
    return rows


def _next_numbers(kind: Kind, owners: Sequence[Owner]) -> dict[Owner, int]:
    """Return the next number of each owner, asked in one statement."""
    if not owners:
        return {}
    ranges = [numbers_of(owner, kind) for owner in owners]
    each = ", ".join([f"({HIGHEST_NUMBER[kind]})"] * len(owners))
    ends = [end for numbers in ranges for end in (numbers.start, numbers.stop)]
    (highest,) = fetch(f"SELECT {each}", *ends)
    return {
        owner: numbers.start if last is None else last + 1
        for owner, numbers, last in zip(owners, ranges, highest, strict=True)
    }


def _assign_numbers(kind: Kind, rows: Iterable[_Row]) -> list[tuple[int, str]]:
    """Give each row the next number of its owner."""
    owned = [(id, Owner(user=user, guest=guest)) for id, user, guest, _ in rows]
    next_of = _next_numbers(kind, list(dict.fromkeys(owner for _, owner in owned)))
    numbered = []
    for id, owner in owned:
        numbered.append((next_of[owner], id))
        next_of[owner] += 1
    return numbered


def index_again(conversations: Sequence[uuid.UUID]) -> Pieces[None]:
    """Take these conversations' words out, to be added again with the numbers of their present
    owner."""
    hold(numbers=True)  # who gives one now has read the former owner
    Conversation.objects.filter(id__in=conversations).update(words_row=None)
    indexed = Message.objects.filter(conversation__in=conversations, words_row__isnull=False)
    while some := list(indexed.values_list("id", flat=True)[:ROWS]):
        Message.objects.filter(id__in=some).update(words_row=None)
        yield
        hold(conversation=conversations)
