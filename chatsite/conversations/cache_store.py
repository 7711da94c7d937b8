"""Every unit of work of the engine's cache: where messages lie in it, what is unloaded, and what
is saved of it."""

from chatsite.conversations.cache.books import bring_back, mark_for_cleanup, mark_turns, place_books
from chatsite.conversations.cache.saved_sessions import (
    drop_sessions,
    list_sessions,
    read_session,
    save_session,
    session_files,
    touch_session,
)

__all__ = [
    "bring_back",
    "drop_sessions",
    "save_session",
    "list_sessions",
    "mark_for_cleanup",
    "mark_turns",
    "place_books",
    "read_session",
    "session_files",
    "touch_session",
]
