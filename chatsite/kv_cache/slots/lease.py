"""One request on one slot: brings the best cells for its prompt there, and keeps the books."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from array import array
from dataclasses import dataclass, field

from chatsite.kv_cache import books as kv
from chatsite.kv_cache.books import EMPTY, Book, CacheUse, Origin, Reuse
from chatsite.kv_cache.slots.sessions import Sessions
from chatsite.kv_cache.slots.slots import WORTH_RESTORING, SlotContents
from chatsite.providers.embedded.client import CompletionReader
from chatsite.providers.embedded.engine import SLOTS, RunningEngine

log = logging.getLogger("chatsite.engine")
_POLL_SECONDS = 0.02


@dataclass(slots=True)
class Lease:
    """Holds a slot for a conversation: for one request, or in the `background`.

    `pending` is the prompt that was sent to the engine and isn't answered whole yet. `forgotten`:
    what the slot holds must not be used again.
    """

    slot: int
    conversation: str
    contents: SlotContents
    sessions: Sessions | None
    running: RunningEngine
    background: bool = False
    forgotten: bool = False
    pending: Book | None = None
    completion: CompletionReader = field(default_factory=CompletionReader)
    answer: str = ""
    origin: Origin = "none"
    restored_ms: float | None = None
    # Tokens of the prompt that were read for this request before it was sent.
    read_before: int = 0

    # ---- before the request --------------------------------------------------------------------
    async def prepare(self, prompt: Book, *, head: int) -> Reuse:
        """Bring the cells that save most into the slot. The first `head` cells of the prompt are
        the agent's own, the same in each of its conversations."""
        contents = self.contents
        if contents.book is None:
            await self._start_over(prompt.cut_to(1))
        # As of now: the conversation may be forgotten meanwhile.
        owned_before = self._owns_contents
        plan = self._plan(prompt)
        saved = await self._find_better_saved(plan, prompt, head=head)
        self.origin = "slot" if owned_before else "none"
        if not owned_before:
            await self.save()
            contents.put("", contents.book, saved=True)  # nobody's, until this prompt is in it
        if saved is not None:
            await self._restore(saved, "session")
            plan = contents.plan(prompt)
        elif self.sessions is not None and plan.reused + WORTH_RESTORING <= head:
            await self._share(prompt.cut_to(head), self.sessions)
            plan = contents.plan(prompt)
        if self.origin == "none" and plan.reused >= WORTH_RESTORING and not self.read_before:
            self.origin = "shared"  # another conversation's cells begin as this prompt does
        return plan

    @property
    def _owns_contents(self) -> bool:
        return self.contents.owner == self.conversation

    def _plan(self, prompt: Book) -> Reuse:
        """Plan with what the prompt finds in the slot now."""
        if self._owns_contents:
            return self.contents.plan(prompt)
        # Of another conversation only the common beginning, whose cells are the same.
        return kv.reuse((self.contents.book or EMPTY).ids, prompt.ids, chunk=0)

    async def _find_better_saved(
        self, plan: Reuse, prompt: Book, *, head: int
    ) -> kv.Session | None:
        """Return the conversation's saved session, where the prompt finds clearly more in it than
        in the slot, and more than the agent's head, which all its conversations share."""
        if self._owns_contents and not self.contents.trimmed:
            return None
        saved = await self._find_saved(self.conversation)
        if saved is None:
            return None
        reused = self.contents.plan_from(saved.book, prompt).reused
        better = reused >= plan.reused + WORTH_RESTORING and reused + WORTH_RESTORING > head
        return saved if better else None

    async def save(self) -> bool:
        """Save the slot for its owner, unless that was done. True where a file was written."""
        contents, owner, book = self.contents, self.contents.owner, self.contents.book
        if self.sessions is None or contents.saved or book is None:
            return False
        saved = await self.sessions.save(
            self.running, self.slot, owner, conversation=owner, book=book
        )
        if contents.book is not book:  # forgotten while it was being saved
            await self.sessions.forget([owner])
            return False
        # A slot that can't be saved now won't be in a second: its tokens will be read again.
        contents.saved = True
        return saved

    async def trim(self, prompt: Book) -> CacheUse | None:
        """Cut out what the next request, which begins with `prompt`, won't have, and read the
        prompt's last token. None where there is nothing to cut, where that request has to read
        tokens anyway, and where the disk doesn't have what would be cut."""
        contents = self.contents
        plan = contents.plan(prompt)
        if not plan.shifted or plan.evaluated > 1:
            return None
        await self.save()
        if not await self._is_restorable():
            return None
        contents.put("", None)  # unknown, if this is cancelled meanwhile
        self.completion.reused = await self.running.client.prefill(
            self.slot, prompt.ids, chunk=plan.chunk
        )
        contents.put(self.conversation, prompt, saved=True)
        contents.trimmed = True
        return self.account(plan, prompt)

    async def _is_restorable(self) -> bool:
        """Whether the disk has all cells of the slot, and has room for them beside full slots."""
        contents, saved = self.contents, await self._find_saved(self.conversation)
        if self.sessions is None or saved is None or contents.book is None:
            return False
        cells = SLOTS * self.running.window
        return (contents.trimmed or saved.book == contents.book) and self.sessions.has_room(
            cells, like=saved
        )

    async def erase(self) -> bool:
        """Leave nothing in the slot but one token: the engine can erase a slot only where it may
        save slots. False, since no book is left to store."""
        self.forgotten = True
        await self.running.client.prefill(self.slot, [0])
        return False

    def release(self) -> None:
        """Give the slot up; where its words were forgotten, the next request starts over."""
        if self.forgotten:
            self.contents.put(self.conversation, None)

    async def _start_over(self, first: Book) -> None:
        """Replace everything in the slot by the prompt's first token, which costs 20 ms. The engine
        can erase a slot only where it may save slots."""
        if not await self._count_cells():
            self.contents.put("", EMPTY)
            return
        await self.running.client.prefill(self.slot, first.ids)
        self.contents.put("", first)

    async def _find_saved(self, key: str) -> kv.Session | None:
        return await self.sessions.find(self.running, key) if self.sessions else None

    async def _restore(self, session: kv.Session, origin: Origin) -> bool:
        assert self.sessions is not None
        started = time.perf_counter()
        self.contents.put("", None)  # unknown, if this is cancelled meanwhile
        if not await self.sessions.restore(self.running, self.slot, session):
            self.contents.put("", EMPTY)
            self.origin = "none"
            return False
        self.restored_ms = round((time.perf_counter() - started) * 1000, 1)
        self.contents.put(self.conversation, session.book, saved=True)
        self.origin = origin
        return True

    async def _share(self, head: Book, sessions: Sessions) -> None:
        """Read the agent's head once, and save it for all its conversations."""
        key = "head:" + hashlib.sha256(array("i", head.ids).tobytes()).hexdigest()[:32]
        saved = await self._find_saved(key)
        if saved is not None and await self._restore(saved, "shared"):
            return
        self.contents.put("", None)
        await self.running.client.prefill(self.slot, head.ids)
        self.contents.put("", head, saved=True)
        self.read_before = len(head)
        await sessions.save(self.running, self.slot, key, conversation=None, book=head)

    # ---- during the request ------------------------------------------------------------------
    def begin(self, prompt: Book, *, answer: str) -> None:
        """Note that the request is sent: the cells of its reply belong to the message `answer`."""
        self.pending, self.answer = prompt, answer

    def account(self, plan: Reuse, prompt: Book) -> CacheUse:
        """Say what the request found in the slot, once the engine has reported how much it
        reused."""
        if plan.shifted and self.completion.reused == plan.prefix > 0:
            self.contents.shifts = False  # the beginning is there, so the slot wasn't lost
        reused = (self.completion.reused or 0) - self.read_before
        return CacheUse(
            expected=plan.reused - self.read_before,
            reused=reused,
            evaluated=len(prompt) - reused,
            shifted=plan.shifted,
            cells=len(prompt),
            window=self.running.window,
            origin=self.origin,
            restored_ms=self.restored_ms,
        )

    async def settle(self) -> None:
        """Update the book to what the engine holds after a request, also after a cancelled one."""
        prompt = self.pending
        if prompt is None:
            return
        self.contents.put(self.conversation, None)
        cells = self.completion.cells
        if cells is None and self.completion.reused is not None:
            cells = await self._count_cells()
        if cells is None:  # the engine may not have begun: the next request starts over
            self.pending = None
            return
        ids = await self.completion.ids(self.running.client) or []
        book = prompt.with_answer(self.answer, ids).cut_to(cells)
        if faults := (*book.faults(), *self._report_faults(prompt)):
            log.error("the books of slot %s don't hold: %s", self.slot, "; ".join(faults))
            self.pending = None
            return
        if len(book) < cells:
            # The last cells hold tokens that weren't reported; what a prompt finds is unknown then.
            await self.running.client.prefill(self.slot, book.ids)
        self.contents.put(self.conversation, book)
        self.pending = None

    def _report_faults(self, prompt: Book) -> tuple[str, ...]:
        """Compare what the engine reported at the end with this prompt."""
        if self.completion.evaluated is None:
            return ()
        read = (self.completion.reused or 0) + self.completion.evaluated
        return () if read == len(prompt) else (f"it read {read} tokens of {len(prompt)}",)

    def refused(self) -> None:
        """Note that the engine refused the request: the slot is as it was."""
        self.pending = None

    async def _count_cells(self) -> int:
        """Count the slot's cells once it is idle. While the engine reads a batch of 512
        tokens, it doesn't notice that a request was cancelled."""
        while (state := (await self.running.client.slots())[self.slot]).busy:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_SECONDS)
        return state.cells or 0
