"""How much of a prompt the engine needn't read again: its own rule, told in advance.

What a slot and the prompt have in common at their beginning stays. Behind it the engine looks for
further runs of the prompt among the rest of the slot, in order and without turning back: each run
of at least `chunk` tokens is kept and shifted to its new place, what lies between is cut out. What
comes after the last kept cell is thrown away, and the prompt's last token is always read, since
the first word of the answer comes from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chatsite.kv.books import UNKNOWN

# A shorter run is kept only where this makes more of the rest fit: a match of few tokens may be a
# chance one, and then what follows it in the prompt finds its own run no more.
CHUNKS = (16, 8, 4, 2, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """What one request does to a slot, in tokens. `prefix` of the `reused` ones stay where they
    are, the others are shifted; `removed` cells are given up. `chunk` is what the engine is told.
    """

    reused: int
    evaluated: int
    prefix: int
    removed: int
    chunk: int

    @property
    def shifted(self) -> int:
        return self.reused - self.prefix


def plan(live: Sequence[int], prompt: Sequence[int]) -> Reuse:
    """The cheapest way from the `live` ids of a slot to `prompt`. Raises ValueError without one."""
    if not prompt:
        raise ValueError("a prompt needs at least one token")
    best = reuse(live, prompt, chunk=CHUNKS[0])
    # Where nothing behind the last kept run is in the slot, no other way can be better.
    for chunk in CHUNKS[1:]:
        if best.evaluated <= 1 or not set(live[best.prefix :]) & set(prompt[best.reused :]):
            break
        other = reuse(live, prompt, chunk=chunk)
        if other.reused > best.reused:
            best = other
    return best


def reuse(live: Sequence[int], prompt: Sequence[int], *, chunk: int) -> Reuse:
    """What the engine does with runs of at least `chunk` tokens."""
    prefix = same = _common(live, 0, prompt, 0)
    here = prefix
    while here < len(live) and same < len(prompt):
        run = _common(live, here, prompt, same)
        if run >= chunk:
            here += run
            same += run
        else:
            here += 1
    reused = min(same, len(prompt) - 1)
    return Reuse(
        reused=reused,
        evaluated=len(prompt) - reused,
        prefix=min(prefix, reused),
        removed=len(live) - reused,
        chunk=chunk,
    )


def _common(live: Sequence[int], here: int, prompt: Sequence[int], there: int) -> int:
    """How many tokens are the same from these two places on."""
    most = min(len(live) - here, len(prompt) - there)
    for count in range(most):
        if live[here + count] != prompt[there + count] or live[here + count] == UNKNOWN:
            return count
    return most
