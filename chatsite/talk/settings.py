"""The file of Talk rooms, and how much of a room is kept."""

from __future__ import annotations

from chatsite.environment import BASE_DIR, folder, number, text

TALK_FILE = text("TALK_FILE") and folder("TALK_FILE", BASE_DIR)
TALK_CACHE_MAX_PER_CONVERSATION = number(
    "TALK_CACHE_MAX_PER_CONVERSATION", 200, low=20, high=100_000
)
