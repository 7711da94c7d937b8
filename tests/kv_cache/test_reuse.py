"""The forecast of what the engine reuses, against the engine's own rule applied cell by cell."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.kv_cache.books import CHUNKS, Book, Reuse, Span, plan, reuse
from tests.fakes.engine_cells import Cells
from tests.kv_cache.examples import repeatable, slots_and_prompts

WINDOW = 4096


def book(ids: Sequence[int], key: str = "one") -> Book:
    """A book in which all ids belong to one message."""
    return Book(tuple(ids), (Span(key, len(ids)),) if ids else ())


def played(live: Sequence[int], prompt: Sequence[int], *, chunk: int) -> tuple[Cells, Reuse]:
    """The slot after the engine read the prompt, and what the engine reused."""
    slot = Cells()
    slot.evaluate(live)
    reused = slot.begin(prompt, chunk=chunk)
    shifted = sum(cell.shifted for cell in slot.cells)
    slot.evaluate(prompt[reused:])
    return slot, Reuse(
        reused=reused,
        evaluated=len(prompt) - reused,
        prefix=reused - shifted,
        chunk=chunk,
    )


@repeatable
@given(slots_and_prompts(), st.integers(1, 20))
def test_the_engine_reuses_what_was_forecast(both: tuple[list[int], list[int]], chunk: int) -> None:
    live, prompt = both
    slot, done = played(live, prompt, chunk=chunk)
    assert reuse(live, prompt, chunk=chunk) == done
    assert slot.read == slot.ids == prompt
    assert min(done.reused, done.prefix, done.shifted) >= 0 < done.evaluated


@repeatable
@given(slots_and_prompts())
def test_a_plan_has_the_best_chunk_size_for_the_engine(
    both: tuple[list[int], list[int]],
) -> None:
    live, prompt = both
    best = plan(book(live), book(prompt))
    slot, done = played(live, prompt, chunk=best.chunk)
    assert best == done
    assert slot.read == prompt
    others = [reuse(live, prompt, chunk=chunk) for chunk in (*CHUNKS, 0)]
    assert best.reused == max(other.reused for other in others)
    # Among equally good sizes the largest: a short match may be accidental.
    least = min(best.shifted, 1)
    assert best.chunk == max(o.chunk * least for o in others if o.reused == best.reused)


@repeatable
@given(slots_and_prompts())
def test_a_prompt_cut_one_token_after_the_reused_part_reuses_as_much(
    both: tuple[list[int], list[int]],
) -> None:
    """The whole prompt then finds the reused part as its prefix, with nothing to shift."""
    live, prompt = both
    best = plan(book(live), book(prompt))
    left = prompt[: best.reused + 1]
    slot, done = played(live, left, chunk=best.chunk)
    assert (done.reused, done.evaluated) == (best.reused, 1)
    assert plan(book(slot.read), book(prompt)).prefix >= best.reused


@repeatable
@given(slots_and_prompts(), st.integers(1, 50), st.integers(1, 50), st.booleans())
def test_no_message_reuses_the_cells_of_another(
    both: tuple[list[int], list[int]], here: int, there: int, same: bool
) -> None:
    """Slot and prompt hold two messages each and share the second one or none: all shifted cells
    belong to the shared message on both sides."""
    live, prompt = both
    second = "second" if same else "other"
    cells = Book(tuple(live), spans(("first", here), ("second", len(live) - here)))
    wanted = Book(tuple(prompt), spans(("new", there), (second, len(prompt) - there)))
    cells, wanted = cells.cut_to(len(live)), wanted.cut_to(len(prompt))
    done = plan(cells, wanted)
    assert done == played(live, prompt, chunk=done.chunk)[1]
    if done.shifted:
        assert same and done.prefix >= there and len(live) - here >= done.shifted


def spans(*sizes: tuple[str, int]) -> tuple[Span, ...]:
    return tuple(Span(key, size) for key, size in sizes if size > 0)


def test_the_same_words_in_another_message_are_evaluated_again() -> None:
    words = tuple(range(100, 140))
    live = Book((1, 2, *words), (Span("head", 2), Span("left out", 40)))
    prompt = Book((1, 9, *words), (Span("head", 1), Span("asked", 41)))
    done = plan(live, prompt)
    assert (done.reused, done.shifted, done.chunk) == (1, 0, 0)


@repeatable
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(0, 255))
def test_cutting_out_whole_messages_costs_only_what_is_new(sizes: list[int], stays: int) -> None:
    """If no token occurs twice, every message that stays in a cut conversation is reused."""
    ends = list(accumulate(sizes))
    messages = [range(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    kept = [id for at, one in enumerate(messages) if stays >> at & 1 for id in one]
    done = plan(book(range(ends[-1])), book([*kept, 5_000]))
    assert (done.reused, done.evaluated) == (len(kept), 1)


@pytest.mark.parametrize(
    ("live", "prompt", "reused", "prefix", "chunk"),
    [
        ([], [1, 2, 3], 0, 0, 0),
        ([1, 2, 3], [1, 2, 3], 2, 2, 0),
        ([1, 2, 3], [1, 2, 3, 4], 3, 3, 0),
        ([1, 2, 3, 4], [1, 2], 1, 1, 0),
        ([1, 2, 9, 9, 3, 4, 5], [1, 2, 3, 4, 5, 6], 5, 2, 2),
        ([9, *range(10, 26)], [*range(10, 26), 1], 16, 0, 16),
        ([9, *range(10, 25)], [*range(10, 25), 1], 15, 0, 8),
        ([9, 1], [1], 0, 0, 0),
        # The engine stops at a word inserted before known ones.
        ([1, 2, 3, 4, 5], [1, 7, 2, 3, 4, 5], 1, 1, 0),
    ],
)
def test_plain_cases(
    live: list[int], prompt: list[int], reused: int, prefix: int, chunk: int
) -> None:
    done = plan(book(live), book(prompt))
    assert (done.reused, done.prefix, done.chunk) == (reused, prefix, chunk)


def test_a_prompt_needs_at_least_one_token() -> None:
    with pytest.raises(ValueError, match="at least one token"):
        plan(book([1, 2]), book([]))


def _hard_cases() -> dict[str, tuple[list[int], list[int]]]:
    """Whole windows that are expensive to compare."""
    source = random.Random(1)
    some, other = ([source.randrange(40_000) for _ in range(WINDOW)] for _ in range(2))
    return {
        "the same": (some, some),
        "nothing in common": (some, [id + 50_000 for id in other]),
        "anything": (some, other),
        "few words": ([id % 50 for id in some], [id % 50 for id in other]),
        "two words": ([id % 2 for id in some], [id % 2 for id in other]),
        "one word": ([7] * WINDOW, [7] * WINDOW),
        "one word behind another": ([7] * WINDOW, [8] + [7] * (WINDOW - 1)),
        "runs just too short": (([7] * 15 + [8]) * 256, [7] * WINDOW),
        "every third is gone": (some, [id for at, id in enumerate(some) if at % 3]),
        "two rhythms": ([n % 16 for n in range(WINDOW)], [n % 17 for n in range(WINDOW)]),
    }


@pytest.mark.parametrize("name", _hard_cases())
def test_a_plan_for_a_whole_window_takes_no_time(name: str) -> None:
    """Milliseconds in the event loop, before every request (measured: at most 5)."""
    live, prompt = map(book, _hard_cases()[name])
    taken = []
    for _ in range(3):
        started = time.thread_time()
        plan(live, prompt)
        taken.append(time.thread_time() - started)
    assert min(taken) < 0.030


def test_after_cuts_in_two_places_the_rest_is_reused_although_all_messages_have_one_frame() -> None:
    frame = (1, 2, 3)
    words = {number: tuple(range(100 * number, 100 * number + 30)) for number in range(1, 8)}

    def book(*numbers: int) -> Book:
        ids = tuple(id for number in numbers for id in (*frame, *words[number]))
        return Book(ids, tuple(Span(f"m{number}", 33) for number in numbers))

    done = plan(book(1, 2, 3, 4, 5, 6), book(1, 3, 5, 7))
    assert (done.reused, done.evaluated) == (3 * 33 + 3, 30)
    assert plan(book(1, 2, 3), book(7)).reused == 3  # the frame at the beginning, nothing else


def test_equal_words_are_reused_only_within_the_same_message() -> None:
    same = tuple(range(50, 90))
    live = Book((9, *range(100, 140), *same), (Span("s", 1), Span("a", 40), Span("b", 40)))
    assert plan(live, Book((9, *same, 8), (Span("s", 1), Span("c", 41)))).reused == 1
    assert plan(live, Book((9, *same, 8), (Span("s", 1), Span("b", 41)))).reused == 41
