"""The tables and triggers of the index of words, as each database has them.

SQLite: a table of FTS5, without the texts. The triggers add and remove words by the function
`searched_words`, which another program that changes these columns needs, too.

PostgreSQL: the words of each text in their order, and a `tsvector` of them under a GIN index. Only
Python knows how to cut a text into words: a text that is changed loses its number in the same
statement, with its words, and waits to be indexed again.
"""

from __future__ import annotations

from typing import Any

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.search.spelling import TOKENIZER, searched_words

WORDS = "conversations_words"
# The first three letters of words are indexed, too: without, a search for a beginning reads all
# words that begin so (at 50,000 messages 77 ms instead of 8; a fifth of a turn's bytes in the
# index).
_CREATE = (
    f"CREATE VIRTUAL TABLE {WORDS} "
    f"USING fts5(text, content='', prefix='3', columnsize=0, {TOKENIZER})",
    f"INSERT INTO {WORDS}({WORDS}, rank) VALUES ('automerge', 0)",
)
# Brings what was added last together with what was there, in a piece of its own: the index would do
# it within an insertion. SQLite: 200 pages of 4 kB take 15 ms; with 64, sixteen parts of the index
# came together now and then, which it merges at once, for 130 ms. PostgreSQL: without a list of
# what was added last, adding would take three times as long.
MERGE = {
    "sqlite": f"INSERT INTO {WORDS}({WORDS}, rank) VALUES ('merge', 200)",
    "postgresql": f"SELECT gin_clean_pending_list('{WORDS}_index')",
}
_TABLES: dict[str, str] = {
    Message._meta.db_table: "content",
    Conversation._meta.db_table: "title",
}


def register(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Give a new connection to SQLite the function that the triggers call."""
    if connection.vendor == "sqlite":
        new = connection.connection.create_function
        new("searched_words", 1, searched_words, deterministic=True)


def create_index(**_: Any) -> None:
    """Create the index and its triggers after every migration: one that makes a table anew drops
    that table's triggers in SQLite. A new row has no number, and needs no trigger."""
    with connection.cursor() as cursor:
        present = connection.introspection.table_names(cursor)
        if not present or not set(_TABLES) <= set(present):
            return  # migrated back to before
        if connection.vendor == "postgresql":
            cursor.execute(_POSTGRESQL)
            for table, column in _TABLES.items():
                cursor.execute(_POSTGRESQL_TRIGGERS.format(table=table, column=column))
            return
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


# Phrases are looked for in `text`, the words between blanks: a tsvector counts no place beyond
# 16,383 and no word more than 255 times. Whole texts serve no estimate.
_NUMBERS = [f"SELECT words_row FROM {one} WHERE words_row IS NOT NULL" for one in _TABLES]
_POSTGRESQL = f"""
CREATE TABLE IF NOT EXISTS {WORDS} (rowid bigint PRIMARY KEY, text text NOT NULL,
  words tsvector GENERATED ALWAYS AS (array_to_tsvector(string_to_array(text, ' '))) STORED);
ALTER TABLE {WORDS} ALTER COLUMN text SET STATISTICS 0;
CREATE INDEX IF NOT EXISTS {WORDS}_index ON {WORDS} USING gin (words);
CREATE OR REPLACE FUNCTION {WORDS}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    DELETE FROM {WORDS} WHERE rowid NOT IN ({" UNION ALL ".join(_NUMBERS)});
    RETURN NULL;
  END IF;
  DELETE FROM {WORDS} WHERE rowid = OLD.words_row;
  IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
  IF NEW.words_row = OLD.words_row THEN NEW.words_row := NULL; END IF;
  RETURN NEW;
END $$;
"""
_POSTGRESQL_TRIGGERS = f"""
CREATE OR REPLACE TRIGGER {{table}}_words_changed
  BEFORE UPDATE OF words_row, {{column}} ON {{table}} FOR EACH ROW WHEN (OLD.words_row IS NOT NULL
    AND (OLD.words_row, OLD.{{column}}) IS DISTINCT FROM (NEW.words_row, NEW.{{column}}))
  EXECUTE FUNCTION {WORDS}();
CREATE OR REPLACE TRIGGER {{table}}_words_removed BEFORE DELETE ON {{table}}
  FOR EACH ROW WHEN (OLD.words_row IS NOT NULL) EXECUTE FUNCTION {WORDS}();
CREATE OR REPLACE TRIGGER {{table}}_words_emptied AFTER TRUNCATE ON {{table}}
  EXECUTE FUNCTION {WORDS}();
"""
