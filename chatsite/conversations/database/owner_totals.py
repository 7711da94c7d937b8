"""The characters of each owner, for the quota: the database itself keeps their sum.

Adding up the conversations took 6 ms of each turn of somebody with 20,000 of them. What changes a
conversation's characters or its owner is in a dozen places; these triggers miss none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db import connection

from chatsite.conversations.database.columns import fetch
from chatsite.conversations.models import Conversation, OwnerTotal
from chatsite.conversations.owners import Owner

_TOTALS = OwnerTotal._meta.db_table
_CONVERSATIONS = Conversation._meta.db_table
# The owner's key.
_TOTAL = f"SELECT characters FROM {_TOTALS} WHERE owner = %s"


def total_of(owner: Owner) -> int:
    """The characters of all conversations of this owner, deleted ones too."""
    rows = fetch(_TOTAL, owner.key)
    return int(rows[0][0]) if rows else 0


def create_triggers(**_: Any) -> None:
    """Create the triggers after every migration: one that makes the table of conversations anew
    drops them. Where one was missing or another, or no sum is there, the sums are made.

    A migration that drops or renames what they name must drop them first: SQLite refuses it."""
    with connection.cursor() as cursor:
        if not {_TOTALS, _CONVERSATIONS} <= set(connection.introspection.table_names(cursor)):
            return  # migrated back to before
        changed = _replace_triggers(cursor) if connection.vendor == "sqlite" else False
        if connection.vendor == "postgresql":
            # Nothing drops them there.
            for statement in (_POSTGRESQL_FUNCTION, _POSTGRESQL_TRIGGER):
                cursor.execute(statement)
        cursor.execute(f"SELECT EXISTS (SELECT 1 FROM {_TOTALS})")
        if changed or not cursor.fetchone()[0]:
            cursor.execute(f"DELETE FROM {_TOTALS}")
            cursor.execute(_FILL)


def _replace_triggers(cursor: Any) -> bool:
    """SQLite's, whether they weren't there as they are wanted."""
    cursor.execute(_PRESENT, [f"{_TOTALS}_%"])
    present, wanted = dict(cursor.fetchall()), dict(_triggers())
    if present == wanted:
        return False
    for name in present:
        cursor.execute(f"DROP TRIGGER {name}")
    for trigger in wanted.values():
        cursor.execute(trigger)
    return True


def _triggers() -> Iterator[tuple[str, str]]:
    """Each trigger's name, and its text as SQLite keeps it."""
    changed = (
        "old.characters <> new.characters OR old.user_id IS NOT new.user_id "
        "OR old.guest <> new.guest"
    )
    for name, when, work in (
        ("added", f"INSERT ON {_CONVERSATIONS}", _ADD),
        (
            "changed",
            f"UPDATE OF characters, user_id, guest ON {_CONVERSATIONS} WHEN {changed}",
            f"{_TAKE} {_FORGET} {_ADD}",
        ),
        ("removed", f"DELETE ON {_CONVERSATIONS}", f"{_TAKE} {_FORGET}"),
    ):
        trigger = f"{_TOTALS}_{name}"
        yield trigger, f"CREATE TRIGGER {trigger} AFTER {when} BEGIN {work} END"


def _key(row: str) -> str:
    """`Owner.key` of the row that is named so."""
    return f"COALESCE('user:' || {row}user_id, 'guest:' || {row}guest)"


_ADD = (
    f"INSERT INTO {_TOTALS} (owner, characters) VALUES ({_key('new.')}, new.characters) "
    f"ON CONFLICT (owner) DO UPDATE SET characters = {_TOTALS}.characters + excluded.characters;"
)
_TAKE = (
    f"UPDATE {_TOTALS} SET characters = characters - old.characters WHERE owner = {_key('old.')};"
)
_FORGET = f"DELETE FROM {_TOTALS} WHERE owner = {_key('old.')} AND characters = 0;"
_POSTGRESQL_FUNCTION = (
    f"CREATE OR REPLACE FUNCTION {_TOTALS}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    f"IF TG_OP <> 'INSERT' THEN {_TAKE} {_FORGET} END IF; "
    f"IF TG_OP <> 'DELETE' THEN {_ADD} END IF; RETURN NULL; END $$"
)
_POSTGRESQL_TRIGGER = (
    f"CREATE OR REPLACE TRIGGER {_TOTALS}_changed AFTER INSERT OR DELETE "
    f"OR UPDATE OF characters, user_id, guest ON {_CONVERSATIONS} "
    f"FOR EACH ROW EXECUTE FUNCTION {_TOTALS}()"
)
_FILL = (
    f"INSERT INTO {_TOTALS} (owner, characters) SELECT {_key('')}, SUM(characters) "
    f"FROM {_CONVERSATIONS} GROUP BY 1"
)
# The names of the triggers as a pattern.
_PRESENT = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE %s"
