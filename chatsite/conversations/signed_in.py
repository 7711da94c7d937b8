"""Guests who signed in a moment ago: what their requests still store is their account's."""

from __future__ import annotations

import time

from chatsite.conversations.owners import Owner

# An upload of 50 MB may take two hours. In memory: what is under way ends with the server.
SIGN_IN_SECONDS = 3 * 3600.0
signed_in: dict[str, tuple[int, float]] = {}


def note_sign_in(*, guest: str, user: int) -> None:
    """Whose account the guest is from now on: what their requests still store is the account's."""
    now = time.monotonic()
    for other, (_, at) in list(signed_in.items()):
        if now - at > SIGN_IN_SECONDS:
            signed_in.pop(other, None)
    signed_in[guest] = user, now


def owner_now(owner: Owner) -> Owner:
    """The account where the guest has signed in meanwhile."""
    user, _ = signed_in.get(owner.guest, (None, 0.0))
    return owner if user is None else Owner(user=user)
