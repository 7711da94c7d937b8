"""Finds older messages by their words, in an index of each conversation that grows with it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from chatsite.conversations.values.records import IndexLines, IndexProgress
from chatsite.history import Evidence
from chatsite.history.lexical.index import Index, Line
from chatsite.history.lexical.ranking import question_in_chat, recall_messages
from chatsite.history.policies.lexical import LEXICAL
from chatsite.history.values.evidence import Hit, Recall
from chatsite.history.values.marks import (
    excluded_answers,
    is_excluded,
    is_unloaded,
    remembered_from,
)
from chatsite.history.values.transcript import Entry, split_turns
from chatsite.providers.tokens.passage_vectors import PassageVectors
from chatsite.providers.tokens.sentence_vectors import SentenceVectors
from chatsite.turns.context.gatherer import DecisionInputs
from chatsite.turns.ports import TurnOwner, WorkRunner

logger = logging.getLogger("chatsite.turns")

# An index that lacks more messages than this is completed beside the turn: 2,000 of them take
# half a second, and nobody should wait longer for the first word of an answer.
COLD = 2_000
# How many messages are read at once then.
CHUNK = 500
# Below these, work takes a few milliseconds, no more than a thread's turn would.
_INLINE_LINES, _INLINE_PASSAGES = 20, 300
# Bytes, about, that all indexes may take; the one used longest ago goes first. A conversation of
# 600 messages takes 0.4 MB (1 MB with vectors), one of 50,000 5 MB (60 MB).
MEMORY = 128 * 1024 * 1024

_COLD_NOTE = (
    "The {count:,} messages so far are being read for the first time. Until that is done, the "
    "newest turns are sent and none is recalled."
)
_FAILED_NOTE = "The older messages couldn't be searched, so the newest turns are sent."


class IndexReader(Protocol):
    """What an index reads; `conversations.reads.search_index` is one."""

    def index_progress(self, *, owner: Any, conversation: str, last: int) -> IndexProgress: ...
    def lines_between(
        self, *, owner: Any, conversation: str, after: int, before: int, most: int
    ) -> IndexLines: ...


@dataclass(slots=True, kw_only=True)
class CachedIndex:
    """A conversation's index. `messages` stood on the path up to its end when it was made.

    The lock is held as long as somebody reads or changes it, in whichever thread; while
    `waiting` is not 0 a task of its own completes it, and nobody else may.
    """

    index: Index
    vectors: PassageVectors | None
    messages: int = 0
    waiting: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def size(self) -> int:
        return self.index.size + (self.vectors.size if self.vectors else 0)

    def extend(self, lines: Sequence[Line]) -> None:
        texts = self.index.extend(lines)
        if self.vectors is not None:
            self.vectors.add(texts)

    def cut(self, seq: int) -> None:
        self.index.cut(seq)
        if self.vectors is not None:
            self.vectors.cut(len(self.index))


class Recaller:
    """The gatherer for the policy `relevant` with the selector `lexical`."""

    def __init__(
        self,
        *,
        run: WorkRunner,
        reads: IndexReader,
        vectors: SentenceVectors | None = None,
        memory: int = MEMORY,
    ) -> None:
        self._run = run
        self._reads = reads
        self._vectors = vectors
        self._memory = memory
        self._kept: OrderedDict[str, CachedIndex] = OrderedDict()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def gather(self, gathering: DecisionInputs) -> Evidence:
        """The hits for the current message; where none could be looked for, a note says why."""
        # Stop must not leave a thread at work in an index whose lock is free.
        evidence: Evidence = await asyncio.shield(self._task(self._gathered(gathering)))
        return evidence

    def forget(self, conversation: str) -> None:
        """Drop what is kept of it: a message in it was changed or deleted."""
        self._kept.pop(conversation, None)

    async def drain(self) -> None:
        """Wait for nothing new: end what is still being read."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _task(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _gathered(self, gathering: DecisionInputs) -> Evidence:
        began = time.perf_counter()
        id = gathering.conversation
        try:
            kept = self._taken(id)
            async with kept.lock:
                added = 0 if kept.waiting else await self._follow(kept, gathering)
                if kept.waiting:
                    return Evidence(notes=(_COLD_NOTE.format(count=kept.waiting),))
                hits = await self._hits(kept, gathering)
        except Exception:
            logger.exception("the older messages of %s couldn't be searched", id)
            self.forget(id)
            return Evidence(notes=(_FAILED_NOTE,))
        finally:
            self._shrink()
        report = {
            "passages": len(kept.index),
            "added": added,
            "hits": len(hits),
            "vectors": self._vectors.name if self._vectors else None,
            "milliseconds": round(1000 * (time.perf_counter() - began), 1),
        }
        return Evidence(recall=Recall(hits=hits), reports={LEXICAL.evidence: report})

    # ---- keeping indexes ---------------------------------------------------------------------
    def _taken(self, conversation: str) -> CachedIndex:
        """The conversation's index, maybe empty, as the one used last."""
        kept = self._kept.get(conversation) or self._new()
        self._kept[conversation] = kept
        self._kept.move_to_end(conversation)
        return kept

    def _new(self) -> CachedIndex:
        index = Index()
        vectors = PassageVectors(self._vectors, index) if self._vectors else None
        return CachedIndex(index=index, vectors=vectors)

    def _shrink(self) -> None:
        """Drop indexes used longest ago until the rest has room; never the last used one."""
        sizes = {id: kept.size for id, kept in self._kept.items()}
        size = sum(sizes.values())
        for id, kept in list(self._kept.items())[:-1]:
            if size <= self._memory:
                return
            if not kept.waiting:
                size -= sizes[id]
                self.forget(id)

    # ---- following the path ------------------------------------------------------------------
    async def _follow(self, kept: CachedIndex, gathering: DecisionInputs) -> int:
        """Bring the index up to the current message; how many messages came to it.

        Where too many are missing, a task is begun that adds them, and `kept.waiting` says so.
        """
        owner, id = gathering.owner, gathering.conversation
        now = await self._stand(kept, owner, id)
        if kept.index.last and not self._holds(kept, now):
            now = await self._stand(kept, owner, id)
        before = _current(gathering).seq
        if now.waiting > COLD:
            kept.waiting = now.waiting
            self._task(self._complete(kept, owner, id, before))
            return 0
        return await self._add(kept, owner, id, before=before, most=COLD)

    async def _stand(self, kept: CachedIndex, owner: TurnOwner, conversation: str) -> IndexProgress:
        return await self._run(
            self._reads.index_progress, owner=owner, conversation=conversation, last=kept.index.last
        )

    def _holds(self, kept: CachedIndex, now: IndexProgress) -> bool:
        """Whether all of the index is on the path; what isn't is taken out.

        Up to the newest message that is in both, index and path are the same: a message's place
        in the tree fixes all above it. But for what was deleted there: then fewer are left.
        """
        if now.newest[:1] == (kept.index.last,) and now.messages == kept.messages:
            return True
        known = set(kept.index.seqs)
        common = next((seq for seq in now.newest if seq in known), 0)
        kept.cut(0 if common == kept.index.last else common)
        return False

    async def _add(
        self, kept: CachedIndex, owner: TurnOwner, conversation: str, *, before: int, most: int
    ) -> int:
        found = await self._run(
            self._reads.lines_between,
            owner=owner,
            conversation=conversation,
            after=kept.index.last,
            before=before,
            most=most,
        )
        if kept.vectors is None and len(found.lines) <= _INLINE_LINES:
            kept.extend(found.lines)
        else:
            await asyncio.to_thread(kept.extend, found.lines)
        kept.messages = found.messages
        return len(found.lines)

    async def _complete(
        self, kept: CachedIndex, owner: TurnOwner, conversation: str, before: int
    ) -> None:
        try:
            while await self._add(kept, owner, conversation, before=before, most=CHUNK):
                pass
        except Exception:
            logger.exception("the messages of %s couldn't be read", conversation)
            self.forget(conversation)
        finally:
            kept.waiting = 0
            self._shrink()

    # ---- asking ------------------------------------------------------------------------------
    async def _hits(self, kept: CachedIndex, gathering: DecisionInputs) -> tuple[Hit, ...]:
        entries, current = gathering.transcript.entries, _current(gathering)
        search = partial(
            recall_messages,
            kept.index,
            question_in_chat(current.message.content or ""),
            meaning=kept.vectors,
            before=current.seq,
            after=remembered_from(entries) - 1,
            without=_excluded(entries),
        )
        if kept.vectors is None and len(kept.index) <= _INLINE_PASSAGES:
            return search()
        return await asyncio.to_thread(search)


def _current(gathering: DecisionInputs) -> Entry:
    entries = gathering.transcript.entries
    return next(entry for entry in reversed(entries) if entry.message.role == "user")


def _excluded(entries: Sequence[Entry]) -> frozenset[int]:
    """What people left out: marked turns are always loaded, whole. And what a cleanup unloaded, so
    that it takes no other hit's place; what of that wasn't loaded, `decide` refuses."""
    found: set[int] = set()
    for turn in split_turns(entries):
        found.update(excluded_answers(turn))
        if is_excluded(turn) or is_unloaded(turn):
            found.update(entry.seq for entry in turn.entries)
    return frozenset(found)
