"""The lock on the folder of the database: one server at a time."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from chatsite.errors import Refused


def lock(path: Path) -> IO[str]:
    """Raises Refused where another server holds it: that one would have its running turns ended."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a")
    try:
        import fcntl
    except ImportError:  # Windows has no flock: there nothing prevents a second start.
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise Refused(
            f"Another server already uses {path.parent}. Stop it first, or set VAR_DIR."
        ) from None
    return file
