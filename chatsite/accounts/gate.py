"""Stands before every check of a password (the page's, the administration's, a person's own), and
logs what administrators ask about accounts."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
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


# The backend that checks passwords. Sessions name it.
CHECKS = "django.contrib.auth.backends.ModelBackend"


class Gate:
    """The first of AUTHENTICATION_BACKENDS. It knows nobody; over a limit it raises TooMany, so
    that no other one is asked: the password isn't even hashed."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, **said: Any
    ) -> None:
        if request is None or username is None or not hasattr(request, "scope"):
            return
        try:
            async_to_sync(_begin)(request, username)
        except TooMany as error:
            name, seconds = quoted(username), error.seconds
            logger.warning("Sign-in delayed: %s from %s, %s s", name, where(request), seconds)
            raise

    def get_user(self, user_id: int) -> None:
        """No session names this backend."""


async def _begin(request: HttpRequest, name: str) -> None:
    """On the event loop, as everything that counts: a limiter isn't made for threads."""
    site_of(request).sign_ins.begin(name, _address(request))


async def _succeeded(request: HttpRequest, name: str) -> None:
    site_of(request).sign_ins.succeeded(name, _address(request))


async def _begin_new(request: HttpRequest) -> None:
    site_of(request).sign_ins.begin_new(_address(request))


def _address(request: HttpRequest) -> str:
    return address_of(cast(Any, request).scope)


def count_new_password(request: HttpRequest) -> None:
    """Before the password of a new account is hashed. Raises TooMany."""
    async_to_sync(_begin_new)(request)


def end_delays(request: HttpRequest, user: User, **said: Any) -> None:
    """At a sign-in: the wrong passwords before it are forgotten."""
    if hasattr(request, "scope"):
        async_to_sync(_succeeded)(request, user.get_username())


def is_own_password(request: HttpRequest, password: str) -> bool:
    """Whether it is the password of the person who is signed in. Raises TooMany: somebody at an
    open page may be guessing."""
    user = request.user
    assert isinstance(user, User)
    if authenticate(request, username=user.get_username(), password=password) != user:
        return False
    end_delays(request, user)
    return True
