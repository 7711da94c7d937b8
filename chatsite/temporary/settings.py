"""Whether chats may be temporary here, or always are."""

from __future__ import annotations

from chatsite.environment import choice

TEMPORARY_CHATS = choice("TEMPORARY_CHATS", "allowed", ("allowed", "always", "off"))
