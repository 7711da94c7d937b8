"""The log of sign-ins and of what administrators change. No line holds a password."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest

logger = logging.getLogger("chatsite.accounts")
LONGEST = 150
FLAGS = {"is_active": "active", "is_staff": "staff", "is_superuser": "superuser"}
DONE = {1: "added", 2: "changed", 3: "deleted"}


def quoted(said: object) -> str:
    """What somebody typed: in quotes, on one line, in ASCII, cut."""
    return json.dumps(str(said)[:LONGEST])


def where(request: HttpRequest | None) -> str:
    """The client's address; that of a proxy's client where the settings name the proxy."""
    return quoted(request.META.get("REMOTE_ADDR") or "unknown") if request else "this machine"


def signed_in(request: HttpRequest, user: User, **said: Any) -> None:
    staff = ", staff" if user.is_staff else ""
    logger.info(
        "Signed in: account %s%s from %s", quoted(user.get_username()), staff, where(request)
    )


def signed_out(request: HttpRequest, user: User | None, **said: Any) -> None:
    if user is not None:
        logger.info("Signed out: account %s from %s", quoted(user.get_username()), where(request))


def sign_in_failed(
    credentials: Mapping[str, Any], request: HttpRequest | None = None, **said: Any
) -> None:
    name = quoted(credentials.get("username", ""))
    logger.warning("Sign-in failed: account %s from %s", name, where(request))


def account_changed(
    instance: User, update_fields: Collection[str] | None = None, **said: Any
) -> None:
    """Before an account is saved: what will be different, once that is stored."""
    if set(update_fields or ()) == {"last_login"}:
        return
    kept = User.objects.filter(pk=instance.pk).values("password", *FLAGS).first()
    if kept is None:
        changes = ["made"]
    else:
        changes = ["new password"] if kept["password"] != instance.password else []
        changes += [
            f"{word} {'on' if getattr(instance, flag) else 'off'}"
            for flag, word in FLAGS.items()
            if kept[flag] != getattr(instance, flag)
        ]
    if changes:
        _log_when_stored("Account %s: %s", quoted(instance.get_username()), ", ".join(changes))


def account_deleted(instance: User, **said: Any) -> None:
    _log_when_stored("Account %s: deleted", quoted(instance.get_username()))


def administered(instance: LogEntry, **said: Any) -> None:
    """What somebody did in the administration: names of fields, none of their values."""
    _log_when_stored(
        "Administration: %s %s %s %s. %s",
        quoted(instance.user.get_username()),
        DONE.get(instance.action_flag, "did something to"),
        instance.content_type or "something",
        quoted(instance.object_repr),
        instance.get_change_message(),
    )


def _log_when_stored(line: str, *said: object) -> None:
    transaction.on_commit(partial(logger.info, line, *said))
