"""What the tests of the books draw: slots, and prompts that have something in common with them."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

# The same examples in every run, so that a failure is never a matter of luck.
tried = settings(max_examples=200, deadline=None, derandomize=True, database=None)

# Few different tokens: then runs come again and again, also by chance.
few = st.integers(0, 2)


def _message(number: int, size: int, words: int) -> list[int]:
    """Three tokens of the template and `size` of its own, of which `words` are different. Made, not
    drawn: a drawn token costs as much as a whole test."""
    return [1, 2, 3, *(10 + 100 * number + at * at % words for at in range(size))]


@st.composite
def slots_and_prompts(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """A slot's ids and a prompt: messages left out, put in, said again, in any order; or anything
    at all."""
    if draw(st.integers(0, 3)) == 0:
        return draw(st.lists(few, max_size=20)), draw(st.lists(few, min_size=1, max_size=20))
    words = draw(st.sampled_from([1, 2, 40]))
    sizes = draw(st.lists(st.integers(1, 40), min_size=1, max_size=6))
    said = [_message(draw(st.integers(0, 3)), size, words) for size in sizes]
    numbers = st.integers(0, len(said) - 1)
    held = draw(st.lists(numbers, max_size=6))
    if draw(st.booleans()):
        kept = draw(st.integers(0, 63))
        wanted = [number for at, number in enumerate(held) if kept >> at & 1]
    else:
        wanted = draw(st.lists(numbers, max_size=6))
    live = [id for number in held for id in said[number]]
    prompt = [id for number in wanted for id in said[number]] + draw(st.lists(few, max_size=3))
    return live[: draw(st.sampled_from([len(live), len(live) // 2, 20]))], prompt or [1]
