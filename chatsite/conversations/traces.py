"""Removes the bytes of what was deleted for good from SQLite's files.

`secure_delete` (in the settings) overwrites what leaves a page. Two kinds of copies remain then:
those that SQLite made within its pages when it put rows elsewhere (2 of 3,000 deleted texts were
found again), and those in the write-ahead log. PostgreSQL cleans its own files, when it likes.
"""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.db import connection

from chatsite.conversations.database.columns import execute
from chatsite.conversations.database.locks import hold
from chatsite.conversations.search.word_tables import WORDS
from chatsite.storage import Pieces, empty_write_log, in_pieces, tidying

# VACUUM writes the database anew, and whoever writes waits meanwhile: half a second for so much, up
# to 1.4 where the disk is busy; 10 for 256 MB.
REWRITTEN_BYTES = 64 * 1024 * 1024
_MERGE = f"INSERT INTO {WORDS}({WORDS}, rank) VALUES ('merge', %s)"


def is_small() -> bool:
    """Return whether the database can be written anew while people use it."""
    return connection.vendor == "sqlite" and _file().stat().st_size <= REWRITTEN_BYTES


@in_pieces
def forget_deleted_words() -> Pieces[None]:
    """Bring the parts of the index of words together: a deleted word leaves the index then. Until
    then it is only marked."""
    hold(numbers=True)
    pages = -200  # first all parts are put on one level
    while connection.vendor == "sqlite":
        before = connection.connection.total_changes
        execute(_MERGE, pages)
        if connection.connection.total_changes - before < 2:
            return
        pages = 200
        yield
        hold(numbers=True)


@tidying
def rewrite_database() -> None:
    """Write SQLite's database anew, without anything that was deleted."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM")


def remove_traces(*, rewrite: bool) -> None:
    """Remove them now, for the command; with `rewrite` whatever the size."""
    if rewrite or is_small():
        forget_deleted_words.here()
        rewrite_database.here()
    empty_write_log.here()


def _file() -> Path:
    return Path(settings.DATABASES["default"]["NAME"])
