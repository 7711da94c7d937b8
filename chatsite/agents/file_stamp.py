"""Whether a file in an agent's folder may be read, and whether it changed since the last time."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from chatsite.checked_file import LARGEST_FILE, system_reason
from chatsite.errors import BadFile


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Changes whenever the content does; its size and its times alone can stay the same."""

    path: str
    inode: int
    size: int
    modified: int
    changed: int


def file_stamp(root: str, name: str, file: str) -> FileStamp | None:
    """The stamp of the file, None where there is no file. `root` is a real path.

    Links are followed, but not out of the root. Raises BadFile for what isn't a file of
    sensible size.
    """
    try:
        path = os.path.realpath(os.path.join(root, name, file), strict=True)
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadFile(f"can't be read: {system_reason(error)}") from None
    if not Path(path).is_relative_to(root):
        raise BadFile("is a link that leads out of the folder of agents")
    if not stat.S_ISREG(found.st_mode):
        raise BadFile("is not a file")
    if found.st_size > LARGEST_FILE:
        raise BadFile("is larger than 1 MiB")
    return FileStamp(path, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
