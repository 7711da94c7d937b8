"""What an account may do, as one value: when it changes, what the account has open ends."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Rights:
    """Of an active account; one that is disabled or deleted has none. `password` is the stored
    hash: a new password ends every session, so it ends their sockets."""

    staff: bool
    password: str = field(repr=False)
