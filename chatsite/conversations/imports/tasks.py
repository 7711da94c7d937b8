"""Imports under way: each is checked beside the server and stored in pieces, with its progress."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import IO
from uuid import UUID

from chatsite.conversations.files.export import import_part
from chatsite.conversations.files.export_format import SavedMessage, not_imported
from chatsite.conversations.files.uploads import require_kept_chats
from chatsite.conversations.imports.foreign import ForeignImport, is_foreign
from chatsite.conversations.imports.imports import (
    add_imported,
    begin_import,
    fail_import,
    finish_import,
    follow_import,
    give_up_import,
    note_import,
)
from chatsite.conversations.imports.reader import ImportHeader, read_checked
from chatsite.conversations.lifecycle import remove_imports
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import owner_now
from chatsite.errors import ChatsiteError
from chatsite.files.intake import Intake
from chatsite.limits.limiter import Limiter
from chatsite.limits.table import RESTORES
from chatsite.storage import ROWS
from chatsite.views import ConversationView
from chatsite.wording import say

logger = logging.getLogger("chatsite")
MOST_OWN_BYTES = 20 * 1024 * 1024
# The conversation, and a sentence about the settings that apply here.
Imported = tuple[ConversationView, str]
# Returns the choice to keep with the conversation, and a note for the page. May raise NotFound.
Accept = Callable[[ImportHeader], tuple[Mapping[str, str], str]]


class Imports:
    """The imports that this server makes; `server` gives its id. `limiter` says how many there may
    be at the same time: each takes a process for some seconds, and a share of the writing
    thread. `intake` checks the files of another program's export."""

    def __init__(self, limiter: Limiter, server: Callable[[], str], intake: Intake) -> None:
        self._limiter = limiter
        self._server = server
        self._intake = intake
        self._tasks: dict[UUID, asyncio.Task[Imported | None]] = {}

    @property
    def idle(self) -> bool:
        return not self._tasks

    def require_place(self, owner: Owner) -> None:
        """Raise Refused where no chat is kept, TooMany while another import of this owner is under
        way, or too many of all."""
        require_kept_chats()
        with self._limiter.place(RESTORES, person=owner.key):
            pass

    async def start(
        self, owner: Owner, content: IO[bytes], accept: Accept, *, agent: str = ""
    ) -> asyncio.Task[Imported | None]:
        """Begin to import a file on the disk, which is closed at the end. Chats of another program
        are `agent`'s from then on, and the task's result is None: the progress has their report.
        Raises TooMany where another import of this owner is under way, or too many of all. The task
        raises why nothing was imported."""
        with ExitStack() as stack:
            stack.enter_context(content)
            stack.enter_context(self._limiter.place(RESTORES, person=owner.key))
            id = await note_import(owner, server=self._server())
            file_and_place = stack.pop_all()
        task = self._tasks[id] = asyncio.create_task(
            self._import(id, owner, content, accept, agent)
        )

        def end(_: object) -> None:
            file_and_place.close()
            del self._tasks[id]
            if not task.cancelled():
                task.exception()  # the row has it

        task.add_done_callback(end)
        return task

    async def cancel(self, owner: Owner) -> bool:
        """Stop the owner's import and remove what was stored. Returns whether one was under way.
        Another server that makes it finds out with its next piece."""
        if (found := await give_up_import(owner)) is None:
            return False
        if (task := self._tasks.get(found.id)) is not None:
            task.cancel()
            await asyncio.wait([task])
        elif found.conversation is not None:
            await remove_imports(conversation=str(found.conversation))
        return True

    async def drain(self) -> None:
        """Stop them all, at the server's end."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _import(
        self, id: UUID, owner: Owner, content: IO[bytes], accept: Accept, agent: str
    ) -> Imported | None:
        try:
            if await asyncio.to_thread(is_foreign, content):
                await ForeignImport(id, owner, agent, self._intake).run(content)
                return None
            if os.fstat(content.fileno()).st_size > MOST_OWN_BYTES:
                raise not_imported(
                    say("A chat of Chatsite may have {most} MB.", most=MOST_OWN_BYTES // 1024**2)
                )
            async with read_checked(content) as (header, parts):
                return await _store(id, owner, header, accept, parts)
        except ChatsiteError as error:
            problem = error
        except Exception:
            logger.exception("a conversation couldn't be restored")
            problem = not_imported(say("The file couldn't be imported."))
        await fail_import(id, problem=problem)
        raise problem


async def _store(
    id: UUID,
    owner: Owner,
    header: ImportHeader,
    accept: Accept,
    parts: AsyncIterator[Sequence[SavedMessage]],
) -> Imported:
    history, note = accept(header)
    done = 0
    made = await begin_import(
        owner=owner_now(owner),
        agent=header.agent,
        title=header.title,
        characters=header.characters,
        history=history,
    )
    try:
        await follow_import(id, conversation=made, count=header.count, note=note)
        async for saved in parts:
            part = await asyncio.to_thread(import_part, saved)
            began = time.monotonic()
            await add_imported(conversation=made, part=part)
            done += len(saved)
            # Half of the time belongs to the others.
            if header.count > ROWS:
                await asyncio.sleep(time.monotonic() - began)
        # A child that was killed leaves its lines unfinished.
        if done != header.count:
            raise not_imported(say("The file takes too much time or memory."))
        finished = await finish_import(
            conversation=made,
            forget_above=header.forget_above,
            pinned=header.pinned,
            archived=header.archived,
            folder=header.folder,
        )
        return finished, note
    except BaseException:
        await asyncio.shield(remove_imports(conversation=made))
        raise
