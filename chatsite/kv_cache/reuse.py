"""How much of a prompt the engine needn't evaluate again: its own rule, computed in advance.

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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from chatsite.encoding import Record
from chatsite.kv_cache.books import Book

# Where reused tokens came from: the conversation's own slot, its saved session, the agent's shared
# beginning, or nowhere.
Origin = Literal["slot", "session", "shared", "none"]

# A shorter run is kept only where this makes more of the rest fit: a match of few tokens may be a
# chance one, and then what follows it in the prompt finds its own run no more.
CHUNKS = (16, 8, 4, 2, 1)
_IN_NO_PROMPT = "\N{NULL}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """What one request does to a slot, in tokens. `prefix` of the `reused` ones stay in place, the
    others are shifted. `chunk` is the engine's parameter: 0 where it is to shift nothing."""

    reused: int
    evaluated: int
    prefix: int
    chunk: int

    @property
    def shifted(self) -> int:
        return self.reused - self.prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class Account(Record):
    """What one request did to the cache, in tokens: the plan beside the engine's report.

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
    """The cheapest way from the `live` cells of a slot to `prompt` on which no shifted run begins
    with another message's cells. Raises ValueError without a prompt."""
    cells, wanted = _as_texts(live.ids, prompt.ids)
    best = _reuse_from(cells, wanted, 0)[0]
    owners, wanting = _keys(live), _keys(prompt)
    for chunk in CHUNKS:
        if best.evaluated == 1:
            break
        other, runs = _reuse_from(cells, wanted, chunk)
        # The rest of a run was evaluated behind its first cells: only the beginning must match.
        if other.reused > best.reused and all(owners[a] == wanting[b] for a, b in runs):
            best = other
    return best


def reuse(live: Sequence[int], prompt: Sequence[int], *, chunk: int) -> Reuse:
    """What the engine does with runs of at least `chunk` tokens; 0: with the common beginning
    alone. Raises ValueError without a prompt."""
    return _reuse_from(*_as_texts(live, prompt), chunk)[0]


def _keys(book: Book) -> list[str]:
    """The key of each cell."""
    return [key for span in book.spans for key in [span.key] * span.size]


def _as_texts(live: Sequence[int], prompt: Sequence[int]) -> tuple[str, str]:
    """A letter for each id: Python searches a text many times faster than a list. Ids that aren't
    in the prompt are all one letter."""
    if not prompt:
        raise ValueError("a prompt needs at least one token")
    letters = {id: chr(number) for number, id in enumerate(set(prompt), start=1)}
    wanted = "".join([letters[id] for id in prompt])
    return "".join([letters.get(id, _IN_NO_PROMPT) for id in live]), wanted


def _reuse_from(live: str, prompt: str, chunk: int) -> tuple[Reuse, list[tuple[int, int]]]:
    """The reuse, and the shifted runs: the old and the new start of each."""
    prefix = same = _common(live, 0, prompt, 0)
    here = prefix
    runs: list[tuple[int, int]] = []
    while chunk and same + chunk <= len(prompt):
        here = live.find(prompt[same : same + chunk], here)
        if here < 0:
            break
        run = _common(live, here, prompt, same)
        runs.append((here, same))
        here += run
        same += run
    reused = min(same, len(prompt) - 1)
    done = Reuse(
        reused=reused,
        evaluated=len(prompt) - reused,
        prefix=min(prefix, reused),
        chunk=chunk,
    )
    return done, runs


def _common(live: str, here: int, prompt: str, there: int) -> int:
    """The number of equal letters from these two places on."""
    most = min(len(live) - here, len(prompt) - there)
    for count in range(most):
        if live[here + count] != prompt[there + count]:
            return count
    return most
