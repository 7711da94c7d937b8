"""Which version of Chatsite a database is of: checked before it is migrated or written to."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from chatsite.errors import Refused
from chatsite.files.intake import KEPT_FREE
from chatsite.wording import say

COPIES_KEPT = 2
# The table that a move from SQLite has here until everything has arrived (`database.moving`).
UNFINISHED_MOVE = "chatsite_unfinished_move"
_COPY = re.compile(r"before-\d{8}-\d{6}\.sqlite3")
_FIRST = datetime(2020, 1, 1, tzinfo=UTC)


def require_known_version() -> None:
    """Raises Refused for a database of a newer version, which commands would damage, and for one
    that can't be read."""
    with _readable():
        _applied_here(MigrationExecutor(connection))


@contextmanager
def migrating(folder: Path) -> Iterator[Path | None]:
    """Around a migration: gives the copy of the database as it was before, None where there is
    nothing to migrate or to copy. An upgrade that failed half way isn't copied again: the copy of
    its beginning is the only good one. Raises Refused as `require_known_version`, where there is
    no room for the copy, and where the migration fails."""
    with _readable(), _one_at_a_time():
        copy = _copy_to_migrate(folder)
        with _readable(copy):
            yield copy
            if connection.vendor == "sqlite" and _begun():
                _note_begun(0)
                copies = sorted(one for one in folder.iterdir() if _COPY.fullmatch(one.name))
                for one in copies[:-COPIES_KEPT]:
                    one.unlink()


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Of several servers that start on PostgreSQL one migrates, and the others wait for it. Where
    nothing is to be done nobody waits. The lock goes with the process."""
    if connection.vendor == "sqlite" or not _is_behind(MigrationExecutor(connection)):
        yield
        return
    import psycopg

    with connection.wrap_database_errors:
        held = psycopg.connect(**settings.DIRECT_CONNECTION, autocommit=True)
        held.execute("SELECT pg_advisory_lock(hashtext('chatsite migrations'))")
    with held:
        yield


def _is_behind(executor: MigrationExecutor) -> bool:
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


@contextmanager
def _readable(copy: Path | None = None) -> Iterator[None]:
    try:
        yield
    except DatabaseError as error:
        said = say("The database can't be used as it is ({reason}).", reason=str(error)[:200])
        if connection.vendor != "sqlite":
            back = say("Is it there, as DATABASE_URL says, and may its user make tables?")
        elif copy is None:
            back = say("If it is damaged, put back a copy. Nothing was changed.")
        else:
            back = say("As it was before it was brought up to date: {copy}", copy=str(copy))
        raise Refused(f"{said} {back}", code="bad_database") from error


def _applied_here(executor: MigrationExecutor) -> bool:
    """Whether it was migrated at all."""
    applied, known = executor.loader.applied_migrations, executor.loader.disk_migrations
    ours = {app for app, _ in known}
    if unknown := sorted(name for app, name in applied if app in ours and (app, name) not in known):
        raise Refused(
            say(
                "This database was made by a newer version of Chatsite ({migration}). Start that "
                "version, or put back a copy that was made before it was brought up to date. "
                "Nothing was changed.",
                migration=unknown[-1],
            ),
            code="newer_database",
        )
    if UNFINISHED_MOVE in connection.introspection.table_names():
        raise Refused(
            say(
                "Not everything has arrived in this database. Run this again, it goes on: "
                "{command}",
                command="python manage.py move_database",
            ),
            code="unfinished_move",
        )
    if not applied and set(connection.introspection.table_names()) - {"django_migrations"}:
        raise DatabaseError("it doesn't say which version it is of")
    return bool(applied)


def _copy_to_migrate(folder: Path) -> Path | None:
    executor = MigrationExecutor(connection)
    there = _applied_here(executor)
    if not there or connection.vendor != "sqlite":
        return None
    if not _is_behind(executor):
        return None
    begun = _begun()
    at = datetime.now(UTC).replace(microsecond=0)
    copy = folder / _name(_FIRST + timedelta(seconds=begun) if begun else at)
    if not begun:
        _copy(Path(str(connection.settings_dict["NAME"])), copy)
        _note_begun(int((at - _FIRST).total_seconds()))
    return copy if copy.exists() else None


def _name(at: datetime) -> str:
    return f"before-{at:%Y%m%d-%H%M%S}.sqlite3"


def _begun() -> int:
    """When the copy of an unfinished migration was made; 0 for none. In the database itself, so
    that a copy that is put back knows nothing of it."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA user_version")
        return int(cursor.fetchone()[0])


def _note_begun(seconds: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA user_version = {seconds:d}")


def _copy(database: Path, copy: Path) -> None:
    """Under another name until it is complete: what is cut off counts as no copy."""
    size = sum(file.stat().st_size for file in database.parent.glob(f"{database.name}*"))
    part = copy.with_suffix(".part")
    for left in copy.parent.glob("before-*.part"):
        left.unlink()
    if shutil.disk_usage(copy.parent).free < size + KEPT_FREE:
        raise _no_room(size)
    try:
        part.touch(mode=0o600)
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(part)])
        part.rename(copy)
    except (OSError, DatabaseError) as error:
        part.unlink(missing_ok=True)
        if "malformed" in str(error):
            raise
        raise _no_room(size) from error


def _no_room(size: int) -> Refused:
    return Refused(
        say(
            "There is no room for a copy of the database ({megabytes:,} MB), which is made "
            "before it is brought up to date. Nothing was changed.",
            megabytes=size // 1_000_000 + 1,
        ),
        code="disk_full",
    )
