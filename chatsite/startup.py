"""What a process makes before it uses storage: the folder VAR_DIR and the secret key in it.

Importing the settings makes nothing, so that an editor, a type checker or a test leaves no trace.
`manage.py` calls this before every command, `asgi` when a server starts.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

from chatsite.errors import BadSetting


def prepare_storage() -> None:
    """Make VAR_DIR and, unless the environment gives a key, load or make the key; keep the database
    private to this user. Repeatable."""
    settings.VAR_DIR.mkdir(parents=True, exist_ok=True, mode=0o700)  # it will hold conversations
    keep_private(Path(str(settings.DATABASES["default"]["NAME"])))
    if settings.SECRET_KEY_FILE is not None:
        settings.SECRET_KEY = load_or_make_secret(
            settings.SECRET_KEY_FILE, lambda: secrets.token_urlsafe(50)
        )


def keep_private(database: Path) -> None:
    """Let only this user read the database: its file is made here or its mode changed. SQLite gives
    the files beside it the same mode."""
    database.touch(mode=0o600)
    for file in database.parent.glob(f"{database.name}*"):
        if file.stat().st_mode & 0o077:
            file.chmod(0o600)


def load_or_make_secret(path: Path, make: Callable[[], str]) -> str:
    """The secret in `path`, made once with mode 0600. Two starts at the same time share one.

    Raises BadSetting where the file exists and stays empty for a second.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _wait_for_secret(path)
    with os.fdopen(handle, "w") as file:
        value = make()
        file.write(value)
    return value


def _wait_for_secret(path: Path) -> str:
    """Another start creates the file before its content: read an empty file again for a second."""
    for _ in range(50):
        if value := path.read_text().strip():
            return value
        time.sleep(0.02)
    raise BadSetting(f"{path} is empty. Delete it: the next start makes a new secret key.")
