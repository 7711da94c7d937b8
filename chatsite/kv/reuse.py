"""How much of a prompt the engine needn't read again: its own rule, told in advance.

What a slot and the prompt have in common at their beginning stays. Behind it the engine looks for
further runs of the prompt among the rest of the slot, in order and without turning back: each run
of at least `chunk` tokens is kept and shifted to its new place, what lies between is cut out. What
comes after the last kept cell is thrown away, and the prompt's last token is always read, since
the first word of the answer comes from it.

A cell holds more than its token: all that stood before it when it was read. At the beginning that
is the same; a run that is shifted brings what it was read behind. So only a message's own cells may
be shifted for it: the same words of another message would tell what the policy left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from chatsite.encoding import Record
from chatsite.kv.books import Book

# Where reused tokens came from: the conversation's own slot, its saved session, the agent's shared
# beginning, or nowhere.
Origin = Literal["slot", "session", "shared", "none"]

# A shorter run is kept only where this makes more of the rest fit: a match of few tokens may be a
# chance one, and then what follows it in the prompt finds its own run no more.
CHUNKS = (16, 8, 4, 2, 1)
_IN_NO_PROMPT = "\N{NULL}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """What one request does to a slot, in tokens. `prefix` of the `reused` ones stay where they
    are, the others are shifted. `chunk` is what the engine is told: 0 where it is to shift
    nothing."""

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
    best = _reuse(cells, wanted, 0)[0]
    owners, wanting = _keys(live), _keys(prompt)
    for chunk in CHUNKS:
        if best.evaluated == 1:
            break
        other, runs = _reuse(cells, wanted, chunk)
        # What follows a message's own cells was read behind them: it is enough to begin right.
        if other.reused > best.reused and all(owners[a] == wanting[b] for a, b in runs):
            best = other
    return best


def reuse(live: Sequence[int], prompt: Sequence[int], *, chunk: int) -> Reuse:
    """What the engine does with runs of at least `chunk` tokens; 0: with the common beginning
    alone. Raises ValueError without a prompt."""
    return _reuse(*_as_texts(live, prompt), chunk)[0]


def _keys(book: Book) -> list[str]:
    """Whose each cell is."""
    return [key for span in book.spans for key in [span.key] * span.size]


def _as_texts(live: Sequence[int], prompt: Sequence[int]) -> tuple[str, str]:
    """A letter for each id: Python searches a text many times faster than a list. Ids that aren't
    in the prompt are all one letter."""
    if not prompt:
        raise ValueError("a prompt needs at least one token")
    letters = {id: chr(number) for number, id in enumerate(set(prompt), start=1)}
    wanted = "".join([letters[id] for id in prompt])
    return "".join([letters.get(id, _IN_NO_PROMPT) for id in live]), wanted


def _reuse(live: str, prompt: str, chunk: int) -> tuple[Reuse, list[tuple[int, int]]]:
    """And the runs that are shifted: where each begins, and where it goes."""
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
    """How many letters are the same from these two places on."""
    most = min(len(live) - here, len(prompt) - there)
    for count in range(most):
        if live[here + count] != prompt[there + count]:
            return count
    return most
