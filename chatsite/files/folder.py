"""Stores the files: one folder, random names, readable only by the server's own user."""

from __future__ import annotations

import os
import re
import shutil
import time
import unicodedata
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

LONGEST = 120
LONGEST_ENDING = 16
NAMELESS = "file"
# Blanks of all kinds, line ends among them: a prompt has the name on one line.
BLANKS = re.compile(r"\s+")
# Categories of Unicode: control and direction marks, half characters, unassigned ones.
HIDDEN = ("Cc", "Cf", "Cs", "Cn")


def safe_name(name: str) -> str:
    """Return the last part of a path without control and direction marks, at most 120 characters.

    A right-to-left override makes `exe.gpj` of `jpg.exe`; a slash or a backslash is a path on some
    machine; half characters can't be stored.
    """
    last = re.split(r"[/\\]", name)[-1]
    # First, since a removed mark may have stood between two blanks or a letter and its accent.
    shown = "".join(c for c in last if c.isspace() or unicodedata.category(c) not in HIDDEN)
    name = unicodedata.normalize("NFC", BLANKS.sub(" ", shown)).strip(" .")
    if len(name) > LONGEST:
        stem, dot, ending = name.rpartition(".")
        ending = dot + ending if stem and len(ending) < LONGEST_ENDING else ""
        name = name[: LONGEST - len(ending)].rstrip(" .") + ending
    return name or NAMELESS


# A copy that is sent instead of the file is stored beside it under one of these endings.
SENT_ENDINGS = {".png": "image/png", ".jpeg": "image/jpeg", ".pdf": "application/pdf"}
COMING = "coming"


@dataclass(frozen=True, slots=True)
class Folder:
    """`root/ab/ab…` holds the file with that id; `root/coming/` holds files still being
    uploaded."""

    root: Path

    def coming(self) -> Path:
        """Return the path for a new upload; only its folder is created."""
        return _made(self.root / COMING) / uuid.uuid4().hex

    def path(self, id: str) -> Path:
        return self.root / name_of(id)

    def keep(self, came: Path, id: str) -> None:
        """Move an upload, with the copy that is sent instead, to its place under that id."""
        path = self.path(id)
        _made(path.parent)
        for ending in SENT_ENDINGS:
            beside = came.with_suffix(ending)
            if beside.exists():
                os.replace(beside, path.with_suffix(ending))
        os.replace(came, path)

    def share(self, id: str, new: str) -> bool:
        """Give a file, with the copies beside it, a second id; False where it isn't there. No file
        is ever changed, so that both can be the same bytes on the disk."""
        path, to = self.path(id), self.path(new)
        _made(to.parent)
        for ending in ("", *SENT_ENDINGS):
            try:
                os.link(path.with_suffix(ending), to.with_suffix(ending))
            except FileNotFoundError:
                if not ending:
                    return False
        return True

    def opened(self, id: str) -> IO[bytes]:
        """Raises FileNotFoundError."""
        return self.path(id).open("rb")

    def sent(self, id: str) -> tuple[IO[bytes], str]:
        """Open what is sent to a provider, with its type where that is a copy. Raises
        FileNotFoundError."""
        path = self.path(id)
        for ending, mime_type in SENT_ENDINGS.items():
            if path.with_suffix(ending).exists():
                return path.with_suffix(ending).open("rb"), mime_type
        return self.opened(id), ""

    def exists(self, id: str) -> bool:
        return self.path(id).is_file()

    def free_bytes(self) -> int:
        """Return how much of the disk is free."""
        return shutil.disk_usage(_made(self.root)).free

    def remove(self, id: str) -> None:
        discard(self.path(id))

    def ids(self, *, older_than: float) -> Iterator[str]:
        """Yield the ids of all files that were stored more than so many seconds ago."""
        for path in self._files(older_than):
            if path.parent.name != COMING and not path.suffix and len(path.name) == 32:
                yield str(uuid.UUID(path.name))

    def discard_unfinished(self, *, older_than: float) -> int:
        """Delete uploads that were never kept, which a killed server leaves. Returns how many."""
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


def name_of(id: str) -> str:
    """The name of the file with that id, in a folder and in a bucket."""
    name = uuid.UUID(id).hex
    return f"{name[:2]}/{name}"


def opened(path: Path) -> IO[bytes]:
    """Return a new file that nobody else can read."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def discard(path: Path) -> None:
    """Delete a file and the copies beside it, if they exist."""
    for each in (path, *(path.with_suffix(ending) for ending in (*SENT_ENDINGS, ".text"))):
        each.unlink(missing_ok=True)


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
