"""What lies in one slot of the engine's KV cache: its token ids in order, and whose they are."""

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
    """Where a message lies: its first cell, and how many it takes."""

    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Book:
    """The cells of one slot, from 0 without a gap. Made anew at each step, never changed."""

    ids: tuple[int, ...] = ()
    spans: tuple[Span, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def places(self) -> Mapping[str, Place]:
        """Each key's place. One that comes twice has that of the first: a continued answer's
        second half becomes one with it at the next request."""
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
        """What doesn't hold: empty for a sound book. Starts are sums of sizes, so that they are
        contiguous from 0 needs no look."""
        found = [f"{span.key} takes {span.size} cells" for span in self.spans if span.size < 1]
        total = sum(span.size for span in self.spans)
        if total != len(self.ids):
            found.append(f"sizes add up to {total}, live ids are {len(self.ids)}")
        return tuple(found)

    def answered(self, key: str, ids: Sequence[int]) -> Book:
        """With an answer behind it: the cells of `ids`, under `key` together with the reply's head,
        which the last span holds already where it has that key."""
        if not ids:
            return self
        spans = self.spans
        size = len(ids)
        if spans and spans[-1].key == key:
            size += spans[-1].size
            spans = spans[:-1]
        return Book((*self.ids, *ids), (*spans, Span(key, size)))

    def cut_to(self, cells: int) -> Book:
        """Its beginning: what is left where the engine holds fewer cells than was thought."""
        spans: list[Span] = []
        for start, span in self.starts():
            if start >= cells:
                break
            spans.append(Span(span.key, min(span.size, cells - start)))
        return Book(self.ids[:cells], tuple(spans))


EMPTY = Book()
