"""One request on one slot: what lies there is made to fit the prompt, and the books follow."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from array import array
from dataclasses import dataclass, field

from chatsite import kv
from chatsite.kv import EMPTY, Account, Book, Origin, Reuse
from chatsite.providers.embedded.cache.sessions import Sessions
from chatsite.providers.embedded.completion import Completion
from chatsite.providers.embedded.engine import SLOTS, RunningEngine

log = logging.getLogger("chatsite.engine")
# To read 64 tokens takes a third of a second here, to bring a session back some milliseconds; for
# fewer neither file nor restoring pays.
WORTH = 64
_LOOK_EVERY = 0.02


@dataclass(slots=True)
class SlotContents:
    """What is known of a slot. `book` is None where nobody knows what lies there; `kept` says that
    it needn't be saved: it is on disk as it is, or nobody's. `trimmed`: what was saved has more
    than this. `shifts` is False once the engine didn't shift what it was to: with some models it
    can't."""

    running: RunningEngine | None = None
    owner: str = ""
    book: Book | None = EMPTY
    kept: bool = True
    trimmed: bool = False
    shifts: bool = True

    def plan(self, prompt: Book) -> Reuse:
        """For the conversation's own slot."""
        return self.plan_from(self.book or EMPTY, prompt)

    def plan_from(self, live: Book, prompt: Book) -> Reuse:
        return kv.plan(live, prompt) if self.shifts else kv.reuse(live.ids, prompt.ids, chunk=0)

    def put(self, owner: str, book: Book | None, *, kept: bool = False) -> None:
        self.owner, self.book = owner, book
        self.kept = kept or book is None or len(book) < WORTH
        self.trimmed = False


@dataclass(slots=True)
class Lease:
    """A conversation's hold on a slot: for one request, or `aside` for what nobody waits for.
    `pending` is the prompt that the engine has been given and hasn't answered whole; `forgotten`:
    what is in the slot must not be used once more."""

    slot: int
    conversation: str
    held: SlotContents
    sessions: Sessions | None
    running: RunningEngine
    aside: bool = False
    forgotten: bool = False
    pending: Book | None = None
    completion: Completion = field(default_factory=Completion)
    answer: str = ""
    origin: Origin = "none"
    restored_ms: float | None = None
    # Of the prompt, read for this request before it was asked.
    read_before: int = 0

    # ---- before the request --------------------------------------------------------------------
    async def prepare(self, prompt: Book, *, head: int) -> Reuse:
        """Bring what saves most into the slot. The first `head` cells of the prompt are the agent's
        own, the same in each of its conversations."""
        held = self.held
        if held.book is None:
            await self._start_over(prompt.cut_to(1))
        own, live = held.owner == self.conversation, held.book or EMPTY
        # Of what is another's only the beginning, which is the same whatever follows.
        plan = held.plan(prompt) if own else kv.reuse(live.ids, prompt.ids, chunk=0)
        saved = await self._saved(self.conversation) if not own or held.trimmed else None
        there = held.plan_from(saved.book, prompt).reused if saved else 0
        if not own:
            await self.save()
            held.put("", held.book, kept=True)  # nobody's, until this prompt is in it
        self.origin = "slot" if own else "none"
        if saved is not None and there >= plan.reused + WORTH and there + WORTH > head:
            await self._restore(saved, "session")
            plan = held.plan(prompt)
        elif plan.reused + WORTH <= head and self.sessions is not None:
            await self._share(prompt.cut_to(head), self.sessions)
            plan = held.plan(prompt)
        if self.origin == "none" and plan.reused >= WORTH and not self.read_before:
            self.origin = "shared"  # what another conversation left begins as this one does
        return plan

    async def save(self) -> bool:
        """Keep what lies here for its owner, unless it is kept."""
        held, owner, book = self.held, self.held.owner, self.held.book
        if self.sessions is None or held.kept or book is None:
            return False
        saved = await self.sessions.save(
            self.running, self.slot, owner, conversation=owner, book=book
        )
        if held.book is not book:  # it was forgotten meanwhile
            await self.sessions.forget([owner])
            return False
        # What couldn't be saved now can't be in a second either: it is read again one day.
        held.kept = True
        return saved

    async def trim(self, prompt: Book) -> Account | None:
        """Cut out now what the next request, which begins with `prompt`, won't have; the prompt's
        last token is read. None where there is nothing to cut, where that request has to read
        anyway, and where the disk doesn't keep what would go: it may be wanted after all."""
        held = self.held
        plan = held.plan(prompt)
        if not plan.shifted or plan.evaluated > 1:
            return None
        await self.save()
        if not await self._can_be_had_again():
            return None
        held.put("", None)  # whoever cancels this leaves a slot that nobody knows
        self.completion.reused = await self.running.client.prefill(
            self.slot, prompt.ids, chunk=plan.chunk
        )
        held.put(self.conversation, prompt, kept=True)
        held.trimmed = True
        return self.account(plan, prompt)

    async def _can_be_had_again(self) -> bool:
        """Whether all that lies in the slot is on disk, and stays there while it lies here."""
        held, saved = self.held, await self._saved(self.conversation)
        if self.sessions is None or saved is None or held.book is None:
            return False
        cells = SLOTS * self.running.window
        return (held.trimmed or saved.book == held.book) and self.sessions.hold(cells, like=saved)

    def let_go(self) -> None:
        """Whoever has the slot next begins with an empty one, where this was forgotten."""
        if self.forgotten:
            self.held.put("", None)

    async def _start_over(self, first: Book) -> None:
        """Whatever lies in the slot makes room for the prompt's first token. The engine erases a
        slot only where it may save slots, too; to read one token costs 20 ms."""
        if not await self._cells():
            self.held.put("", EMPTY)
            return
        await self.running.client.prefill(self.slot, first.ids)
        self.held.put("", first)

    async def _saved(self, key: str) -> kv.Session | None:
        return await self.sessions.find(self.running, key) if self.sessions else None

    async def _restore(self, session: kv.Session, origin: Origin) -> bool:
        assert self.sessions is not None
        started = time.perf_counter()
        self.held.put("", None)  # whoever cancels this leaves a slot that nobody knows
        if not await self.sessions.restore(self.running, self.slot, session):
            self.held.put("", EMPTY)
            self.origin = "none"
            return False
        self.restored_ms = round((time.perf_counter() - started) * 1000, 1)
        self.held.put(self.conversation, session.book, kept=True)
        self.origin = origin
        return True

    async def _share(self, head: Book, sessions: Sessions) -> None:
        """The agent's beginning is read once and kept for all its conversations."""
        key = "head:" + hashlib.sha256(array("i", head.ids).tobytes()).hexdigest()[:32]
        found = await self._saved(key)
        if found is not None and await self._restore(found, "shared"):
            return
        self.held.put("", None)
        await self.running.client.prefill(self.slot, head.ids)
        self.held.put("", head, kept=True)
        self.read_before = len(head)
        await sessions.save(self.running, self.slot, key, conversation=None, book=head)

    # ---- while it is answered ------------------------------------------------------------------
    def asks(self, prompt: Book, *, answer: str) -> None:
        """The request goes out now; the answer's cells belong to `answer`."""
        self.pending, self.answer = prompt, answer

    def account(self, plan: Reuse, prompt: Book) -> Account:
        """What the request did, once the engine has said how much it reused."""
        if plan.shifted and self.completion.reused == plan.prefix > 0:
            self.held.shifts = False  # a slot that was lost has no beginning either
        reused = (self.completion.reused or 0) - self.read_before
        return Account(
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
        """Write down what the engine holds after a request, also one that was broken off."""
        prompt = self.pending
        if prompt is None:
            return
        self.held.put(self.conversation, None)
        cells = self.completion.cells
        if cells is None and self.completion.reused is not None:
            cells = await self._cells()
        if cells is None:  # it may not even have begun: the next request starts over
            self.pending = None
            return
        ids = await self.completion.ids(self.running.client) or []
        book = prompt.answered(self.answer, ids).cut_to(cells)
        if faults := (*book.faults(), *self._faults(prompt)):
            log.error("the books of slot %s don't hold: %s", self.slot, "; ".join(faults))
            self.pending = None
            return
        if len(book) < cells:
            # It holds ids that nobody was told: with them no reuse could be foretold.
            await self.running.client.prefill(self.slot, book.ids)
        self.held.put(self.conversation, book)
        self.pending = None

    def _faults(self, prompt: Book) -> tuple[str, ...]:
        """What the engine reported at its end must be about this prompt."""
        if self.completion.evaluated is None:
            return ()
        read = (self.completion.reused or 0) + self.completion.evaluated
        return () if read == len(prompt) else (f"it read {read} tokens of {len(prompt)}",)

    def refused(self) -> None:
        """The engine didn't take the request: what lies in the slot is what lay there."""
        self.pending = None

    async def _cells(self) -> int:
        """How many cells the slot holds once it rests: while it reads, 512 tokens at a time, it
        doesn't look up."""
        while (state := (await self.running.client.slots())[self.slot]).busy:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_EVERY)
        return state.cells or 0
