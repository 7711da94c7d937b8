"""Stands before every check of a password: the page's, the administration's, and a person's own."""

from __future__ import annotations

from typing import Any, cast

from asgiref.sync import async_to_sync
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.http import HttpRequest

from chatsite.accounts.log import logger, quoted, where
from chatsite.errors import TooMany
from chatsite.limits.addresses import address_of
from chatsite.web.people import site_of

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
