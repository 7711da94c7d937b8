"""What a slot of the engine holds: as the books know it, and as a page shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from chatsite import kv_cache as kv
from chatsite.kv_cache import EMPTY, Book, Reuse
from chatsite.providers.embedded.engine import RunningEngine

# In cells. Reading 64 tokens takes a third of a second, restoring a session some milliseconds; for
# fewer tokens neither a file nor restoring pays.
WORTH_RESTORING = 64
NOT_AVAILABLE = (
    "The KV cache's books are not available for this model: its chat template doesn't frame "
    "messages one by one."
)


@dataclass(slots=True)
class SlotContents:
    """What the cells of a slot hold, as far as we know; `book` is None where we don't.

    `saved`: it needn't be saved, because the disk has it as it is, or because it is nobody's.
    `trimmed`: the saved session has more cells than this. `shifts` becomes False once the engine
    didn't shift cells as planned: with some models it can't.
    """

    running: RunningEngine | None = None
    owner: str = ""
    book: Book | None = EMPTY
    saved: bool = True
    trimmed: bool = False
    shifts: bool = True

    def plan(self, prompt: Book) -> Reuse:
        """What a request of the slot's own conversation would find here."""
        return self.plan_from(self.book or EMPTY, prompt)

    def plan_from(self, live: Book, prompt: Book) -> Reuse:
        return kv.plan(live, prompt) if self.shifts else kv.reuse(live.ids, prompt.ids, chunk=0)

    def put(self, owner: str, book: Book | None, *, saved: bool = False) -> None:
        self.owner, self.book = owner, book
        self.saved = saved or book is None or len(book) < WORTH_RESTORING
        self.trimmed = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheView:
    """What of a conversation is in the engine now. `window` and `used` are in cells; `note` is the
    reason where the cache isn't `available`. `misses` counts how often the engine reused another
    number of tokens than the books predicted, since the server's start."""

    available: bool
    note: str
    window: int
    used: int
    place: Literal["slot", "none"]
    misses: int
