"""The search indexes of conversations, as many as the memory for them holds."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from chatsite.conversations.records import IndexPart
from chatsite.errors import Refused
from chatsite.history.lexical.index import Index, Line
from chatsite.history.lexical.stored import dump_part, load_part, part_ends
from chatsite.providers.tokens.passage_vectors import PassageVectors
from chatsite.providers.tokens.sentence_vectors import SentenceVectors

# Bytes, about, that all indexes may take; the one used longest ago goes first. A conversation of
# 600 messages takes 0.4 MB (1 MB with vectors), one of 50,000 5 MB (70 MB).
MEMORY = 128 * 1024 * 1024
# An index that takes more than this part of it stays only while no other one is used, and takes
# no more from the others: one long conversation must not cost all of them their indexes.
LARGEST = 4
# How many messages are read at once for a long conversation.
CHUNK = 500


@dataclass(slots=True, kw_only=True)
class CachedIndex:
    """A conversation's index. `messages` is how many the path had up to its end when it was made.

    `saved` are the ends of the parts on disk, in passages, and `text_changes` the conversation's
    when the index was made; None before the first look at the disk.

    The lock is held while a task or a thread reads or changes it. While `waiting`, the messages
    that are still to be read, is not 0, a task of its own adds them and nobody else may.
    """

    index: Index
    vectors: PassageVectors | None
    messages: int = 0
    waiting: int = 0
    saved: list[int] = field(default_factory=list)
    text_changes: int | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def size(self) -> int:
        return self.index.size + (self.vectors.size if self.vectors else 0)

    def extend(self, lines: Sequence[Line]) -> None:
        texts = self.index.extend(lines)
        if self.vectors is not None:
            self.vectors.add(texts)

    def load(self, parts: Sequence[IndexPart]) -> None:
        """Take what is stored; raises Refused, and has no passages, where that can't be used."""
        try:
            for part in parts:
                load_part(self.index, part.data)
            if self.vectors is not None:
                self.vectors.load([(part.end - part.first, part.tokens) for part in parts])
        except Refused:
            self.index.cut(0)
            raise
        self.saved = [part.end for part in parts]
        self.messages = parts[-1].messages if parts else 0

    def unsaved(self) -> Iterator[IndexPart]:
        """Yield what isn't on disk. Only the last part says how many messages there are: an index
        that ends with another one, since the server ended, is made anew."""
        first = self.saved[-1] if self.saved else 0
        for end in part_ends(self.index, first):
            messages = self.messages if end == len(self.index) else 0
            data = dump_part(self.index, first, end)
            tokens = self.vectors.dump(first, end) if self.vectors else b""
            yield IndexPart(first=first, end=end, messages=messages, data=data, tokens=tokens)
            first = end

    def cut(self, seq: int) -> None:
        self.index.cut(seq)
        while self.saved and self.saved[-1] > len(self.index):
            self.saved.pop()
        if self.vectors is not None:
            self.vectors.cut(len(self.index))


class IndexCache(OrderedDict[str, CachedIndex]):
    """By conversation, the one used last at the end."""

    def __init__(self, vectors: SentenceVectors | None) -> None:
        super().__init__()
        self.vectors = vectors
        self.memory = MEMORY

    def use(self, conversation: str) -> CachedIndex:
        """Return the conversation's index, maybe an empty one."""
        cached = self.get(conversation)
        if cached is None:
            index = Index()
            vectors = PassageVectors(self.vectors, index) if self.vectors else None
            cached = self[conversation] = CachedIndex(index=index, vectors=vectors)
        self.move_to_end(conversation)
        return cached

    def shrink(self) -> None:
        """Drop too large ones, then those used longest ago until the rest has room; never the last
        used one."""
        largest = self.memory // LARGEST
        sizes = {id: min(cached.size, largest + 1) for id, cached in self.items()}
        size = sum(sizes.values())
        others = [id for id, cached in list(self.items())[:-1] if not cached.waiting]
        for id in sorted(others, key=lambda id: sizes[id] <= largest):
            if size <= self.memory and sizes[id] <= largest:
                return
            size -= sizes[id]
            del self[id]
