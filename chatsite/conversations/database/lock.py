"""Who uses the folder of the stored conversations."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from chatsite.errors import Refused


def lock(path: Path) -> IO[str]:
    """One server a folder: generations live in its memory, and a second one would end them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a")
    try:
        import fcntl
    except ImportError:  # Windows has no flock; starting twice is then the person's own care.
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise Refused(
            f"Another server already uses {path.parent}. Stop it first, or set VAR_DIR."
        ) from None
    return file
