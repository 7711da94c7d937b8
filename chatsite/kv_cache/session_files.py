"""The files of saved slots: checked and removed. All functions wait for the disk."""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import Collection, Iterable
from pathlib import Path

from chatsite.kv_cache.books import Session
from chatsite.providers.embedded.client import FILE_NAME

log = logging.getLogger("chatsite.engine")
_CHUNK = 256 * 1024
# A file exists before its row does, and another process than the saving one may sweep.
_UNCLAIMED_SECONDS = 600.0


class UnusableFile(Exception):
    """Says why a file isn't used, as the end of a sentence."""


class SessionFolder:
    """Reads and removes only files whose names are ours, whatever else is in the folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Written or verified since the server started, so a power cut can't have damaged them.
        self._sound: set[str] = set()

    def size_and_checksum(self, name: str) -> tuple[int, str]:
        """Return size and checksum. Raises OSError.

        The checksum finds damage, not attacks, which would need access to the folder: CRC-32 takes
        0.4 to 1 ms a megabyte, SHA-256 twice that, BLAKE2 four times.
        """
        size = checksum = 0
        buffer = memoryview(bytearray(_CHUNK))
        with (self.path / name).open("rb", buffering=0) as file:
            while count := file.readinto(buffer):
                size += count
                checksum = zlib.crc32(buffer[:count], checksum)
        return size, f"crc32:{checksum:08x}"

    def measure(self, session: Session) -> None:
        """Raise UnusableFile for a foreign name, a missing file and a wrong size: a file that was
        cut short would end the engine's process."""
        if not FILE_NAME.fullmatch(session.file):
            raise UnusableFile("it isn't one of ours")
        try:
            size = (self.path / session.file).stat().st_size
        except OSError as error:
            raise UnusableFile(f"it can't be read ({error.strerror})") from None
        if size != session.size:
            raise UnusableFile(f"it has {size} bytes, not {session.size}")

    def verify(self, session: Session) -> None:
        """Check the size each time, the content once while the server runs: restoring a slot must
        stay fast. Raises UnusableFile."""
        self.measure(session)
        if session.file in self._sound:
            return
        try:
            measured = self.size_and_checksum(session.file)
        except OSError as error:
            raise UnusableFile(f"it can't be read ({error.strerror})") from None
        if measured != (session.size, session.digest):
            raise UnusableFile("its content isn't what was written")
        self.trust(session.file)

    def trust(self, name: str) -> None:
        self._sound.add(name)

    def trusts(self, name: str) -> bool:
        return name in self._sound

    def names(self) -> set[str]:
        return set(self._written())

    def remove_unclaimed(self, claimed: Collection[str]) -> None:
        """Remove all files but the `claimed` ones and those that were written just now."""
        old = time.time() - _UNCLAIMED_SECONDS
        written = self._written()
        self.remove(name for name, at in written.items() if name not in claimed and at < old)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            if not FILE_NAME.fullmatch(name):
                continue
            self._sound.discard(name)
            try:
                (self.path / name).unlink(missing_ok=True)
            except OSError as error:
                log.warning("the saved cache %s can't be removed: %s", name, error.strerror)

    def _written(self) -> dict[str, float]:
        """Return our files with the time of writing; {} where there is no folder."""
        try:
            paths = [path for path in self.path.iterdir() if FILE_NAME.fullmatch(path.name)]
            return {path.name: path.stat().st_mtime for path in paths}
        except FileNotFoundError:
            return {}


def make_private_folder(path: Path | None) -> str:
    """Create the folder, for this user alone; returns its path for the engine, "" where nothing is
    saved or the folder can't be created: people can chat without it."""
    if path is None:
        return ""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        log.error("the cache can't be saved to %s: %s", path, error.strerror)
        return ""
    return str(path.resolve())
