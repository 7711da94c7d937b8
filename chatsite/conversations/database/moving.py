"""Moves all that is stored from SQLite's file into an empty PostgreSQL (`manage.py move_database`).

How far each table is stands in the new database and changes in one transaction with the rows, so
that a move that ended at any moment goes on. Meanwhile the tables have no foreign keys, so that
rows come in any order; no triggers; and of indexes only the primary key's: a row costs 7 us less,
and making them at the end 3. What makes all of these again is kept there, too.

Content types and permissions come with their ids, which rights and the administration's log name;
those that `migrate` made go. Sums of owners and the index of words are made anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.models import BinaryField, CharField, JSONField, Model, TextField
from django.db.utils import ConnectionHandler

from chatsite.conversations.database.owner_totals import create_triggers
from chatsite.conversations.database.versions import UNFINISHED_MOVE, require_known_version
from chatsite.conversations.models import OwnerTotal
from chatsite.errors import Refused

ROWS, CHARACTERS = 2_000, 4_000_000  # of one transaction, and in memory
_LATER = f"{UNFINISHED_MOVE}_later"
_MADE_BY_MIGRATE = ("auth_permission", "django_content_type")
_AGAIN = "Make a new, empty database and run this again."
# PostgreSQL stores no NUL, in JSON neither. There it is written so, unless its backslash is
# one of a pair.
_NUL, _NUL_IN_JSON = re.compile("()\0"), re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
# What SQLite has in place of PostgreSQL's values of these types.
_FORMS: dict[str, Callable[[Any], object]] = {
    "uuid": lambda id: id.hex,
    "timestamp with time zone": lambda at: at.replace(tzinfo=None),
}
# Told what is being done, with how many rows of how many.
Report = Callable[[str, int, int], None]
_Row = list[Any]


def move(file: Path, report: Report) -> Iterator[tuple[str, int, int]]:
    """Gives each table that has arrived, with its rows and how many of them held NUL. Raises
    Refused."""
    if not file.is_file():
        raise Refused(f"There is no SQLite database {file}. Name one: --from FILE")
    name = f"{file.resolve().as_uri()}?mode=ro"
    engine = {"ENGINE": "django.db.backends.sqlite3", "NAME": name}
    with (
        closing(ConnectionHandler({"default": engine})["default"]) as source,
        source.cursor() as stored,
        connection.cursor() as cursor,
    ):
        stored.execute("BEGIN")  # as it is now
        _require_this_version(stored, str(file))
        if UNFINISHED_MOVE in connection.introspection.table_names(cursor):
            _require_this_version(cursor, "The unfinished move")
        else:
            _begin(cursor)
        for model in _models():
            yield _Table(model, source, cursor).move(report)
        _finish(cursor, report)


def _require_this_version(cursor: Any, what: str) -> None:
    cursor.execute("SELECT app, name FROM django_migrations")
    applied, known = set(cursor.fetchall()), set(MigrationLoader(None).disk_migrations)
    ours = {app for app, _ in known}
    if {one for one in applied if one[0] in ours} != known:
        raise Refused(
            f"{what} is of another version of Chatsite. Start this version on SQLite's file once, "
            "without DATABASE_URL. Then move it into an empty database."
        )


def _models() -> list[type[Model]]:
    """Of all tables that are moved, those between two others included."""
    found = apps.get_models(include_auto_created=True)
    return [one for one in found if not one._meta.proxy and one is not OwnerTotal]


# What is taken away and made again, in the order in which it is made.
_DEFINITIONS = """
SELECT 1, 'DROP INDEX ' || indexrelid::regclass, pg_get_indexdef(indexrelid)
FROM pg_index WHERE indrelid = ANY(%(tables)s::regclass[]) AND NOT EXISTS (
    SELECT 1 FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u', 'x'))
UNION ALL SELECT CASE contype WHEN 'u' THEN 2 ELSE 3 END,
    format('ALTER TABLE %%s DROP CONSTRAINT %%I', conrelid::regclass, conname),
    format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s',
        conrelid::regclass, conname, pg_get_constraintdef(oid))
FROM pg_constraint WHERE conrelid = ANY(%(tables)s::regclass[]) AND contype IN ('u', 'f')
UNION ALL SELECT 4, format('DROP TRIGGER %%I ON %%s', tgname, tgrelid::regclass),
    pg_get_triggerdef(oid)
FROM pg_trigger WHERE tgrelid = ANY(%(tables)s::regclass[]) AND NOT tgisinternal
ORDER BY 1 DESC"""


def _begin(cursor: Any) -> None:
    require_known_version()
    tables = [model._meta.db_table for model in _models()]
    there = {*connection.introspection.table_names(cursor)} - {*_MADE_BY_MIGRATE}
    for name in filter(there.__contains__, tables):
        cursor.execute(f"SELECT EXISTS (SELECT 1 FROM {name})")
        if cursor.fetchone()[0]:
            raise Refused(
                f"DATABASE_URL names a database that holds other data (in {name}). {_AGAIN}"
            )
    # Together: Django may note a migration after the transaction that made it.
    with transaction.atomic():
        call_command("migrate", verbosity=0, interactive=False)
    with transaction.atomic():
        cursor.execute(f"CREATE TABLE {_LATER} (step int, sql text PRIMARY KEY)")
        cursor.execute(_DEFINITIONS, {"tables": tables})
        for step, remove, make in cursor.fetchall():
            cursor.execute(f"INSERT INTO {_LATER} VALUES (%s, %s)", [step, make])
            cursor.execute(remove)
        for name in _MADE_BY_MIGRATE:
            cursor.execute(f"DELETE FROM {name}")
        cursor.execute(
            f"CREATE TABLE {UNFINISHED_MOVE} AS SELECT name, 0::bigint AS last, 0::bigint AS nuls "
            "FROM unnest(%s::text[]) AS name",
            [tables],
        )


def _finish(cursor: Any, report: Report) -> None:
    """Make again what was taken away, each in a transaction of its own, then what counts rows."""
    cursor.execute(f"SELECT sql FROM {_LATER} ORDER BY step, sql")
    waiting = cursor.fetchall()
    for done, sql in enumerate(waiting):
        report("indexes and constraints", done, len(waiting))
        with transaction.atomic():
            cursor.execute(*sql)
            cursor.execute(f"DELETE FROM {_LATER} WHERE sql = %s", sql)
    with transaction.atomic():
        for statement in connection.ops.sequence_reset_sql(no_style(), _models()):
            cursor.execute(statement)
        cursor.execute(f"DELETE FROM {OwnerTotal._meta.db_table}")
        create_triggers()  # it makes the sums where there are none
        cursor.execute(f"DROP TABLE {UNFINISHED_MOVE}, {_LATER}")


class _Table:
    """One table on both sides."""

    def __init__(self, model: type[Model], source: Any, cursor: Any) -> None:
        meta: Any = model._meta
        # A row's number in the index of words belongs to SQLite's index.
        fields = [field for field in meta.concrete_fields if field.name != "words_row"]
        columns = ", ".join(f'"{field.column}"' for field in fields)
        self._name, self._source, self._cursor = meta.db_table, source, cursor
        self._key = fields.index(meta.pk)
        self._read = f"SELECT rowid, {columns} FROM {self._name} WHERE rowid > %s ORDER BY rowid"
        self._copy_in = f"COPY {self._name} ({columns}) FROM STDIN"
        types = [field.db_type(connection) for field in fields]
        self._find = (
            f'SELECT {columns} FROM {self._name} WHERE "{meta.pk.column}" = '
            f"ANY(%s::{types[self._key]}[])"
        )
        self._forms = [(at, _FORMS[type]) for at, type in enumerate(types) if type in _FORMS]
        # A session's or a guest's key is all that it takes to be them.
        self._shown = 4 if isinstance(meta.pk, CharField) else None
        self._json = [at for at, field in enumerate(fields) if isinstance(field, JSONField)]
        self._nuls = [(at, "\\u0000", _NUL_IN_JSON) for at in self._json]
        text, large = (CharField, TextField), (BinaryField, JSONField, TextField)
        self._nuls += [(at, "\0", _NUL) for at, one in enumerate(fields) if isinstance(one, text)]
        self._large = [at for at, one in enumerate(fields) if isinstance(one, large)]

    def move(self, report: Report) -> tuple[str, int, int]:
        """Copy what isn't there yet, and compare all of it."""
        name = self._name
        (total,) = self._source.cursor().execute(f"SELECT COUNT(*) FROM {name}").fetchone()
        of_this = f"FROM {UNFINISHED_MOVE} WHERE name = '{name}'"
        (done,) = self._one(f"SELECT COUNT(*) FROM {name}")
        for last, rows, nuls in self._batches(*self._one(f"SELECT last {of_this}")):
            self._copy(rows, last, nuls)
            report(name, done := done + len(rows), total)
        (there,) = self._one(f"SELECT COUNT(*) FROM {name}")
        if there != total:
            raise Refused(
                f"{name} has {total:,} rows in SQLite and {there:,} in PostgreSQL. {_AGAIN}"
            )
        self._cursor.execute(f"ANALYZE {name}")
        done = 0
        for _, rows, _ in self._batches(0):
            self._compare(rows)
            report(f"{name}, compared:", done := done + len(rows), total)
        return name, total, *self._one(f"SELECT nuls {of_this}")

    def _one(self, sql: str) -> tuple[int]:
        self._cursor.execute(sql)
        row: tuple[int] = self._cursor.fetchone()
        return row

    def _copy(self, rows: list[_Row], last: int, nuls: int) -> None:
        """PostgreSQL reads SQLite's forms of ids, times (in UTC as the connection) and truth."""
        with transaction.atomic(), connection.wrap_database_errors:
            with self._cursor.copy(self._copy_in) as copy:
                for row in rows:
                    copy.write_row(row)
            self._cursor.execute(
                f"UPDATE {UNFINISHED_MOVE} SET last = %s, nuls = nuls + %s WHERE name = %s",
                [last, nuls, self._name],
            )

    def _compare(self, rows: list[_Row]) -> None:
        """Raises Refused where a row isn't there, or one of its fields has another value."""
        self._cursor.execute(self._find, [[row[self._key] for row in rows]])
        found = {row[self._key]: row for row in map(self._as_in_sqlite, self._cursor)}
        for row in rows:
            if not self._same(row, found.get(row[self._key])):
                key = str(row[self._key])[: self._shown]
                raise Refused(
                    f"Row {key} of {self._name} isn't in PostgreSQL as it is in SQLite. {_AGAIN}"
                )

    def _as_in_sqlite(self, values: Sequence[Any]) -> _Row:
        row = list(values)
        for at, form in self._forms:
            if row[at] is not None:
                row[at] = form(row[at])
        return row

    def _same(self, row: _Row, found: _Row | None) -> bool:
        if found is None or found == row:
            return found is not None
        for at in self._json:  # PostgreSQL keeps the values, not the text
            row[at], found[at] = (one and json.loads(one) for one in (row[at], found[at]))
        return found == row

    def _batches(self, last: int) -> Iterator[tuple[int, list[_Row], int]]:
        """What is behind SQLite's row `last`, in the order in which it was stored: the messages of
        a conversation stay side by side. Each with its last row, and how many held NUL."""
        rows: list[_Row] = []
        size = nuls = number = 0
        for number, *values in self._source.cursor().execute(self._read, [last]):
            nuls += self._without_nul(values)
            rows.append(values)
            size += sum([len(values[at] or "") for at in self._large])
            if len(rows) == ROWS or size > CHARACTERS:
                yield number, rows, nuls
                rows, size, nuls = [], 0, 0
        if rows:
            yield number, rows, nuls

    def _without_nul(self, values: _Row) -> bool:
        """Replace each by U+FFFD, as texts that come in are repaired; whether there was one."""
        any_replaced = 0
        for at, mark, pattern in self._nuls:
            if values[at] and mark in values[at]:
                values[at], count = pattern.subn("\\1\ufffd", values[at])
                any_replaced += count
        return any_replaced > 0
