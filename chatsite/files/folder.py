"""Where the bytes lie: one folder, random names, readable by the server's own user alone."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

# What is sent in a file's place, where that isn't the file itself, lies beside it.
SENT_ENDINGS = {".png": "image/png", ".jpeg": "image/jpeg", ".pdf": "application/pdf"}
COMING = "coming"


@dataclass(frozen=True, slots=True)
class Folder:
    """`root/ab/ab…` for the file with that id; `root/coming/` for what isn't whole yet."""

    root: Path

    def coming(self) -> Path:
        """The path of a file to come; nothing is made but its folder."""
        return _made(self.root / COMING) / uuid.uuid4().hex

    def path(self, id: str) -> Path:
        name = uuid.UUID(id).hex
        return self.root / name[:2] / name

    def keep(self, came: Path, id: str) -> None:
        """Give what came, with what is sent in its place, the id as its name."""
        path = self.path(id)
        _made(path.parent)
        for ending in SENT_ENDINGS:
            beside = came.with_suffix(ending)
            if beside.exists():
                os.replace(beside, path.with_suffix(ending))
        os.replace(came, path)

    def sent(self, id: str) -> tuple[Path, str] | None:
        """What is sent in the file's place and its type, None where the file itself is."""
        path = self.path(id)
        for ending, mime_type in SENT_ENDINGS.items():
            if path.with_suffix(ending).exists():
                return path.with_suffix(ending), mime_type
        return None

    def remove(self, id: str) -> None:
        discard(self.path(id))

    def ids(self, *, older_than: float) -> Iterator[str]:
        """Of all files that were kept more than so many seconds ago."""
        for path in self._files(older_than):
            if path.parent.name != COMING and not path.suffix and len(path.name) == 32:
                yield str(uuid.UUID(path.name))

    def discard_unfinished(self, *, older_than: float) -> int:
        """What came and was never kept: a killed server's. How many files there were."""
        found = [path for path in self._files(older_than) if path.parent.name == COMING]
        for path in found:
            path.unlink(missing_ok=True)
        return len(found)

    def _files(self, older_than: float) -> Iterator[Path]:
        before = time.time() - older_than
        for path in self.root.glob("*/*"):
            try:
                if path.is_file() and path.stat().st_mtime < before:
                    yield path
            except FileNotFoundError:  # removed meanwhile
                continue


def opened(path: Path) -> IO[bytes]:
    """A new file that nobody else can read."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def discard(path: Path) -> None:
    """A file and what lies beside it; nothing happens where there is none."""
    for each in (path, *(path.with_suffix(ending) for ending in (*SENT_ENDINGS, ".text"))):
        each.unlink(missing_ok=True)


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
