"""Units of work that write: whole or not at all, and known as such to whoever runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from django.db import connection, transaction

P = ParamSpec("P")
T = TypeVar("T")


def writing(work: Callable[P, T]) -> Callable[P, T]:
    """A function that runs in one transaction and waits for whoever writes already."""
    unit: Callable[P, T] = transaction.atomic(work)
    unit.writes = True  # type: ignore[attr-defined]
    return unit


def settle() -> None:
    """Bring what SQLite has written to its log into its file, beside those who write.

    Left to itself SQLite does so in every fiftieth turn or so, which waits 10 to 20 ms for the
    disk; see `wal_autocheckpoint` in the settings for when this doesn't come about.
    """
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")


def writes(work: Callable[..., object]) -> bool:
    return getattr(work, "writes", False)
