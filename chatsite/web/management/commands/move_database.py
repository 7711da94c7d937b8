"""`manage.py move_database`: from SQLite's file to the PostgreSQL that DATABASE_URL names."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from chatsite.conversations.database.moving import move
from chatsite.errors import Refused
from chatsite.storage import lock


class Command(BaseCommand):
    help = (
        "Copy everything from SQLite's file into the empty PostgreSQL that DATABASE_URL names, and "
        "compare it row by row. The server must be stopped. The file isn't changed. What was "
        "interrupted goes on where it was."
    )
    what, first, began, shown = "", 0, 0.0, 0.0

    def add_arguments(self, parser: CommandParser) -> None:
        file = settings.VAR_DIR / "chatsite.sqlite3"
        parser.add_argument("--from", dest="file", type=Path, default=file, help="%(default)s")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        if not settings.ON_POSTGRESQL:
            raise CommandError("DATABASE_URL isn't set. It names the PostgreSQL to move to.")
        try:
            with lock(file.parent / "server.lock"):
                began = time.monotonic()
                for name, rows, nuls in move(file, self._report):
                    replaced = f"; NUL replaced by U+FFFD in {nuls:,}" if nuls else ""
                    seconds = time.monotonic() - began
                    self.stdout.write(f"{name}: {rows:,} rows, {seconds:.1f} s{replaced}")
                    self.stdout.flush()
                    began += seconds
        except Refused as error:
            raise CommandError(error.message) from None
        except DatabaseError as error:
            raise CommandError(f"{error}\nSQLite's file is as it was. Run this again.") from error
        self.stdout.write(_what_next(file.parent))

    def _report(self, what: str, done: int, total: int) -> None:
        """A line a second, for who watches."""
        now = time.monotonic()
        if what != self.what:
            self.what, self.first, self.began, self.shown = what, done, now, now
        if self.stdout.isatty() and now - self.shown >= 1 and done > self.first:
            rate = (done - self.first) / (now - self.began)
            self.stdout.write(
                f"{what} {done:,} of {total:,} ({100 * done // total} %), {rate:,.0f}/s, "
                f"{(total - done) / rate:,.0f} s left"
            )
            self.shown = now


def _what_next(folder: Path) -> str:
    lines = [
        "All of it was compared and is the same. Start the server with this DATABASE_URL: it makes "
        "the index of words; until then a search doesn't find everything.",
        f"Uploaded files stay in {settings.FILES_DIR}. Keep SQLite's file until you are sure.",
    ]
    key, id, keep = folder / "secret_key", folder / "instance_id", []
    if key.is_file() and key.read_text() != settings.SECRET_KEY:
        keep.append(f"SECRET_KEY to what is in {key}")
    if id.is_file() and not settings.COOKIE_NAME:
        keep.append(f"COOKIE_NAME to chatsite_{id.read_text()}")
    if keep:
        lines.append(
            f"Set {' and '.join(keep)}. Otherwise everybody signs in again, and guests lose their "
            "conversations."
        )
    return "\n".join(lines)
