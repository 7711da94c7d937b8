"""Sessions: slots that were saved to disk, one file each, in a folder with a limit in bytes.

A file is only a cache. A doubtful file is removed, and the engine reads the conversation's tokens
again: saving, finding and restoring never raise, and no answer waits for a repair.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from chatsite.kv_cache.books import Book, Session, SessionFile, outdated
from chatsite.kv_cache.session_files import SessionFolder, UnusableFile
from chatsite.providers.embedded.client import ENGINE_ERRORS, EngineRefused
from chatsite.providers.embedded.engine import RunningEngine

log = logging.getLogger("chatsite.engine")
_FAILURES = (*ENGINE_ERRORS, OSError)


class SessionRecords(Protocol):
    """Names the functions of `kv_cache.saved_sessions`: the rows of the files."""

    async def read_session(self, *, key: str) -> Session | None: ...

    async def may_save(self, *, conversation: str) -> bool:
        """Return False for one of which no file may be made."""

    async def save_session(self, *, conversation: str | None, session: Session) -> bool:
        """Return False where words in it were deleted meanwhile: its file must be removed."""

    async def touch_session(self, *, key: str) -> None: ...

    async def drop_sessions(self, *, keys: Iterable[str]) -> Sequence[str]:
        """Return the names of their files."""

    async def list_sessions(self) -> Sequence[SessionFile]: ...

    async def session_files(self) -> Collection[str]: ...


class Sessions:
    """Keeps the session files in `folder`, at most `limit` bytes together, and their rows."""

    def __init__(self, folder: Path, *, limit: int, rows: SessionRecords) -> None:
        self._folder = SessionFolder(folder)
        self._limit = limit
        self._rows = rows
        self._cell_bytes = 0
        self._unwritable = False
        # Held while saving, dropping and evicting: a row and its file change together.
        self._changing = asyncio.Lock()

    async def save(
        self, running: RunningEngine, slot: int, key: str, *, conversation: str | None, book: Book
    ) -> bool:
        """Save a slot under `key`, replacing the session there. `conversation` is None for the head
        of an agent. The slot must be idle, and `book` describe its cells. False where it failed."""
        if not book.ids or book.faults() or len(book) * self._cell_bytes > self._limit:
            return False
        name = f"{uuid.uuid4().hex}.bin"
        try:
            async with self._changing:
                if conversation and not await self._rows.may_save(conversation=conversation):
                    raise UnusableFile("nothing of its conversation is kept")
                session = await self._write(running, slot, name, key=key, book=book)
                await self._claim(session, conversation)
                await self._evict()
                self._unwritable = False
        except UnusableFile as fault:
            log.info("a cache of %d cells is not kept: %s", len(book), fault)
        except _FAILURES as error:
            if not self._unwritable:  # once: a full disk would fill the log too
                log.error(
                    "the cache can't be saved to %s: %s", self._folder.path, _describe_error(error)
                )
            self._unwritable = True
        except Exception:
            log.exception("the cache couldn't be saved")
        finally:
            # Also where the caller was cancelled. Not in a thread: nothing may happen in between.
            if not self._folder.trusts(name):
                self._folder.remove([name])
        return self._folder.trusts(name)

    async def find(self, running: RunningEngine, key: str) -> Session | None:
        """Return the session under `key`, if this engine can read it."""
        try:
            session = await self._rows.read_session(key=key)
            if session is None:
                return None
            try:
                if session.fingerprint != str(running.kv):
                    raise UnusableFile(
                        f"it is of {session.fingerprint}, this engine is {running.kv}"
                    )
                await asyncio.to_thread(self._folder.measure, session)
            except UnusableFile as fault:
                await self._discard(session, str(fault))
                return None
        except Exception:
            log.exception("a saved cache couldn't be looked up")
            return None
        return session

    async def restore(self, running: RunningEngine, slot: int, session: Session) -> bool:
        """Load `session` into a slot. Where it returns False the slot is empty."""
        try:
            await asyncio.to_thread(self._folder.verify, session)
            cells = await running.client.restore(slot, session.file)
            if cells != len(session.book):
                raise UnusableFile(f"it holds {cells} cells, its book {len(session.book)}")
        except UnusableFile as fault:
            await self._discard(session, str(fault))
        except EngineRefused as error:
            await self._discard(session, f"the engine refuses it ({error})")
        except _FAILURES as error:
            # The engine has ended, perhaps because of this file.
            await self._discard(session, f"the engine didn't read it ({_describe_error(error)})")
        else:
            try:
                await self._rows.touch_session(key=session.key)
            except Exception:
                log.exception("a saved cache's last use couldn't be stored")
            return True
        try:
            await running.client.erase(slot)
        except _FAILURES as error:
            log.warning(
                "slot %d of the engine couldn't be emptied: %s", slot, _describe_error(error)
            )
        return False

    def has_room(self, cells: int, *, like: Session) -> bool:
        """Whether the limit allows so many cells, each as large as those of `like`."""
        return like.size * cells <= self._limit * len(like.book)

    async def forget(self, keys: Iterable[str]) -> None:
        """Remove the sessions under these keys, rows and files."""
        async with self._changing:
            await self._drop(keys)

    async def sweep(self) -> None:
        """Remove files without a row, rows without a file, and the oldest beyond the limit."""
        async with self._changing:
            claimed = await self._rows.session_files()
            await asyncio.to_thread(self._folder.remove_unclaimed, claimed)
            if lost := set(claimed) - await asyncio.to_thread(self._folder.names):
                await self._drop_lost(lost)
            await self._evict()

    async def _write(
        self, running: RunningEngine, slot: int, name: str, *, key: str, book: Book
    ) -> Session:
        """Write the file, and return its session. Raises UnusableFile where its content is
        wrong."""
        report = await running.client.save(slot, name)
        size, digest = await asyncio.to_thread(self._folder.size_and_checksum, name)
        if report.cells != len(book):
            raise UnusableFile(f"the slot holds {report.cells}")
        if size != report.size:
            raise OSError(f"only {size} of {report.size} bytes were taken")
        self._cell_bytes = size // report.cells
        if size > self._limit:
            raise UnusableFile(
                f"it takes {size} bytes, all of them together may take {self._limit}"
            )
        return Session(
            key=key,
            fingerprint=str(running.kv),
            book=book,
            file=name,
            size=size,
            digest=digest,
        )

    async def _claim(self, session: Session, conversation: str | None) -> None:
        """Store the row, and remove the file that had the key before."""
        former = await self._rows.read_session(key=session.key)
        if not await self._rows.save_session(conversation=conversation, session=session):
            raise UnusableFile("what it holds was changed or taken away meanwhile")
        self._folder.trust(session.file)
        if former is not None:
            await self._remove([former.file])

    async def _evict(self) -> None:
        if keys := outdated(await self._rows.list_sessions(), limit=self._limit):
            await self._drop(keys)

    async def _drop(self, keys: Iterable[str]) -> None:
        await self._remove(await self._rows.drop_sessions(keys=list(keys)))

    async def _drop_lost(self, files: set[str]) -> None:
        """Drop the rows of missing files: somebody removed them, or restored an older database."""
        for one in await self._rows.list_sessions():
            session = await self._rows.read_session(key=one.key)
            if session is None or session.file in files:
                await self._drop([one.key])

    async def _discard(self, session: Session, why: str) -> None:
        """Remove row and file, unless the key has another file by now."""
        log.warning("the saved cache %s is not used: %s", session.file, why)
        try:
            async with self._changing:
                now = await self._rows.read_session(key=session.key)
                if now is not None and now.file == session.file:
                    await self._drop([session.key])
                await self._remove([session.file])
        except Exception:
            log.exception("the saved cache %s couldn't be removed", session.file)

    async def _remove(self, files: Iterable[str]) -> None:
        await asyncio.to_thread(self._folder.remove, list(files))


def _describe_error(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
