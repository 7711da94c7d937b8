"""Finds older messages by their words, in an index of each conversation that grows with it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any, Protocol

from chatsite.conversations.owners import Owner
from chatsite.conversations.records import IndexLines, IndexProgress
from chatsite.conversations.search import stored_indexes as search_index
from chatsite.conversations.search.stored_indexes import save_index_part
from chatsite.errors import Refused
from chatsite.history import Evidence
from chatsite.history.evidence import Hit, Recall
from chatsite.history.lexical.ranking import question_in_chat, recall_messages
from chatsite.history.path.marks import (
    excluded_answers,
    is_excluded,
    is_unanswered,
    is_unloaded,
    remembered_from,
)
from chatsite.history.path.transcript import Entry, split_turns
from chatsite.history.policies.lexical import LEXICAL
from chatsite.providers.tokens.sentence_vectors import SentenceVectors
from chatsite.turns.context.decider import DecisionInputs
from chatsite.turns.evidence.index_cache import CHUNK, CachedIndex, IndexCache
from chatsite.turns.evidence.stored_index import load_stored, warm_up
from chatsite.wording import later, say

logger = logging.getLogger("chatsite.turns")

# An index that lacks more messages than this is completed beside the turn: 2,000 of them take
# half a second, and nobody should wait longer for the first word of an answer.
COLD = 2_000
# Up to these, work takes 3 ms: more would hold up everybody's turns on the event loop, but a
# thread's way there and back, and its share of the interpreter, cost as much. A question of 50,000
# characters takes 185 ms, a new message of as many 20. Whenever the passages have doubled all
# vectors are weighed anew, which takes 16 ms at most.
_INLINE_PASSAGES, _INLINE_LINES = 300, 6
# In characters: of a question, and of all the new messages.
_INLINE_QUESTION, _INLINE_TEXT = 500, 4_000
# Passages that an index grows by before they are saved, 100 bytes each: that many are read again
# after a restart, which takes 15 ms. Fewer would compress worse.
SAVE = 64

_COLD_NOTE = later(
    "The {count:,} messages so far are being read for the first time. Until that is done, the "
    "newest turns are sent and none is recalled."
)
_NOT_READY = "The messages are being read for the first time. Search again in a moment."
_FAILED_NOTE = later("The older messages couldn't be searched, so the newest turns are sent.")


class IndexReader(Protocol):
    """What an index is made of: `conversations.search.stored_indexes`, or a path as it once was."""

    async def index_progress(
        self, *, owner: Owner, conversation: str, last: int
    ) -> IndexProgress: ...

    async def lines_between(
        self, *, owner: Owner, conversation: str, after: int, before: int, most: int
    ) -> IndexLines: ...


class Recaller:
    """The gatherer for the policy `relevant` with the selector `lexical`."""

    def __init__(
        self,
        *,
        vectors: SentenceVectors | None = None,
        index: IndexReader = search_index,
        saves: bool = True,
    ) -> None:
        """`saves`: indexes are loaded from disk and saved there."""
        self._index = index
        self._saves = saves
        self.indexes = IndexCache(vectors)
        self._tasks: set[asyncio.Task[Any]] = set()

    async def gather(self, inputs: DecisionInputs) -> Evidence:
        """Return the hits for the current message; where none could be looked for, a note says
        why."""
        # Stop must not leave a thread at work in an index whose lock is free.
        evidence: Evidence = await asyncio.shield(self._task(self._search(inputs)))
        return evidence

    async def find(
        self, *, owner: Owner, conversation: str, query: str, before: int
    ) -> tuple[int, ...]:
        """Find messages above `before` by a query, by number, the best first, also those that
        people left out. Raises Refused while the index isn't complete."""
        return await asyncio.shield(self._task(self._ranked(owner, conversation, query, before)))

    async def _ranked(self, owner: Owner, id: str, query: str, before: int) -> tuple[int, ...]:
        cached = self.indexes.use(id)
        try:
            async with cached.lock:
                if not cached.waiting:
                    await self._follow(cached, owner, id, before)
                if cached.waiting:
                    raise Refused(_NOT_READY)
                asked, meaning = question_in_chat(query), cached.vectors
                ask = partial(recall_messages, cached.index, asked, meaning=meaning, before=before)
                hits = await asyncio.to_thread(ask)
        except Refused:
            raise
        except Exception:
            self.forget(id)
            raise
        finally:
            self.indexes.shrink()
        return tuple(hit.seq for hit in hits)

    def forget(self, conversation: str) -> None:
        """Drop its index: a message in it was changed or deleted."""
        self.indexes.pop(conversation, None)

    def warm_up(self) -> None:
        """Begin to load what the newest conversations need; call this once, at the start."""
        self._task(warm_up(self.indexes))

    async def drain(self) -> None:
        """End the tasks that still read messages."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _task(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _search(self, inputs: DecisionInputs) -> Evidence:
        began = time.perf_counter()
        id = inputs.context.conversation
        try:
            cached = self.indexes.use(id)
            async with cached.lock:
                added = (
                    0
                    if cached.waiting
                    else await self._follow(cached, inputs.context.owner, id, _current(inputs).seq)
                )
                if cached.waiting:
                    return Evidence(notes=(say(_COLD_NOTE, count=cached.waiting),))
                hits = await self._hits(cached, inputs)
            if self._saves and len(cached.index) >= SAVE + (cached.saved or [0])[-1]:
                self._task(self._save(cached, id))
        except Exception:
            logger.exception("the older messages of %s couldn't be searched", id)
            self.forget(id)
            return Evidence(notes=(_FAILED_NOTE,))
        finally:
            self.indexes.shrink()
        report = {
            "passages": len(cached.index),
            "added": added,
            "hits": len(hits),
            "vectors": self.indexes.vectors.name if self.indexes.vectors else None,
            "milliseconds": round(1000 * (time.perf_counter() - began), 1),
        }
        return Evidence(recall=Recall(hits=hits), reports={LEXICAL.evidence: report})

    # ---- following the path ------------------------------------------------------------------
    async def _follow(self, cached: CachedIndex, owner: Owner, id: str, before: int) -> int:
        """Bring the index up to the current message, `before`; how many messages were added.

        Where too many are missing, a task is begun that adds them, and `cached.waiting` says so.
        """
        now = await self._progress(cached, owner, id)
        if cached.text_changes is None and self._saves:
            await load_stored(cached, owner=owner, conversation=id, text_changes=now.text_changes)
            now = await self._progress(cached, owner, id)
        if cached.text_changes not in (None, now.text_changes):
            cached.cut(0)
        cached.text_changes = now.text_changes
        if cached.index.last and not self._holds(cached, now):
            now = await self._progress(cached, owner, id)
        if now.waiting > COLD:
            cached.waiting = now.waiting
            self._task(self._complete(cached, owner, id, before))
            return 0
        return await self._add(cached, owner, id, before=before, most=COLD)

    async def _save(self, cached: CachedIndex, conversation: str) -> None:
        """Store what the index has and the disk hasn't, a part at a time. A failure costs no turn:
        the next turn tries again."""
        try:
            async with cached.lock:
                changes = cached.text_changes or 0
                for part in await asyncio.to_thread(list, cached.unsaved()):
                    if not await save_index_part(
                        conversation=conversation, text_changes=changes, part=part
                    ):
                        return
                    cached.saved.append(part.end)
        except Exception:
            logger.exception("the index of %s couldn't be saved", conversation)

    async def _progress(
        self, cached: CachedIndex, owner: Owner, conversation: str
    ) -> IndexProgress:
        return await self._index.index_progress(
            owner=owner, conversation=conversation, last=cached.index.last
        )

    def _holds(self, cached: CachedIndex, now: IndexProgress) -> bool:
        """Whether all of the index is on the path; what isn't is taken out.

        Up to the newest message that is in both, index and path are the same: a message's place
        in the tree fixes all above it. But for what was deleted there: then fewer are left.
        """
        if now.newest[:1] == (cached.index.last,) and now.messages == cached.messages:
            return True
        known = set(cached.index.seqs)
        common = next((seq for seq in now.newest if seq in known), 0)
        cached.cut(0 if common == cached.index.last else common)
        return False

    async def _add(
        self, cached: CachedIndex, owner: Owner, conversation: str, *, before: int, most: int
    ) -> int:
        found = await self._index.lines_between(
            owner=owner,
            conversation=conversation,
            after=cached.index.last,
            before=before,
            most=most,
        )
        short = sum(len(line.text) for line in found.lines) <= _INLINE_TEXT
        if short and len(found.lines) <= _INLINE_LINES and self._is_small(cached):
            cached.extend(found.lines)
        else:
            await asyncio.to_thread(cached.extend, found.lines)
        cached.messages = found.messages
        return len(found.lines)

    async def _complete(
        self, cached: CachedIndex, owner: Owner, conversation: str, before: int
    ) -> None:
        try:
            while await self._add(cached, owner, conversation, before=before, most=CHUNK):
                pass
        except Exception:
            logger.exception("the messages of %s couldn't be read", conversation)
            self.forget(conversation)
        finally:
            cached.waiting = 0
            self.indexes.shrink()

    # ---- asking ------------------------------------------------------------------------------
    async def _hits(self, cached: CachedIndex, inputs: DecisionInputs) -> tuple[Hit, ...]:
        entries, current = inputs.transcript.entries, _current(inputs)
        # Of a Talk room, only its newest messages are read.
        not_loaded = inputs.transcript.not_loaded
        unread = not_loaded.last if not_loaded.over_talk_limit else -1
        text = current.message.content or ""
        search = partial(
            recall_messages,
            cached.index,
            question_in_chat(text),
            meaning=cached.vectors,
            before=current.seq,
            after=max(remembered_from(entries) - 1, unread),
            without=_excluded(entries),
        )
        if len(text) <= _INLINE_QUESTION and self._is_small(cached):
            return search()
        return await asyncio.to_thread(search)

    def _is_small(self, cached: CachedIndex) -> bool:
        """Whether a short text takes little work. Vectors may have to be read from the disk."""
        ready = self.indexes.vectors is None or self.indexes.vectors.is_loaded
        return ready and len(cached.index) <= _INLINE_PASSAGES


def _current(inputs: DecisionInputs) -> Entry:
    entries = inputs.transcript.entries
    return next(entry for entry in reversed(entries) if entry.message.role == "user")


def _excluded(entries: Sequence[Entry]) -> frozenset[int]:
    """What people left out: marked turns are always loaded, whole. And what a cleanup unloaded or
    was never answered, so that it takes no other hit's place; what of that wasn't loaded, `decide`
    refuses."""
    found: set[int] = set()
    for turn in split_turns(entries):
        found.update(excluded_answers(turn))
        if is_excluded(turn) or is_unloaded(turn) or is_unanswered(turn):
            found.update(entry.seq for entry in turn.entries)
    return frozenset(found)
