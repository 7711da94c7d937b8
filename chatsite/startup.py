"""What a process makes before it uses storage: the folder VAR_DIR, the secret key and the name
of the cookies.

Importing the settings makes nothing, so that an editor, a type checker or a test leaves no trace.
`manage.py` calls this before every command, `web.apps` for `django-admin`, `asgi` when a server
starts.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.crypto import salted_hmac

from chatsite.errors import BadSetting


def require_own_settings() -> None:
    """Raise BadSetting where the environment names the settings of another project."""
    try:
        _ = settings.VAR_DIR
    except (AttributeError, ImportError, ImproperlyConfigured) as error:
        raise BadSetting(
            f"DJANGO_SETTINGS_MODULE names settings that aren't Chatsite's ({error}). Unset it, or "
            "name a module that begins with: from chatsite.settings import *"
        ) from None


def prepare_storage() -> None:
    """Make VAR_DIR and, unless the environment gives them, load or make the key and the name of the
    cookies; keep the database private to this user. Repeatable. Raises BadSetting."""
    require_own_settings()
    try:
        _prepare()
    except OSError as error:
        raise BadSetting(
            f"VAR_DIR={str(settings.VAR_DIR)!r} can't be used: {error.filename}: {error.strerror}."
        ) from None


def _prepare() -> None:
    settings.VAR_DIR.mkdir(parents=True, exist_ok=True, mode=0o700)  # it will hold conversations
    if not settings.ON_POSTGRESQL:
        keep_private(Path(str(settings.DATABASES["default"]["NAME"])))
    if settings.SECRET_KEY_FILE is not None:
        settings.SECRET_KEY = load_or_make_secret(
            settings.SECRET_KEY_FILE, lambda: secrets.token_urlsafe(50)
        )
    # Browsers keep one jar for all ports of a host: under a name of its own a cookie isn't replaced
    # by another server's, or another project's.
    name = settings.COOKIE_NAME or f"chatsite_{_cookie_id()}"
    settings.SESSION_COOKIE_NAME = name
    settings.CSRF_COOKIE_NAME = f"{name}_csrf"
    settings.LANGUAGE_COOKIE_NAME = f"{name}_language"


def _cookie_id() -> str:
    """The same for all servers of one PostgreSQL database, which share the key as well."""
    if settings.ON_POSTGRESQL:
        return salted_hmac("cookie name", "", settings.SECRET_KEY).hexdigest()[:8]
    return own_id(settings.VAR_DIR / "instance_id")


def own_id(path: Path) -> str:
    """Reads or makes what tells this server's cookies from those of others. Raises BadSetting if
    the file holds anything else than 8 hexadecimal digits."""
    found = load_or_make_secret(path, lambda: secrets.token_hex(4)).strip()
    if not re.fullmatch(r"[0-9a-f]{8}", found):
        raise BadSetting(
            f"{path} is not as it was written: 8 hexadecimal digits. Put back a copy of it, or "
            "delete it: the next start makes a new one, and everybody signs in again."
        )
    return found


def keep_private(database: Path) -> None:
    """Let only this user read the database: its file is made here or its mode changed. SQLite gives
    the files beside it the same mode."""
    database.touch(mode=0o600)
    for file in database.parent.glob(f"{database.name}*"):
        if file.stat().st_mode & 0o077:
            file.chmod(0o600)


def load_or_make_secret(path: Path, make: Callable[[], str]) -> str:
    """Reads the secret in `path`, or makes it once with mode 0600. Two starts at the same time
    share one. Raises BadSetting if the file exists and stays empty for a second."""
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
    raise BadSetting(f"{path} is empty. Delete it: the next start makes a new one.")
