"""Imports under way: each is checked beside the server and stored in pieces, with its progress."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chatsite.conversations.database.work import ROWS, StorageThreads
from chatsite.conversations.files.export import import_part
from chatsite.conversations.files.export_format import KEPT, SavedMessage, SavedSettings
from chatsite.conversations.files.import_check import lines_of
from chatsite.conversations.upkeep.imports import add_imported, begin_import, finish_import
from chatsite.conversations.upkeep.maintenance import remove_imports
from chatsite.conversations.values.owners import Owner
from chatsite.errors import BadRestore, ChatsiteError
from chatsite.limits.limiter import Limiter
from chatsite.limits.table import RESTORES
from chatsite.views import ConversationView

logger = logging.getLogger("chatsite")
# A file of this size is checked in 20 ms, and a process takes 500 ms to start.
SMALL_BYTES = 200_000
LONGEST_LINE = 64 * 1024 * 1024
CHECK_SECONDS = 90.0
# A piece of long messages ends before `ROWS` of them: the writing thread counts their tokens.
PIECE_CHARACTERS = 200_000
# How long the outcome can be asked for.
REMEMBERED_SECONDS = 600.0
_ROOT = Path(__file__).parents[3]
# Nothing of the server's environment, which holds keys.
_ENVIRONMENT = {"PYTHONIOENCODING": "utf-8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportHeader:
    """What a file says besides its messages."""

    agent: str
    title: str
    count: int
    characters: int
    forget_above: int = 0
    history: Mapping[str, str] = field(default_factory=dict)
    settings: SavedSettings | None = None


# For an agent and a file: the choice to keep with the conversation, and a note. May raise NotFound.
Accept = Callable[[ImportHeader], tuple[Mapping[str, str], str]]


@dataclass(slots=True, eq=False)
class Import:
    """One import: `count` is 0 until the file is checked. It ends with a conversation or a
    problem; `note` is a sentence about the settings that apply here."""

    title: str = ""
    done: int = 0
    count: int = 0
    note: str = ""
    conversation: ConversationView | None = None
    problem: ChatsiteError | None = None
    ended: float = 0.0
    task: asyncio.Task[None] | None = None

    def to_dict(self) -> dict[str, Any]:
        problem = self.problem
        return {
            "title": self.title,
            "done": self.done,
            "count": self.count,
            "note": self.note,
            "conversation": self.conversation.to_dict() if self.conversation else None,
            "problem": {"code": problem.code, "message": problem.message} if problem else None,
        }


class Imports:
    """Lives as long as the server. `limiter` says how many there may be at the same time: each
    takes a process for some seconds, and a share of the writing thread."""

    def __init__(self, run: StorageThreads, limiter: Limiter) -> None:
        self._run = run
        self._limiter = limiter
        self._imports: dict[str, Import] = {}

    def start(self, owner: Owner, content: bytes, accept: Accept) -> Import:
        """Begin to import a file. Raises TooMany while another one of this owner is under way, or
        too many of all."""
        self._forget_old()
        places = ExitStack()
        places.enter_context(self._limiter.place(RESTORES, person=owner.key))
        found = self._imports[owner.key] = Import()
        found.task = asyncio.create_task(self._import(owner, content, accept, found))
        found.task.add_done_callback(lambda _: places.close())
        return found

    def of(self, owner: Owner) -> Import | None:
        """The owner's import under way, or the last one, as long as it is remembered."""
        self._forget_old()
        return self._imports.get(owner.key)

    async def cancel(self, owner: Owner) -> bool:
        """Stop it and remove what was stored; whether one was under way."""
        found = self._imports.pop(owner.key, None)
        if found is None or found.task is None or found.task.done():
            return False
        found.task.cancel()
        await asyncio.wait([found.task])
        return True

    async def drain(self) -> None:
        """Stop them all, at the server's end; the next start purges what is left."""
        tasks = [one.task for one in self._imports.values() if one.task and not one.task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _forget_old(self) -> None:
        now = time.monotonic()
        for key, one in list(self._imports.items()):
            if one.ended and now - one.ended > REMEMBERED_SECONDS:
                del self._imports[key]

    async def _import(self, owner: Owner, content: bytes, accept: Accept, found: Import) -> None:
        try:
            async with _checked(content) as (header, parts):
                found.title, found.count = header.title, header.count
                history, found.note = accept(header)
                found.conversation = await self._store(owner, header, history, parts, found)
        except ChatsiteError as error:
            found.problem = error
        except Exception:
            logger.exception("a conversation couldn't be restored")
            found.problem = BadRestore(f"The file couldn't be restored. {KEPT}")
        finally:
            found.ended = time.monotonic()

    async def _store(
        self,
        owner: Owner,
        header: ImportHeader,
        history: Mapping[str, str],
        parts: AsyncIterator[Sequence[SavedMessage]],
        found: Import,
    ) -> ConversationView:
        id = await self._run(
            begin_import,
            owner=owner,
            agent=header.agent,
            title=header.title,
            characters=header.characters,
            history=history,
        )
        try:
            async for saved in parts:
                part = import_part(saved)
                began = time.monotonic()
                await self._run(
                    add_imported,
                    conversation=id,
                    messages=part.messages,
                    pinned=part.pinned,
                    excluded=part.excluded,
                    unanswered=part.unanswered,
                    quoted=part.quoted,
                )
                found.done += len(saved)
                # Half of the time belongs to the others.
                if found.count > ROWS:
                    await asyncio.sleep(time.monotonic() - began)
            # A child that was killed leaves its lines unfinished.
            if found.done != found.count:
                raise BadRestore(f"The file takes too much time or memory. {KEPT}")
            return await self._run(finish_import, conversation=id, forget_above=header.forget_above)
        except BaseException:
            await asyncio.shield(self._run(remove_imports, conversation=id))
            raise


@asynccontextmanager
async def _checked(
    content: bytes,
) -> AsyncIterator[tuple[ImportHeader, AsyncIterator[Sequence[SavedMessage]]]]:
    """The file's header and its messages in pieces. Raises BadRestore."""
    if len(content) <= SMALL_BYTES:
        lines = iter(await asyncio.to_thread(lambda: list(lines_of(content))))

        async def read() -> str:
            return next(lines, "")

        yield _header(await read()), _pieces(read)
        return
    async with _child() as process:
        assert process.stdin is not None and process.stdout is not None
        out = process.stdout
        # A child that refuses early reads no further.
        with contextlib.suppress(ConnectionError):
            process.stdin.write(content)
            await process.stdin.drain()
            process.stdin.close()

        async def read_line() -> str:
            return (await out.readline()).decode().strip()

        try:
            async with asyncio.timeout(CHECK_SECONDS):
                first = await read_line()
        except TimeoutError:
            first = ""
        yield _header(first), _pieces(read_line)


@asynccontextmanager
async def _child() -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "chatsite.conversations.files.import_check"),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        cwd=_ROOT,
        env=_ENVIRONMENT,
        limit=LONGEST_LINE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def _header(line: str) -> ImportHeader:
    if not line:
        raise BadRestore(f"The file takes too much time or memory. {KEPT}")
    said = json.loads(line)
    if "refused" in said:
        raise BadRestore(said["refused"])
    settings = said.get("settings")
    return ImportHeader(
        agent=said["agent"],
        title=said["title"],
        count=said["count"],
        characters=said["characters"],
        forget_above=said.get("forget_above", 0),
        history=said.get("history", {}),
        settings=SavedSettings.model_validate(settings) if settings else None,
    )


async def _pieces(read: Callable[[], Any]) -> AsyncIterator[Sequence[SavedMessage]]:
    piece: list[SavedMessage] = []
    characters = 0
    while line := await read():
        piece.append(SavedMessage.model_validate_json(line))
        characters += len(line)
        if len(piece) == ROWS or characters >= PIECE_CHARACTERS:
            yield piece
            piece, characters = [], 0
    if piece:
        yield piece
