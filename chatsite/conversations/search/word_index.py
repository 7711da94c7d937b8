"""The index of words: SQLite's FTS5 over the titles of conversations and the texts of messages.

A title or text is in the index exactly as long as its row has a number, `words_row`. Triggers see
to it, so that words leave the index whatever deletes or changes them: an edit, a purge, the admin's
pages, a cascade. The index holds no text, only words and their places.

Another program that changes these columns needs the function `searched_words`, too.

A number is made of its owner and a count, so that a search reads one range of the index, however
much others have written. Who moves to another owner is given new numbers.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from chatsite.conversations.database.columns import execute
from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.search.words import searched_words

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
    """The numbers that an owner's titles or messages have. Two owners may share a range: a search
    compares the owner, too."""
    digest = hashlib.blake2b(f"{kind} {owner.key}".encode(), digest_size=4).digest()
    first = (int.from_bytes(digest, "big") >> (32 - _OWNER_BITS)) << _COUNT_BITS
    return range(first, first + (1 << _COUNT_BITS))


def merge_words() -> None:
    """Bring the index in order: what was added last is merged with what was there."""
    execute(f"INSERT INTO {WORDS}({WORDS}, rank) VALUES ('merge', %s)", MERGED)


def register(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Give a new connection the function that the triggers call."""
    connection.connection.create_function("searched_words", 1, searched_words, deterministic=True)


def create_index(**_: Any) -> None:
    """Create the index and its triggers after every migration: one that makes a table anew drops
    that table's triggers. A new row has no number, and needs no trigger."""
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
