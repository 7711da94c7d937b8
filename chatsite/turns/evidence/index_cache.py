"""The search indexes of conversations, as many as the memory for them holds."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from chatsite.history.lexical.index import Index, Line
from chatsite.providers.tokens.passage_vectors import PassageVectors
from chatsite.providers.tokens.sentence_vectors import SentenceVectors

# Bytes, about, that all indexes may take; the one used longest ago goes first. A conversation of
# 600 messages takes 0.4 MB (1 MB with vectors), one of 50,000 5 MB (60 MB).
MEMORY = 128 * 1024 * 1024


@dataclass(slots=True, kw_only=True)
class CachedIndex:
    """A conversation's index. `messages` is how many the path had up to its end when it was made.

    The lock is held while a task or a thread reads or changes it. While `waiting`, the messages
    that are still to be read, is not 0, a task of its own adds them and nobody else may.
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


class IndexCache(OrderedDict[str, CachedIndex]):
    """By conversation, the one used last at the end."""

    def __init__(self, vectors: SentenceVectors | None, memory: int = MEMORY) -> None:
        super().__init__()
        self.vectors = vectors
        self.memory = memory

    def use(self, conversation: str) -> CachedIndex:
        """The conversation's index, maybe an empty one."""
        cached = self.get(conversation)
        if cached is None:
            index = Index()
            vectors = PassageVectors(self.vectors, index) if self.vectors else None
            cached = self[conversation] = CachedIndex(index=index, vectors=vectors)
        self.move_to_end(conversation)
        return cached

    def shrink(self) -> None:
        """Drop the indexes used longest ago until the rest has room; never the last used one."""
        sizes = {id: cached.size for id, cached in self.items()}
        size = sum(sizes.values())
        for id, cached in list(self.items())[:-1]:
            if size <= self.memory:
                return
            if not cached.waiting:
                size -= sizes[id]
                del self[id]
