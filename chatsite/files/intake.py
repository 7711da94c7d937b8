"""Receives a file: writes its bytes as they arrive, then has the file inspected."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from weakref import WeakValueDictionary

from chatsite.child_process import child_process
from chatsite.errors import BadCommand, Refused, TooMany
from chatsite.files.folder import Folder, discard, opened
from chatsite.files.kinds import PDF, TOO_LARGE, TOO_LARGE_MEASURED, Damaged, Kind, NotTaken
from chatsite.files.texts import ENDING, NOTES, NOTHING_CUT, FileNote, cut_after
from chatsite.messages import MAX_ATTACHMENT_BYTES
from chatsite.wording import say

logger = logging.getLogger("chatsite.files")
WRITE_BYTES = 1024 * 1024
# Of one owner; further files wait.
AT_ONCE_PER_OWNER = 3
# Of one owner, with those that wait: a message's ten, and two that are being cancelled.
UNDER_WAY_PER_OWNER = 12
# Of all owners, with those that wait: each takes up to 50 MB of the disk.
AT_ONCE = 60
# One of each owner: somebody whose PDFs take half a minute each keeps nobody else waiting.
LOOKS_AT_ONCE = 3
# Anybody can make any number of guests, so all guests together never get every place.
GUESTS_AT_ONCE = 40
GUESTS_LOOKS = 2
LOOK_SECONDS = 35.0
SILENCE_SECONDS = 30.0
# Bytes a second on average: the slowest phone has more. 50 MB then take two hours at most.
LEAST_RATE = 8_000
# Bytes of the disk that stay free for answers and logs.
KEPT_FREE = 500 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedFile:
    """A file that arrived whole and was inspected. It stays at `path` until it is stored.

    `note` says as what a text was read that doesn't say it itself, and which part of a file wasn't.
    """

    path: Path
    size: int
    kind: Kind
    width: int = 0
    height: int = 0
    text: str = field(default="", repr=False)
    note: str = ""


class _Owner:
    """The uploads of one person; `files` counts those that wait, too."""

    def __init__(self) -> None:
        self.files = 0
        self.coming = asyncio.Semaphore(AT_ONCE_PER_OWNER)
        self.look = asyncio.Lock()


@dataclass(eq=False)
class Intake:
    """Receives files; lives as long as the server. `silence` and `look` are in seconds, `rate` in
    bytes a second, `kept_free` in bytes."""

    root: Path
    silence: float = SILENCE_SECONDS
    look: float = LOOK_SECONDS
    rate: int = LEAST_RATE
    kept_free: int = KEPT_FREE

    def __post_init__(self) -> None:
        self._folder = Folder(self.root)
        self._owners: WeakValueDictionary[str, _Owner] = WeakValueDictionary()
        self._looks = asyncio.Semaphore(LOOKS_AT_ONCE)
        self._guests_looks = asyncio.Semaphore(GUESTS_LOOKS)
        self._under_way = 0
        self._of_guests = 0

    @asynccontextmanager
    async def taken(
        self, blocks: AsyncIterator[bytes], *, owner: str, guest: bool = False
    ) -> AsyncIterator[ReceivedFile]:
        """The file in `blocks`; after the `with` block an upload that wasn't stored is deleted.

        Raises BadCommand for a file that isn't accepted, Refused where it arrives too slowly or the
        disk is full, TooMany.
        """
        mine = self._owners.setdefault(owner, _Owner())
        with self._place(mine, guest=guest):
            path = self._folder.coming()
            try:
                async with mine.coming:
                    size = await self._written(path, blocks)
                    share = self._guests_looks if guest else nullcontext()
                    async with mine.look, share, self._looks:
                        found = await _looked_into(path, seconds=self.look)
                    yield _taken(path, size, found)
            finally:
                discard(path)

    @contextmanager
    def _place(self, mine: _Owner, *, guest: bool) -> Iterator[None]:
        """Count the upload among those under way. Raises TooMany."""
        if mine.files >= UNDER_WAY_PER_OWNER:
            raise TooMany(
                say(
                    "{under_way_per_owner} of your files are on their way already. Wait until "
                    "they are here, or take some of them off.",
                    under_way_per_owner=UNDER_WAY_PER_OWNER,
                )
            )
        if self._under_way >= AT_ONCE or (guest and self._of_guests >= GUESTS_AT_ONCE):
            raise TooMany(say("Too many files are on their way here. Try again in a minute."))
        mine.files += 1
        self._under_way += 1
        self._of_guests += guest
        try:
            yield
        finally:
            mine.files -= 1
            self._under_way -= 1
            self._of_guests -= guest

    async def _written(self, path: Path, blocks: AsyncIterator[bytes]) -> int:
        size = 0
        waiting = bytearray()
        began = time.monotonic()
        with opened(path) as file:
            while True:
                try:
                    async with asyncio.timeout(self.silence):
                        block = await anext(blocks, b"")
                except TimeoutError:
                    raise Refused(
                        say(
                            "Nothing of the file came for {seconds:g} seconds. Nothing was kept; "
                            "attach it again.",
                            seconds=self.silence,
                        ),
                        code="too_slow",
                    ) from None
                size += len(block)
                if size > MAX_ATTACHMENT_BYTES:
                    raise BadCommand(too_large(), code="too_large")
                seconds = time.monotonic() - began
                if block and seconds > self.silence and size < seconds * self.rate:
                    raise Refused(
                        say(
                            "The file came too slowly, by less than {rate:,} bytes a second. "
                            "Nothing was kept; attach it again.",
                            rate=self.rate,
                        ),
                        code="too_slow",
                    )
                waiting += block
                if waiting and (not block or len(waiting) >= WRITE_BYTES):
                    await asyncio.to_thread(self._append, file, bytes(waiting))
                    waiting.clear()
                if not block:
                    break
        if not size:
            raise BadCommand(say("This file is empty. Nothing was kept."), code="file_empty")
        return size

    def _append(self, file: IO[bytes], data: bytes) -> None:
        """Raises Refused where too little of the disk would be left."""
        free = shutil.disk_usage(self._folder.root).free
        if free - len(data) < self.kept_free:
            logger.error("no files are taken: %d MB of the disk are free", free // 1024**2)
            raise Refused(
                say(
                    "This server's disk is nearly full, so it takes no files now. Nothing was kept."
                ),
                code="disk_full",
            )
        file.write(data)


def too_large() -> str:
    return say(
        "A file may have {most} MB. This one is larger. Nothing was kept.",
        most=MAX_ATTACHMENT_BYTES // 1024**2,
    )


async def _looked_into(path: Path, *, seconds: float) -> dict[str, Any]:
    """The child process's answer. It ends with this call, however that ends."""
    found: dict[str, Any] = {}
    async with child_process("chatsite.files.inspector", str(path)) as process:
        assert process.stdout is not None
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                async for line in process.stdout:
                    if line.endswith(b"\n"):  # else it was ended while it wrote
                        found |= json.loads(line)
    return found


def _taken(path: Path, size: int, found: dict[str, Any]) -> ReceivedFile:
    """Raises BadCommand with what the child refused it for, or where it ended too early."""
    if "not_taken" in found:
        raise NotTaken(found["not_taken"])
    if "damaged" in found:
        # No other text of the child is a pattern for values: who has taken it over could ask for
        # gigabytes of blanks.
        measured = found["damaged"] in (TOO_LARGE, TOO_LARGE_MEASURED)
        raise Damaged(found["damaged"], **(found["values"] if measured else {}))
    note = found.get("note", NOTHING_CUT)
    if "whole" not in found:
        # A PDF's text so far is worth having, and the PDF itself may be fine for a model.
        if found.get("mime_type") != PDF or "pages" not in found:
            raise BadCommand(
                say("This file can't be read: it took too much time or memory. Nothing was kept."),
                code="file_damaged",
            )
        note = cut_after(found.get("page", 0), found["pages"])
    beside = path.with_suffix(ENDING)
    text = beside.read_text("utf-8", "ignore").strip() if beside.exists() else ""
    told = FileNote(*note) if note[0] in NOTES else NOTHING_CUT
    if told.text and text:
        # A model reads it: in English, whoever attached it.
        text += f"\n\n[{told.in_english}]"
    return ReceivedFile(
        path=path,
        size=size,
        kind=Kind(found["modality"], found["mime_type"]),
        width=found.get("width", 0),
        height=found.get("height", 0),
        text=text,
        note=told.for_people(read_as=str(found.get("codec", ""))),
    )
