"""Columns of one table, read and written in plain SQL: for the queries that every turn runs.

Django takes 0.4 to 2 ms to build a query, up to ten times as long as SQLite takes to run it, and a
turn runs a dozen of them. Here each statement is built once, from the fields of a model. Values are
converted by the same fields, so that every database gets them in its own form.
"""

from __future__ import annotations

import json
import uuid
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache, cached_property, lru_cache
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models.base import ModelState

from chatsite.conversations.settings import ON_POSTGRESQL

M = TypeVar("M", bound=models.Model)
V = TypeVar("V")
# SQLite takes a few hundred values at once.
BATCH = 300
# Fields whose values every database takes unchanged.
_UNCONVERTED = (models.CharField, models.TextField, models.IntegerField, models.BooleanField)
# Converts a value of the database to a value of the field: (value, column, connection).
_Convert = Callable[[Any, Any, Any], Any]
# Converts a value of the field to a value of the database: (value, connection, is it prepared).
_Prepare = Callable[[Any, Any, bool], Any]
_Make = Callable[[], Any]
# Everywhere below `connections[DEFAULT_DB_ALIAS]` is looked up once per statement: the proxy
# `django.db.connection` looks it up at every access, which was a tenth of a turn's beginning.


def key(id: uuid.UUID | str) -> Any:
    """An id in the database's form, for a condition."""
    value = id if isinstance(id, uuid.UUID) else uuid.UUID(id)
    return value if ON_POSTGRESQL else value.hex  # SQLite has no type of its own for them


def moment(when: datetime) -> Any:
    """A time in the database's form, for a condition or an UPDATE."""
    return connections[DEFAULT_DB_ALIAS].ops.adapt_datetimefield_value(when)


def placeholders(values: Sequence[object]) -> str:
    """As many `%s` as there are values, for `IN (...)`."""
    return ", ".join(["%s"] * len(values))


def in_batches(values: Sequence[V], size: int = BATCH) -> Iterator[Sequence[V]]:
    """The values in batches, by default of as many as one query can hold."""
    return (values[start : start + size] for start in range(0, len(values), size))


def fetch(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """Run a SELECT: its rows, in the database's form."""
    database, cursor, sql = _cursor_for(sql)
    with database.wrap_database_errors:
        cursor.execute(sql, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def execute(sql: str, *values: Any) -> int:
    """Run an UPDATE: how many rows it changed."""
    database, cursor, sql = _cursor_for(sql)
    with database.wrap_database_errors:
        cursor.execute(sql, values)
    return int(cursor.rowcount)


def execute_many(sql: str, rows: Sequence[Sequence[Any]]) -> int:
    """Run the same INSERT or UPDATE once for each row of values: how many rows it changed."""
    database, cursor, sql = _cursor_for(sql)
    with database.wrap_database_errors:
        cursor.executemany(sql, rows)
    return int(cursor.rowcount)


def _cursor_for(sql: str) -> tuple[Any, Any, str]:
    """The connection, a cursor of the driver's own, and the statement in the driver's form.
    Django's cursor, which takes as long for most statements as SQLite does, is for whoever
    watches them."""
    database = connections[DEFAULT_DB_ALIAS]
    if database.queries_logged or database.execute_wrappers:
        return database, database.cursor(), sql
    database.ensure_connection()
    database.validate_no_broken_transaction()
    if database.vendor == "sqlite":
        sql = _with_question_marks(sql)
    return database, database.connection.cursor(), sql


@lru_cache(maxsize=1_000)  # a statement with a list of values has a form for each length
def _with_question_marks(sql: str) -> str:
    return sql.replace("%s", "?")


class _Compact(json.JSONEncoder):
    """JSON without spaces, which were a tenth of a receipt."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options | {"separators": (",", ":")})


def to_json(value: object) -> Any:
    """A value for a JSON column, in the database's form. Most lists are empty: encoding those took
    half of what it takes to store a message."""
    if value == [] or value == {}:
        return "[]" if value == [] else "{}"
    return connections[DEFAULT_DB_ALIAS].ops.adapt_json_value(value, _Compact)


def _json(value: str, *others: object) -> Any:
    """Most lists are empty, and a path of 20 turns has 80 of them: those aren't parsed."""
    return [] if value == "[]" else json.loads(value)


def new_row(model: type[M], **values: Any) -> M:
    """A row that isn't stored yet. Django's own way sets all fields one by one, by their names, and
    takes eight times as long: a turn makes four or five rows."""
    row = model.__new__(model)
    row._state = ModelState()
    constant, made = _defaults(model)
    vars(row).update(constant)
    vars(row).update((name, make()) for name, make in made if name not in values)
    for name, value in values.items():
        setattr(row, name, value)
    return row


@cache
def _defaults(model: type[models.Model]) -> tuple[dict[str, Any], list[tuple[str, _Make]]]:
    """By attribute: the values that all new rows have, and what makes a row's own."""
    constant: dict[str, Any] = {}
    made: list[tuple[str, _Make]] = []
    for field in model._meta.concrete_fields:
        if field.has_default() and callable(field.default):
            made.append((field.attname, field.default))
        else:
            constant[field.attname] = field.get_default()
    return constant, made


def _prepare_with(field: Any) -> _Prepare:
    """What converts the field's values, other than None, for the database. They are of the field's
    own type: Django's checks of it took a third of the time that it takes to store a row."""
    if isinstance(field, models.JSONField):
        return lambda value, database, prepared: to_json(value)
    found = field.target_field if isinstance(field, models.ForeignKey) else field
    prepare: _Prepare = found.get_db_prep_value
    return prepare


class Columns(Generic[M]):
    """The columns of a model's fields with these names; all of them where no name is given."""

    def __init__(self, model: type[M], *names: str) -> None:
        meta = model._meta
        wanted = {meta.get_field(name) for name in names}
        # In the model's own order, as `from_db` expects them.
        found = [field for field in meta.concrete_fields if not names or field in wanted]
        self._model = model
        self.table = meta.db_table
        self._fields: Sequence[Any] = tuple(found)
        self._names = tuple(field.attname for field in self._fields)
        self._tuple: Any = namedtuple("Row", self._names)  # type: ignore[misc]
        self._prepared = [
            (place, _prepare_with(field))
            for place, field in enumerate(self._fields)
            if not isinstance(field, _UNCONVERTED)
        ]
        self._select = f"SELECT {self.names()} FROM {self.table}"
        self._insert = (
            f"INSERT INTO {self.table} ({self.names()}) VALUES ({placeholders(self._fields)})"
        )
        assignments = ", ".join(f"{field.column} = %s" for field in self._fields)
        self._update = f"UPDATE {self.table} SET {assignments} WHERE id = %s"

    def names(self, table: str = "") -> str:
        """The column names as a SELECT lists them; with `table`'s prefix where it joins several."""
        return ", ".join(
            f"{table}.{field.column}" if table else field.column for field in self._fields
        )

    def __len__(self) -> int:
        return len(self._fields)

    @cached_property
    def _converters(self) -> list[tuple[int, list[_Convert], Any]]:
        """By place: the converters that Django's own queries use there."""
        found, database = [], connections[DEFAULT_DB_ALIAS]
        for place, field in enumerate(self._fields):
            column = field.get_col(self.table)
            own = database.ops.get_db_converters(column) + field.get_db_converters(database)
            if isinstance(field, models.JSONField):
                own = [_json]
            elif isinstance(field, models.DateTimeField) and database.vendor == "sqlite":
                # Times without a zone, all in UTC: Django looks that up for each.
                own = [lambda value, *others: value.replace(tzinfo=UTC)]
            if own:
                found.append((place, own, column))
        return found

    # ---- reading -----------------------------------------------------------------------------
    def where(self, condition: str, *values: Any) -> list[M]:
        """The rows that fulfil the condition. `values` fill its `%s`, ids as `key` gives them."""
        return [self.to_model(row) for row in fetch(f"{self._select} WHERE {condition}", *values)]

    def first(self, condition: str, *values: Any) -> M | None:
        """The first row that fulfils the condition, or None."""
        rows = fetch(f"{self._select} WHERE {condition}", *values)
        return self.to_model(rows[0]) if rows else None

    def unconverted(self, condition: str, *values: Any) -> list[tuple[Any, ...]]:
        """The same rows in the database's form, for `to_model` and `to_tuple`."""
        return fetch(f"{self._select} WHERE {condition}", *values)

    def to_model(self, values: Sequence[Any]) -> M:
        """An object of the model; Django loads its other fields when they are accessed."""
        return self._model.from_db(DEFAULT_DB_ALIAS, self._names, self._convert(values))

    def to_tuple(self, values: Sequence[Any]) -> Any:
        """A named tuple: an object of the model takes 40 us to make."""
        return self._tuple._make(self._convert(values))

    def place(self, name: str) -> int:
        """The index of a field among the values of a row."""
        return self._names.index(name)

    def _convert(self, values: Sequence[Any]) -> list[Any]:
        found, database = list(values), connections[DEFAULT_DB_ALIAS]
        for place, converters, column in self._converters:
            value = found[place]
            if value is not None:
                for convert in converters:
                    value = convert(value, column, database)
                found[place] = value
        return found

    # ---- writing -----------------------------------------------------------------------------
    def insert(self, rows: Iterable[M]) -> None:
        """Store new rows, with all their fields."""
        new = list(rows)
        execute_many(self._insert, [self._to_database(row) for row in new])
        for row in new:
            row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS

    def update(self, row: M) -> None:
        """Store these fields of a row that exists."""
        execute(self._update, *self._to_database(row), key(row.pk))

    def _to_database(self, row: M) -> list[Any]:
        database = connections[DEFAULT_DB_ALIAS]
        values = [getattr(row, name) for name in self._names]
        for place, prepare in self._prepared:
            if values[place] is not None:
                values[place] = prepare(values[place], database, True)
        return values
