"""The files of an export: one JSON file, or a ZIP of JSON files and of what was attached."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

from chatsite.conversations.imports.formats.values import FileRef
from chatsite.messages import MAX_ATTACHMENT_BYTES

# Of all JSON files together.
MOST_TEXT_BYTES = 1024 * 1024 * 1024
# ChatGPT puts a file's id before its name.
_ID = re.compile(r"(file[-_][A-Za-z0-9]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
BAD_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)


class TooLarge(ValueError):
    """The JSON files of an archive are larger together than `MOST_TEXT_BYTES`."""


class Archive:
    """A file that may be a ZIP; its entries are found by their content, not by their names."""

    def __init__(self, file: IO[bytes]) -> None:
        file.seek(0)
        self._file = file
        self._zip = zipfile.ZipFile(file) if file.read(4)[:2] == b"PK" else None
        self._texts: list[zipfile.ZipInfo] = []
        self._attached: dict[str, zipfile.ZipInfo] = {}
        file.seek(0)
        for entry in self._zip.infolist() if self._zip else ():
            name = entry.filename.rpartition("/")[2]
            if entry.is_dir() or name.startswith(".") or "__MACOSX" in entry.filename:
                continue
            if self._is_json(entry):
                self._texts.append(entry)
            self._attached.setdefault(name, entry)
            if found := _ID.match(name):
                self._attached.setdefault(found[1], entry)
        if sum(entry.file_size for entry in self._texts) > MOST_TEXT_BYTES:
            raise TooLarge

    def _is_json(self, entry: zipfile.ZipInfo) -> bool:
        assert self._zip is not None
        if entry.flag_bits & 1:
            return entry.filename.endswith((".json", ".jsonl"))  # encrypted: reading it says so
        try:
            with self._zip.open(entry) as opened:
                return opened.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")
        except BAD_ZIP:
            return False

    def texts(self) -> Iterator[tuple[str, IO[bytes]]]:
        """The JSON files with their names, one after another."""
        if self._zip is None:
            yield "", self._file
        for entry in self._texts:
            with self._zip.open(entry) as opened:  # type: ignore[union-attr]
                yield entry.filename, opened

    def attached(self, file: FileRef) -> bytes | None:
        """The content of a message's file; None where it isn't here, or can't be read."""
        if file.data is not None:
            return file.data if len(file.data) <= MAX_ATTACHMENT_BYTES else None
        entry = self._attached.get(file.key) or self._attached.get(file.name)
        if entry is None or self._zip is None or not 0 < entry.file_size <= MAX_ATTACHMENT_BYTES:
            return None
        try:
            return self._zip.read(entry)
        except BAD_ZIP:
            return None

    def name_of(self, file: FileRef) -> str:
        """The name to keep: that of the archive where the message has none but its key."""
        entry = self._attached.get(file.key)
        if file.name != file.key or entry is None:
            return file.name
        return entry.filename.rpartition("/")[2]
