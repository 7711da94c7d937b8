"""The index of words: SQLite's FTS5 over the titles of conversations and the texts of messages.

A title or text is in the index exactly as long as its row has a number, `words_row`. Triggers see
to it, so that words leave the index whatever deletes or changes them: an edit, a purge, the admin's
pages, a cascade. The index holds no text, only words and their places.

Another program that changes these columns needs the function `searched_words`, too.

A number is made of its owner and a count, so that a search reads one range of the index, however
much others have written. Who moves to another owner is given new numbers.

A turn doesn't wait for it: together, a hundred messages take a fifth of the time that they take one
by one. So are databases indexed that are older than the index.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from chatsite.conversations.database.columns import execute, execute_many, fetch
from chatsite.conversations.database.locks import hold
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
from chatsite.history.lexical.words import UNSPACED
from chatsite.storage import ROWS, Pieces, in_pieces, reading

# Of one text. Each 10,000 characters take the writing thread about a millisecond.
MOST_CHARACTERS = 200_000
_ALONE = re.compile(f"([{UNSPACED}])")


def searched_words(text: str | None) -> str:
    """Write the text as the index reads it: each character of a script without spaces is a word.

    A text leaves the index by being read again, so this must give the same words as long as the
    index lives. Whoever changes it must have all numbers removed by a migration.
    """
    if not text:
        return ""
    text = text[:MOST_CHARACTERS]
    if text.isascii():
        return text
    return _ALONE.sub(r" \1 ", unicodedata.normalize("NFKC", text))


WORDS = "conversations_words"
Kind = Literal["title", "message"]
# Marks are letters of words in the scripts of India, Hebrew and Arabic. The first three letters of
# words are indexed, too: without, a search for a beginning reads all words that begin so (at 50,000
# messages 77 ms instead of 8; a fifth of a turn's bytes in the index). `merge_words` does in a
# piece of its own what the index would do by itself within an insertion.
_CREATE = (
    f"CREATE VIRTUAL TABLE {WORDS} USING fts5(text, content='', prefix='3', columnsize=0, "
    """tokenize="unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'")""",
    f"INSERT INTO {WORDS}({WORDS}, rank) VALUES ('automerge', 0)",
)
_TABLES: dict[str, str] = {
    Message._meta.db_table: "content",
    Conversation._meta.db_table: "title",
}
_COUNT_BITS = 32
# Pages of 4 kB: 15 ms. With 64, sixteen parts of the index came together now and then, which SQLite
# then merges at once, for 130 ms.
MERGED = 200
_OWNER_BITS = 31  # so that all are positive numbers of eight bytes, as SQLite has them


def numbers_of(owner: Owner, kind: Kind) -> range:
    """Return the numbers that an owner's titles or messages have. Two owners may share a range: a
    search compares the owner, too."""
    digest = hashlib.blake2b(f"{kind} {owner.key}".encode(), digest_size=4).digest()
    first = (int.from_bytes(digest, "big") >> (32 - _OWNER_BITS)) << _COUNT_BITS
    return range(first, first + (1 << _COUNT_BITS))


def merge_words() -> None:
    """Bring the index in order: what was added last is merged with what was there."""
    execute(f"INSERT INTO {WORDS}({WORDS}, rank) VALUES ('merge', %s)", MERGED)


def register(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Give a new connection the function that the triggers call."""
    if connection.vendor != "sqlite":
        return
    connection.connection.create_function("searched_words", 1, searched_words, deterministic=True)


def create_index(**_: Any) -> None:
    """Create the index and its triggers after every migration: one that makes a table anew drops
    that table's triggers. A new row has no number, and needs no trigger."""
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        present = connection.introspection.table_names(cursor)
        if not present or not set(_TABLES) <= set(present):
            return  # migrated back to before
        if WORDS not in present:
            for statement in _CREATE:
                cursor.execute(statement)
        for table, column in _TABLES.items():
            for trigger in _triggers(table, column):
                cursor.execute(trigger)


def _triggers(table: str, column: str) -> tuple[str, str]:
    add = (
        f"INSERT INTO {WORDS}(rowid, text) SELECT new.words_row, searched_words(new.{column}) "
        "WHERE new.words_row IS NOT NULL;"
    )
    remove = (
        f"INSERT INTO {WORDS}({WORDS}, rowid, text) "
        f"SELECT 'delete', old.words_row, searched_words(old.{column}) "
        "WHERE old.words_row IS NOT NULL;"
    )
    changed = (
        "old.words_row IS NOT new.words_row "
        f"OR old.words_row IS NOT NULL AND old.{column} IS NOT new.{column}"
    )
    return (
        f"CREATE TRIGGER IF NOT EXISTS {table}_words_changed "
        f"AFTER UPDATE OF words_row, {column} ON {table} WHEN {changed} BEGIN {remove} {add} END",
        f"CREATE TRIGGER IF NOT EXISTS {table}_words_removed AFTER DELETE ON {table} "
        f"WHEN old.words_row IS NOT NULL BEGIN {remove} END",
    )


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
    titles, waiting = fetch(UNSEARCHED_TITLES, ROWS), fetch(UNSEARCHED_MESSAGES, ROWS)
    messages = _first_piece(waiting)
    execute_many(SAVE_TITLE_NUMBER, _assign_numbers("title", titles))
    execute_many(SAVE_MESSAGE_NUMBER, _assign_numbers("message", messages))
    yield
    merge_words()
    return len(titles) == ROWS or len(waiting) == ROWS or len(messages) < len(waiting)


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
    Conversation.objects.filter(id__in=conversations).update(words_row=None)
    indexed = Message.objects.filter(conversation__in=conversations, words_row__isnull=False)
    while some := list(indexed.values_list("id", flat=True)[:ROWS]):
        Message.objects.filter(id__in=some).update(words_row=None)
        yield
        hold(conversation=conversations)
