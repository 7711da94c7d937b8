"""What a supervisor or a proxy asks: whether the process runs, and whether it can serve."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.db import Error, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from chatsite.files.intake import KEPT_FREE
from chatsite.storage import reading, takes_writes
from chatsite.web.people import site_of

READY_SECONDS = 2.0
# Whoever asks without a pause writes no more often.
FRESH_SECONDS = 5.0
_known: tuple[float, str] = (0.0, "")
# The database's file, as it was at the server's start.
_opened: tuple[int, int] | None = None


@require_safe
async def health(request: HttpRequest) -> JsonResponse:
    """Answers 200 while the process answers at all."""
    return JsonResponse({"status": "ok"})


@require_safe
async def ready(request: HttpRequest) -> JsonResponse:
    """Answers 200 if messages can be taken: the database stores something in time and has its
    tables, files can be opened, and the disk has room; else 503, also while the server stops.
    Providers aren't asked: each answer says for itself if one fails."""
    global _known
    if site_of(request).draining:
        return JsonResponse({"status": "the server is stopping"}, status=503)
    at, wrong = _known
    if not at or time.monotonic() - at > FRESH_SECONDS:
        wrong = await _what_is_wrong()
        _known = (time.monotonic(), wrong)
    return JsonResponse({"status": wrong or "ok"}, status=503 if wrong else 200)


async def _what_is_wrong() -> str:
    try:
        async with asyncio.timeout(READY_SECONDS):
            # First: a process without a free file can't open the database either.
            await asyncio.to_thread(lambda: tempfile.TemporaryFile(dir=settings.VAR_DIR).close())
            await takes_writes()
            wrong = await _look_at_storage()
    except (Error, TimeoutError):  # the second one is an OSError, too
        return "the database doesn't answer, or can't be written"
    except OSError:
        return "no file can be opened"
    if not wrong and shutil.disk_usage(settings.VAR_DIR).free < KEPT_FREE:
        return "the disk is nearly full"
    return wrong or ""


def remember_database() -> None:
    """Notes at the start which file is open: a file that is put in its place later isn't read."""
    global _opened
    _opened = _identity(_database())


@reading
def _look_at_storage() -> str:
    path = _database()
    # SQLite goes on writing into a file that was removed, and all of it is lost.
    if (
        path
        and _opened
        and (_identity(path) != _opened or not path.with_name(f"{path.name}-wal").exists())
    ):
        return "the database's file was removed or replaced"
    with connection.cursor() as cursor:
        for model in apps.get_models(include_auto_created=True):
            table = connection.ops.quote_name(model._meta.db_table)
            cursor.execute(f"SELECT 1 FROM {table} LIMIT 1")
    return ""


def _database() -> Path | None:
    named = connection.settings_dict["NAME"]
    return Path(named) if connection.vendor == "sqlite" else None


def _identity(path: Path | None) -> tuple[int, int] | None:
    """Tells which file it is, whatever its name; None stands for none."""
    try:
        found = path.stat() if path else None
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found else None
