"""Rows read and written in plain SQL: for what every turn does.

Django writes a query in 0.4 to 2 ms, up to ten times as long as SQLite takes to run it, and a turn
has a dozen of them. Here a statement is made of a model's own fields, once; values go in and come
out through the same fields, so that every database gets them in its own form.
"""

from __future__ import annotations

import json
import uuid
from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper

from chatsite.conversations.models import Conversation, Message, Turn

M = TypeVar("M", bound=models.Model)
# Fields whose values every database takes as they are.
_AS_THEY_ARE = (models.CharField, models.TextField, models.IntegerField, models.BooleanField)
# From what a database gives to what the field holds.
_Convert = Callable[[Any, Any, Any], Any]


def here() -> BaseDatabaseWrapper:
    """This thread's connection, found once for a statement: `django.db.connection` looks for it
    again at every access, which was a tenth of a turn's beginning."""
    return connections[DEFAULT_DB_ALIAS]


def key(id: uuid.UUID | str) -> Any:
    """An id as the database holds it, for a condition."""
    return _IDS.get_db_prep_value(id, here())


_IDS = Message._meta.pk


def moment(when: datetime) -> Any:
    """A time as the database holds it."""
    return here().ops.adapt_datetimefield_value(when)


def fetched(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows of a SELECT, as the database gives them."""
    with here().cursor() as cursor:
        cursor.execute(sql, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def changed(sql: str, *values: Any) -> int:
    """How many rows an UPDATE has changed."""
    with here().cursor() as cursor:
        cursor.execute(sql, values)
        return int(cursor.rowcount)


def for_update(table: str) -> str:
    """The end of a SELECT whose rows of this table nobody else may change meanwhile; SQLite
    locks everything when a transaction begins."""
    database = here()
    if not database.features.has_select_for_update:
        return ""
    return f" {database.ops.for_update_sql(of=(table,))}"


def _json(value: str, *others: object) -> Any:
    """Most lists are empty; a path of 20 turns has 80 of them."""
    return [] if value == "[]" else json.loads(value)


class Rows(Generic[M]):
    """Rows of one model, with the fields of these names, or all of them without a name."""

    def __init__(self, model: type[M], *names: str) -> None:
        meta = model._meta
        wanted = {meta.get_field(name) for name in names}
        # In the model's own order: so `from_db` takes them.
        found = [field for field in meta.concrete_fields if not names or field in wanted]
        self._model = model
        self.table = meta.db_table
        self._fields: Sequence[Any] = tuple(found)
        self._names = tuple(field.attname for field in self._fields)
        self._bare: Any = namedtuple("Row", self._names)  # type: ignore[misc]
        self._prepared = [
            (place, field)
            for place, field in enumerate(self._fields)
            if not isinstance(field, _AS_THEY_ARE)
        ]
        self._sql = {
            "select": f"SELECT {self.columns()} FROM {self.table}",
            "insert": f"INSERT INTO {self.table} ({self.columns()}) "
            f"VALUES ({', '.join(['%s'] * len(self._fields))})",
            "update": f"UPDATE {self.table} SET "
            + ", ".join(f"{field.column} = %s" for field in self._fields)
            + " WHERE id = %s",
        }

    def columns(self, table: str = "") -> str:
        """Their names, as a SELECT lists them; `table` where it reads several."""
        return ", ".join(
            f"{table}.{field.column}" if table else field.column for field in self._fields
        )

    def __len__(self) -> int:
        return len(self._fields)

    @cached_property
    def _converters(self) -> list[tuple[int, list[_Convert], Any]]:
        """Those of each place that has any, as Django's own queries have them."""
        found, database = [], here()
        for place, field in enumerate(self._fields):
            column = field.get_col(self.table)
            own = database.ops.get_db_converters(column) + field.get_db_converters(database)
            if isinstance(field, models.JSONField):
                own = [_json]
            if own:
                found.append((place, own, column))
        return found

    def where(self, condition: str, *values: Any) -> list[M]:
        """Those for which the rest of the SELECT holds; `values` are for each `%s`, ids as `key`
        gives them."""
        return [self.read(row) for row in self.stored(condition, *values)]

    def stored(self, condition: str, *values: Any) -> list[tuple[Any, ...]]:
        """The same as the database gives them, for `read` and `bare`."""
        return fetched(f"{self._sql['select']} WHERE {condition}", *values)

    def one(self, condition: str, *values: Any) -> M | None:
        """The first of them, None for none."""
        return next(iter(self.where(condition, *values)), None)

    def read(self, values: Sequence[Any]) -> M:
        """A row from the values of these columns; its other fields are read when asked for."""
        return self._model.from_db(DEFAULT_DB_ALIAS, self._names, self._converted(values))

    def bare(self, values: Sequence[Any]) -> Any:
        """The same as a plain tuple with names: a model's row takes 40 us to make."""
        return self._bare._make(self._converted(values))

    def place(self, name: str) -> int:
        """Where the values of these columns have that field."""
        return self._names.index(name)

    def _converted(self, values: Sequence[Any]) -> list[Any]:
        found, database = list(values), here()
        for place, converters, column in self._converters:
            value = found[place]
            if value is not None:
                for convert in converters:
                    value = convert(value, column, database)
                found[place] = value
        return found

    def insert(self, rows: Iterable[M]) -> None:
        """Store new rows, with all their fields."""
        new = list(rows)
        with here().cursor() as cursor:
            cursor.executemany(self._sql["insert"], [self._written(row) for row in new])
        for row in new:
            row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS

    def update(self, row: M) -> None:
        """Store these fields of a row that is there."""
        changed(self._sql["update"], *self._written(row), key(row.pk))

    def _written(self, row: M) -> list[Any]:
        values, database = [getattr(row, name) for name in self._names], here()
        for place, field in self._prepared:
            values[place] = field.get_db_prep_save(values[place], database)
        return values


CONVERSATIONS = Rows(Conversation)
TURNS = Rows(Turn)
MESSAGES = Rows(Message)
