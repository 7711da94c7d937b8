"""Presences for tests of parts, whose server isn't started."""

from __future__ import annotations

from chatsite.cluster.presence import Presence


def leading() -> Presence:
    """Of a server that does what one of several does."""
    presence = Presence()
    presence.lead(True)
    return presence
