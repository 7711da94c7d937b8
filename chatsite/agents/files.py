"""Reading a file out of an agent's folder: only what lies in there, of a sensible size."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from chatsite.errors import BadTemplate

LARGEST = 1024 * 1024  # Bytes; what lies there is written by people, some kilobytes of it.


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What of a file changes when its content does; its size and times alone can stay the same."""

    path: str
    inode: int
    size: int
    modified: int
    changed: int


def file_stamp(root: str, name: str, file: str) -> FileStamp | None:
    """The file as it is now, None where there is none. `root` is a real path.

    Links are followed, but not out of the root. Raises BadTemplate for what isn't a file of
    sensible size.
    """
    try:
        path = os.path.realpath(os.path.join(root, name, file), strict=True)
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadTemplate(f"can't be read: {system_reason(error)}") from None
    if not Path(path).is_relative_to(root):
        raise BadTemplate("is a link that leads out of the folder of agents")
    if not stat.S_ISREG(found.st_mode):
        raise BadTemplate("is not a file")
    if found.st_size > LARGEST:
        raise BadTemplate("is larger than 1 MiB")
    return FileStamp(path, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def read_bytes(path: str) -> bytes:
    """Raises BadTemplate."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise BadTemplate(f"can't be read: {system_reason(error)}") from None
    if len(data) > LARGEST:
        raise BadTemplate("is larger than 1 MiB")
    return data


def system_reason(error: OSError) -> str:
    """What the system says, without the path, which visitors need not know."""
    return (error.strerror or "unknown reason").lower()
