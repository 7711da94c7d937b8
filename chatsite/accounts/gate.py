"""Stands before every check of a password (the page's, the administration's, a person's own), and
logs what administrators ask about accounts."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import Any, cast

from asgiref.sync import async_to_sync
from django.contrib.admin.models import LogEntry
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest

from chatsite.errors import TooMany
from chatsite.limits.limiter import address_of
from chatsite.web.people import site_of

logger = logging.getLogger("chatsite.accounts")
LONGEST = 150
FLAGS = {"is_active": "active", "is_staff": "staff", "is_superuser": "superuser"}
DONE = {1: "added", 2: "changed", 3: "deleted"}


def quote(text: object) -> str:
    """Quote what somebody typed: on one line, in ASCII, cut."""
    return json.dumps(str(text)[:LONGEST])


def where(request: HttpRequest | None) -> str:
    """Return the client's address; that of a proxy's client where the settings name the proxy."""
    return quote(request.META.get("REMOTE_ADDR") or "unknown") if request else "this machine"


def log_sign_in(request: HttpRequest, user: User, **signal: Any) -> None:
    staff = ", staff" if user.is_staff else ""
    logger.info(
        "Signed in: account %s%s from %s", quote(user.get_username()), staff, where(request)
    )


def log_sign_out(request: HttpRequest, user: User | None, **signal: Any) -> None:
    if user is not None:
        logger.info("Signed out: account %s from %s", quote(user.get_username()), where(request))


def log_failed_sign_in(
    credentials: Mapping[str, Any], request: HttpRequest | None = None, **signal: Any
) -> None:
    name = quote(credentials.get("username", ""))
    logger.warning("Sign-in failed: account %s from %s", name, where(request))


def log_account_change(
    instance: User, update_fields: Collection[str] | None = None, **signal: Any
) -> None:
    """Log, before an account is saved, what will be different, once that is stored."""
    if set(update_fields or ()) == {"last_login"}:
        return
    stored = User.objects.filter(pk=instance.pk).values("password", *FLAGS).first()
    if stored is None:
        changes = ["made"]
    else:
        changes = ["new password"] if stored["password"] != instance.password else []
        changes += [
            f"{word} {'on' if getattr(instance, flag) else 'off'}"
            for flag, word in FLAGS.items()
            if stored[flag] != getattr(instance, flag)
        ]
    if changes:
        _log_when_stored("Account %s: %s", quote(instance.get_username()), ", ".join(changes))


def log_account_deletion(instance: User, **signal: Any) -> None:
    _log_when_stored("Account %s: deleted", quote(instance.get_username()))


def log_administration(instance: LogEntry, **signal: Any) -> None:
    """Log what somebody did in the administration: names of fields, none of their values."""
    _log_when_stored(
        "Administration: %s %s %s %s. %s",
        quote(instance.user.get_username()),
        DONE.get(instance.action_flag, "did something to"),
        instance.content_type or "something",
        quote(instance.object_repr),
        instance.get_change_message(),
    )


def _log_when_stored(line: str, *values: object) -> None:
    transaction.on_commit(partial(logger.info, line, *values))


# The backend that checks passwords. Sessions name it.
CHECKS = "django.contrib.auth.backends.ModelBackend"


class Gate:
    """Stands first in AUTHENTICATION_BACKENDS. It knows nobody; over a limit it raises TooMany, so
    that no other one is asked: the password isn't even hashed."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, **credentials: Any
    ) -> None:
        if request is None or username is None or not hasattr(request, "scope"):
            return
        try:
            _count(request, site_of(request).sign_ins.begin, username)
        except TooMany as error:
            name, seconds = quote(username), error.seconds
            logger.warning("Sign-in delayed: %s from %s, %s s", name, where(request), seconds)
            raise

    def get_user(self, user_id: int) -> None:
        """Return nobody: no session names this backend."""


def _count(request: HttpRequest, count: Callable[..., Awaitable[None]], *name: str) -> None:
    """Call a method of `SignIns` with the client's address on the event loop: a limiter isn't made
    for threads."""

    async def call() -> None:
        await count(*name, address_of(cast(Any, request).scope))

    async_to_sync(call)()


def count_new_password(request: HttpRequest) -> None:
    """Call this before the password of a new account is hashed. Raises TooMany."""
    _count(request, site_of(request).sign_ins.begin_new)


def end_delays(request: HttpRequest, user: User, **signal: Any) -> None:
    """Forget, at a sign-in, the wrong passwords before it."""
    if hasattr(request, "scope"):
        _count(request, site_of(request).sign_ins.succeeded, user.get_username())


def is_own_password(request: HttpRequest, password: str) -> bool:
    """Return whether it is the password of the person who is signed in. Raises TooMany: somebody at
    an open page may be guessing."""
    user = request.user
    assert isinstance(user, User)
    if authenticate(request, username=user.get_username(), password=password) != user:
        return False
    end_delays(request, user)
    return True
