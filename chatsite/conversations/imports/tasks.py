"""Imports under way: each is checked beside the server and stored in pieces, with its progress."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, Any

from chatsite.conversations.files.export import import_part
from chatsite.conversations.files.export_format import SavedMessage, not_imported
from chatsite.conversations.imports.imports import add_imported, begin_import, finish_import
from chatsite.conversations.imports.reader import ImportHeader, read_checked
from chatsite.conversations.lifecycle import remove_imports
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import owner_now
from chatsite.errors import ChatsiteError
from chatsite.limits.limiter import Limiter
from chatsite.limits.table import RESTORES
from chatsite.storage import ROWS
from chatsite.views import ConversationView
from chatsite.wording import say

logger = logging.getLogger("chatsite")
# How long the outcome can be asked for.
REMEMBERED_SECONDS = 600.0

# Returns the choice to keep with the conversation, and a note for the page. May raise NotFound.
Accept = Callable[[ImportHeader], tuple[Mapping[str, str], str]]


@dataclass(slots=True, eq=False)
class Import:
    """Follows one import: `count` is 0 until the file is checked. It ends with a conversation or a
    problem; `note` is a sentence about the settings that apply here."""

    owner: Owner
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
    """Keeps the imports of all owners, as long as the server lives. `limiter` says how many there
    may be at the same time: each takes a process for some seconds, and a share of the writing
    thread."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        self._imports: dict[str, Import] = {}

    def require_place(self, owner: Owner) -> None:
        """Raise TooMany while another import of this owner is under way, or too many of all."""
        with self._limiter.place(RESTORES, person=owner.key):
            pass

    def start(self, owner: Owner, content: IO[bytes], accept: Accept) -> Import:
        """Begin to import a file on the disk, which is closed at the end. Raises TooMany."""
        self._tidy()
        with ExitStack() as stack:
            stack.enter_context(content)
            stack.enter_context(self._limiter.place(RESTORES, person=owner.key))
            file_and_place = stack.pop_all()
        one = self._imports[owner.key] = Import(owner)
        one.task = asyncio.create_task(self._import(one, content, accept))
        one.task.add_done_callback(lambda _: file_and_place.close())
        return one

    def of(self, owner: Owner) -> Import | None:
        """Return the owner's import under way, or the last one, as long as it is remembered."""
        self._tidy()
        return self._imports.get(owner_now(owner).key)

    async def cancel(self, owner: Owner) -> bool:
        """Stop it and remove what was stored. Returns whether one was under way."""
        self._tidy()
        one = self._imports.pop(owner_now(owner).key, None)
        if one is None or one.task is None or one.task.done():
            return False
        one.task.cancel()
        await asyncio.wait([one.task])
        return True

    async def drain(self) -> None:
        """Stop them all, at the server's end; the next start purges what is left."""
        tasks = [one.task for one in self._imports.values() if one.task and not one.task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _tidy(self) -> None:
        """Forget old ones; a guest's is the account's as soon as they have signed in."""
        now = time.monotonic()
        for key, one in list(self._imports.items()):
            if one.ended and now - one.ended > REMEMBERED_SECONDS:
                del self._imports[key]
            elif (account := owner_now(one.owner).key) not in self._imports:
                self._imports[account] = self._imports.pop(key)

    async def _import(self, one: Import, content: IO[bytes], accept: Accept) -> None:
        try:
            async with read_checked(content) as (header, parts):
                one.title, one.count = header.title, header.count
                history, one.note = accept(header)
                one.conversation = await self._store(one, header, history, parts)
        except ChatsiteError as error:
            one.problem = error
        except Exception:
            logger.exception("a conversation couldn't be restored")
            one.problem = not_imported(say("The file couldn't be imported."))
        finally:
            one.ended = time.monotonic()

    async def _store(
        self,
        one: Import,
        header: ImportHeader,
        history: Mapping[str, str],
        parts: AsyncIterator[Sequence[SavedMessage]],
    ) -> ConversationView:
        id = await begin_import(
            owner=owner_now(one.owner),
            agent=header.agent,
            title=header.title,
            characters=header.characters,
            history=history,
        )
        try:
            async for saved in parts:
                part = import_part(saved)
                began = time.monotonic()
                await add_imported(conversation=id, part=part)
                one.done += len(saved)
                # Half of the time belongs to the others.
                if one.count > ROWS:
                    await asyncio.sleep(time.monotonic() - began)
            # A child that was killed leaves its lines unfinished.
            if one.done != one.count:
                raise not_imported(say("The file takes too much time or memory."))
            return await finish_import(conversation=id, forget_above=header.forget_above)
        except BaseException:
            await asyncio.shield(remove_imports(conversation=id))
            raise
