"""The content of one slot of the engine's KV cache: its token ids in order, and their messages.

The common beginning of slot and prompt stays. Behind it the engine searches the rest of the slot
for further runs of the prompt, in order and never backwards: each run of at least `chunk` tokens is
kept and shifted to its new place, and the cells between runs are removed. Cells after the last kept
one are dropped. The prompt's last token is always evaluated, since the answer's first token comes
from it.

A cell depends on its token and on every token before it at the time of evaluation. In the common
beginning those are the same; a shifted run keeps the influence of its old context. So only a
message's own cells may be shifted for it: the same words of another message would reveal what the
policy left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from chatsite.encoding import Record

LOADED, MARKED, UNLOADED = 1, 0, -1


@dataclass(frozen=True, slots=True)
class Span:
    """Describes a run of cells that belong together. `key` is the id of the message they hold, with
    what the template puts before it; `size` is in tokens, at least 1."""

    key: str
    size: int


class Place(NamedTuple):
    """Says where a message lies: its first cell, and how many it takes."""

    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Book:
    """Describes the cells of one slot, from 0 without a gap. Immutable."""

    ids: tuple[int, ...] = ()
    spans: tuple[Span, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def places(self) -> Mapping[str, Place]:
        """Return each key's place. Of a key that occurs twice, the first counts: the second half of
        a continued answer is merged with it at the next request."""
        places: dict[str, Place] = {}
        for start, span in self.starts():
            places.setdefault(span.key, Place(start, span.size))
        return places

    def starts(self) -> Iterator[tuple[int, Span]]:
        """Yield each span with its first cell."""
        start = 0
        for span in self.spans:
            yield start, span
            start += span.size

    def faults(self) -> tuple[str, ...]:
        """List the contradictions in the book, none for a sound one. Starts are sums of sizes, so
        spans are always contiguous."""
        faults = [f"{span.key} takes {span.size} cells" for span in self.spans if span.size < 1]
        total = sum(span.size for span in self.spans)
        if total != len(self.ids):
            faults.append(f"sizes add up to {total}, live ids are {len(self.ids)}")
        return tuple(faults)

    def with_answer(self, key: str, ids: Sequence[int]) -> Book:
        """Return the book with an answer appended: the cells of `ids` under `key`, joined with the
        last span where that has the key already (it holds the reply's head)."""
        if not ids:
            return self
        spans = self.spans
        size = len(ids)
        if spans and spans[-1].key == key:
            size += spans[-1].size
            spans = spans[:-1]
        return Book((*self.ids, *ids), (*spans, Span(key, size)))

    def cut_to(self, cells: int) -> Book:
        """Return the book's first cells, for an engine that holds fewer than expected."""
        spans: list[Span] = []
        for start, span in self.starts():
            if start >= cells:
                break
            spans.append(Span(span.key, min(span.size, cells - start)))
        return Book(self.ids[:cells], tuple(spans))


EMPTY = Book()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """Says what must match for a saved file to be loaded: model file, engine version, cell type of
    the cache and the tokens of one slot. Another engine would read nonsense."""

    model: str
    engine: str
    cache: str
    window: int

    def __str__(self) -> str:
        return f"{self.model} {self.engine} {self.cache} {self.window}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Describes one saved slot. `key` is a conversation's id, or `head:` and a digest for an
    agent's beginning. `file` is a name of ours in the sessions' folder, `size` its bytes, `digest`
    the checksum of its content; `fingerprint` that of the engine that wrote it."""

    key: str
    fingerprint: str
    book: Book
    file: str
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class SessionFile:
    """Describes a file in the folder; `used` is the time of its last use."""

    key: str
    size: int
    used: float


def outdated(files: Iterable[SessionFile], *, limit: int) -> list[str]:
    """Return the keys of the least recently used files, so that the rest takes at most `limit`
    bytes."""
    keys: list[str] = []
    total = 0
    for file in sorted(files, key=lambda file: file.used, reverse=True):
        total += file.size
        if total > limit:
            keys.append(file.key)
    return keys


# Where reused tokens came from: the conversation's own slot, its saved session, the agent's shared
# beginning, or nowhere.
Origin = Literal["slot", "session", "shared", "none"]

# A shorter run is kept only where this makes more of the rest fit: a match of few tokens may be a
# chance one, and then what follows it in the prompt finds its own run no more.
CHUNKS = (16, 8, 4, 2, 1)
_IN_NO_PROMPT = "\N{NULL}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """Says what one request does to a slot, in tokens. `prefix` of the `reused` ones stay in place,
    the others are shifted. `chunk` is the engine's parameter: 0 where it is to shift nothing."""

    reused: int
    evaluated: int
    prefix: int
    chunk: int

    @property
    def shifted(self) -> int:
        return self.reused - self.prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheUse(Record):
    """Says what one request did to the cache, in tokens: the plan beside the engine's report.

    `expected` tokens were to be reused, `shifted` of them moved; the engine reported `reused` and
    `evaluated`. The prompt takes `cells` of the `window`. `restored_ms` is how long a saved session
    took to load, None where none was loaded.
    """

    expected: int
    reused: int
    evaluated: int
    shifted: int
    cells: int
    window: int
    origin: Origin
    restored_ms: float | None = None

    @property
    def agrees(self) -> bool:
        return self.expected == self.reused


def plan(live: Book, prompt: Book) -> Reuse:
    """Find the cheapest way from the `live` cells of a slot to `prompt` on which no shifted run
    begins with another message's cells. Raises ValueError without a prompt."""
    cells, wanted = _as_texts(live.ids, prompt.ids)
    best = _reuse_from(cells, wanted, 0)[0]
    live_keys, prompt_keys = _keys_of_cells(live), _keys_of_cells(prompt)
    for chunk in CHUNKS:
        if best.evaluated == 1:
            break
        other, runs = _reuse_from(cells, wanted, chunk)
        # The rest of a run was evaluated behind its first cells: only the beginning must match.
        if other.reused > best.reused and all(
            live_keys[old] == prompt_keys[new] for old, new in runs
        ):
            best = other
    return best


def reuse(live: Sequence[int], prompt: Sequence[int], *, chunk: int) -> Reuse:
    """Compute what the engine does with runs of at least `chunk` tokens; 0: with the common
    beginning alone. Raises ValueError without a prompt."""
    return _reuse_from(*_as_texts(live, prompt), chunk)[0]


def _keys_of_cells(book: Book) -> list[str]:
    return [key for span in book.spans for key in [span.key] * span.size]


def _as_texts(live: Sequence[int], prompt: Sequence[int]) -> tuple[str, str]:
    """Write a letter for each id: Python searches a text many times faster than a list. Ids that
    aren't in the prompt are all one letter."""
    if not prompt:
        raise ValueError("a prompt needs at least one token")
    letters = {id: chr(number) for number, id in enumerate(set(prompt), start=1)}
    wanted = "".join([letters[id] for id in prompt])
    return "".join([letters.get(id, _IN_NO_PROMPT) for id in live]), wanted


def _reuse_from(live: str, prompt: str, chunk: int) -> tuple[Reuse, list[tuple[int, int]]]:
    """Return the reuse, and the shifted runs: the old and the new start of each."""
    prefix = new = _count_equal(live, 0, prompt, 0)
    old = prefix
    runs: list[tuple[int, int]] = []
    while chunk and new + chunk <= len(prompt):
        old = live.find(prompt[new : new + chunk], old)
        if old < 0:
            break
        length = _count_equal(live, old, prompt, new)
        runs.append((old, new))
        old += length
        new += length
    reused = min(new, len(prompt) - 1)
    evaluated = len(prompt) - reused
    reuse = Reuse(reused=reused, evaluated=evaluated, prefix=min(prefix, reused), chunk=chunk)
    return reuse, runs


def _count_equal(live: str, old: int, prompt: str, new: int) -> int:
    """Count the equal letters from place `old` of `live` and place `new` of `prompt` on."""
    most = min(len(live) - old, len(prompt) - new)
    for count in range(most):
        if live[old + count] != prompt[new + count]:
            return count
    return most
