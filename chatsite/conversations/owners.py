"""The owner of a conversation: an account, or a guest with a random id in the session.

Apart from `ownership`, whose tables need the settings of Django: the process that checks a restored
file has none.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q


@dataclass(frozen=True, slots=True)
class Owner:
    """Exactly one of `user` (primary key) and `guest` is set."""

    user: int | None = None
    guest: str = ""

    def __post_init__(self) -> None:
        if (self.user is None) == (not self.guest):
            raise ValueError("an owner is either an account or a guest")

    @property
    def key(self) -> str:
        """One text per owner, for limits and registries; never shown."""
        return f"user:{self.user}" if self.user is not None else f"guest:{self.guest}"

    @staticmethod
    def account_of(key: str) -> int | None:
        """The account that a `key` belongs to; None for a guest's."""
        kind, _, number = key.partition(":")
        return int(number) if kind == "user" else None

    def session(self, key: str | None) -> str:
        """One text per session, for its open sockets. A guest has a single session."""
        return self.key if self.guest else f"{self.key}:{key}"

    def filter(self, prefix: str = "") -> Q:
        if self.user is not None:
            return Q(**{f"{prefix}user": self.user})
        return Q(**{f"{prefix}user": None, f"{prefix}guest": self.guest})
