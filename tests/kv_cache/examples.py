"""Examples for the tests of books: the ids in a slot, and prompts that share some of them."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from tests.examples import some

# The same examples in every run, so that a failure is never a matter of luck.
repeatable = settings(max_examples=some(200), deadline=None, derandomize=True, database=None)

# Few different tokens, so that equal runs are frequent, also by chance.
few = st.integers(0, 2)


def _message(number: int, size: int, words: int) -> list[int]:
    """Three tokens of the template and `size` of the message, of which `words` differ. Computed,
    because drawing one token with Hypothesis takes as long as a whole test."""
    return [1, 2, 3, *(10 + 100 * number + at * at % words for at in range(size))]


@st.composite
def slots_and_prompts(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """The ids in a slot and those of a prompt: messages left out, inserted or repeated, in any
    order; in a quarter of the examples unrelated ids."""
    if draw(st.integers(0, 3)) == 0:
        return draw(st.lists(few, max_size=20)), draw(st.lists(few, min_size=1, max_size=20))
    words = draw(st.sampled_from([1, 2, 40]))
    sizes = draw(st.lists(st.integers(1, 40), min_size=1, max_size=6))
    messages = [_message(draw(st.integers(0, 3)), size, words) for size in sizes]
    numbers = st.integers(0, len(messages) - 1)
    loaded = draw(st.lists(numbers, max_size=6))
    if draw(st.booleans()):
        mask = draw(st.integers(0, 63))
        wanted = [number for at, number in enumerate(loaded) if mask >> at & 1]
    else:
        wanted = draw(st.lists(numbers, max_size=6))
    live = [id for number in loaded for id in messages[number]]
    prompt = [id for number in wanted for id in messages[number]] + draw(st.lists(few, max_size=3))
    return live[: draw(st.sampled_from([len(live), len(live) // 2, 20]))], prompt or [1]
