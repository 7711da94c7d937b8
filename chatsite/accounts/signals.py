"""Tells the running site when this process saves or deletes an account."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.signals import post_delete, post_save


def follow_accounts(changed: Callable[[], None]) -> Callable[[], None]:
    """Call `changed` once the change is stored, on the thread that made it. Returns what ends
    this."""

    def saved(update_fields: frozenset[str] | None = None, **said: Any) -> None:
        if set(update_fields or ()) != {"last_login"}:  # every sign-in
            transaction.on_commit(changed)

    def deleted(**said: Any) -> None:
        transaction.on_commit(changed)

    post_save.connect(saved, sender=User, weak=False)
    post_delete.connect(deleted, sender=User, weak=False)

    def end() -> None:
        post_save.disconnect(saved, sender=User)
        post_delete.disconnect(deleted, sender=User)

    return end
