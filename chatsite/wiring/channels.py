"""The channels that the settings name, and the desk that answers for all of them."""

from __future__ import annotations

from chatsite.channels.desk import Desk
from chatsite.channels.supervisor import Channels
from chatsite.limits.limiter import Limiter
from chatsite.turns.ports import Storage
from chatsite.turns.turns import Turns


def channels(*, storage: Storage, turns: Turns, limiter: Limiter) -> Channels:
    """None of them receives anything before `Channels.start`."""
    desk = Desk(turns=turns, storage=storage, limiter=limiter)
    return Channels((), desk)
