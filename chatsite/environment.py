"""Readers of the environment: each raises BadSetting with the variable's name for a bad value.

`.env` beside manage.py is read too; the real environment overrides it. `.env.example` lists every
variable that is read: by `settings`, and by the `settings` of the features.
"""

from __future__ import annotations

import os
from pathlib import Path

import environ

from chatsite.errors import BadSetting

BASE_DIR = Path(__file__).resolve().parent.parent
environ.Env.read_env(BASE_DIR / ".env", overwrite=False)


def text(name: str, default: str = "") -> str:
    """Reads the variable's value without blanks around it; blank counts as not set."""
    return os.environ.get(name, "").strip() or default


def choice(name: str, default: str, allowed: tuple[str, ...]) -> str:
    value = text(name, default)
    if value not in allowed:
        raise BadSetting(f"{name}={value!r} is not allowed. It is one of: {', '.join(allowed)}.")
    return value


def flag(name: str, default: bool = False) -> bool:
    return choice(name, str(default).lower(), ("true", "false")) == "true"


def number(name: str, default: int, *, low: int, high: int) -> int:
    value = text(name, str(default))
    readable = value.isascii() and value.isdigit() and len(value) <= len(str(high))
    if not (readable and low <= int(value) <= high):
        raise BadSetting(
            f"{name}={value!r} is not allowed. It is a whole number from {low} to {high}."
        )
    return int(value)


def folder(name: str, default: Path) -> Path:
    path = text(name, str(default))
    try:
        found = Path(path).expanduser().resolve()
        found.is_dir()  # raises an error where the name is too long
        return found
    except (OSError, RuntimeError):  # nobody's home; links in a circle
        raise BadSetting(f"{name}={path!r} is not a path that can be used.") from None
