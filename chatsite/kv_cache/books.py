"""The content of one slot of the engine's KV cache: its token ids in order, and their messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

LOADED, MARKED, UNLOADED = 1, 0, -1


@dataclass(frozen=True, slots=True)
class Span:
    """A run of cells that belong together. `key` is the id of the message they hold, with what
    the template puts before it; `size` is in tokens, at least 1."""

    key: str
    size: int


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a message: its first cell, and how many it takes."""

    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Book:
    """The cells of one slot, from 0 without a gap. Immutable."""

    ids: tuple[int, ...] = ()
    spans: tuple[Span, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def places(self) -> Mapping[str, Place]:
        """Each key's place. Of a key that occurs twice, the first: the second half of a continued
        answer is merged with it at the next request."""
        found: dict[str, Place] = {}
        for start, span in self.starts():
            found.setdefault(span.key, Place(start, span.size))
        return found

    def starts(self) -> Iterator[tuple[int, Span]]:
        start = 0
        for span in self.spans:
            yield start, span
            start += span.size

    def faults(self) -> tuple[str, ...]:
        """Contradictions in the book, empty for a sound one. Starts are sums of sizes, so spans are
        always contiguous."""
        found = [f"{span.key} takes {span.size} cells" for span in self.spans if span.size < 1]
        total = sum(span.size for span in self.spans)
        if total != len(self.ids):
            found.append(f"sizes add up to {total}, live ids are {len(self.ids)}")
        return tuple(found)

    def answered(self, key: str, ids: Sequence[int]) -> Book:
        """The book with an answer appended: the cells of `ids` under `key`, joined with the last
        span where that has the key already (it holds the reply's head)."""
        if not ids:
            return self
        spans = self.spans
        size = len(ids)
        if spans and spans[-1].key == key:
            size += spans[-1].size
            spans = spans[:-1]
        return Book((*self.ids, *ids), (*spans, Span(key, size)))

    def cut_to(self, cells: int) -> Book:
        """The book's first cells, for an engine that holds fewer than expected."""
        spans: list[Span] = []
        for start, span in self.starts():
            if start >= cells:
                break
            spans.append(Span(span.key, min(span.size, cells - start)))
        return Book(self.ids[:cells], tuple(spans))


EMPTY = Book()
