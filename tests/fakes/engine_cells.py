"""One slot of the engine's cache, played slowly: every cell has a position of its own.

Does what llama.cpp's server does with a prompt, step by step (`update_slots` with `n_cache_reuse`),
to both of its records: the ids that it believes to be in the slot, and the cells themselves. It
doesn't use chatsite.kv_cache, so that each can be checked by the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Cell:
    position: int
    id: int
    shifted: bool = False


@dataclass
class Cells:
    """`ids` is the server's own list; `cells` are in any order. Some models can't shift cells: the
    server then ignores the request to do so."""

    ids: list[int] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    shifts: bool = True

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def read(self) -> list[int]:
        """The ids as the model would see them: by position. Raises ValueError where two cells have
        one position, or none has it."""
        found = sorted(self.cells, key=lambda cell: cell.position)
        if [cell.position for cell in found] != list(range(len(found))):
            raise ValueError(f"positions are {[cell.position for cell in found]}")
        return [cell.id for cell in found]

    def remove(self, start: int, end: int | None = None) -> None:
        """llama_memory_seq_rm."""
        self.cells = [
            cell
            for cell in self.cells
            if cell.position < start or (end is not None and cell.position >= end)
        ]

    def shift(self, start: int, end: int, by: int) -> None:
        """llama_memory_seq_add."""
        for cell in self.cells:
            if start <= cell.position < end:
                cell.position += by
                cell.shifted = True

    def begin(self, prompt: Sequence[int], *, chunk: int) -> int:
        """Keep what the slot has of `prompt`; returns how many tokens needn't be evaluated. The
        others aren't there yet: see `evaluate`. With `chunk` 0 nothing is shifted."""
        for cell in self.cells:
            cell.shifted = False
        past = _common(self.ids, prompt)
        if chunk and self.shifts:
            past = self._look_behind(past, prompt, chunk)
        if past == len(prompt):
            past -= 1
        del self.ids[past:]
        self.remove(past)
        return past

    def _look_behind(self, past: int, prompt: Sequence[int], chunk: int) -> int:
        cache, head = past, past
        while cache < len(self.ids) and head < len(prompt):
            match = _common(self.ids[cache:], prompt[head:])
            if match >= chunk:
                self.remove(head, cache)
                self.shift(cache, cache + match, head - cache)
                for offset in range(match):
                    self.ids[head + offset] = self.ids[cache + offset]
                past += match
                cache += match
                head += match
            else:
                cache += 1
        return past

    def evaluate(self, ids: Sequence[int]) -> None:
        for id in ids:
            self.cells.append(Cell(len(self.ids), id))
            self.ids.append(id)

    def clear(self) -> None:
        self.ids.clear()
        self.cells.clear()


def _common(some: Sequence[int], others: Sequence[int]) -> int:
    count = 0
    while count < min(len(some), len(others)) and some[count] == others[count]:
        count += 1
    return count
