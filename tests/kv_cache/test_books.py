"""The book of one slot, after any sequence of answers and cuts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.kv_cache.books import EMPTY, Book, CacheUse, Place, Span
from tests.kv_cache.examples import repeatable

keys = st.sampled_from("abcd")
steps = st.lists(
    st.one_of(
        st.tuples(st.just("answered"), keys, st.lists(st.integers(0, 9), max_size=6)),
        st.tuples(st.just("cut"), st.integers(0, 30)),
    ),
    max_size=12,
)


@repeatable
@given(steps)
def test_the_book_adds_up_after_any_steps(taken: list[tuple[object, ...]]) -> None:
    """The test keeps its own list of cells, as (id, key), and compares the book with it."""
    book = EMPTY
    cells: list[tuple[int, str]] = []
    for step in taken:
        match step:
            case ("answered", str(key), list(ids)):
                book = book.with_answer(key, ids)
                cells += [(id, key) for id in ids]
            case ("cut", int(count)):
                book = book.cut_to(count)
                cells = cells[:count]
        assert book.faults() == ()
        assert list(book.ids) == [id for id, _ in cells]
        assert len(book) == len(cells)
        assert [span.key for span in book.spans for _ in range(span.size)] == [k for _, k in cells]
        check_starts(book)


def check_starts(book: Book) -> None:
    """The spans are contiguous, from 0 to the last live id."""
    starts = list(book.starts())
    assert not starts or starts[0][0] == 0
    for (start, span), (following, _) in pairwise(starts):
        assert start + span.size == following
    assert sum(span.size for _, span in starts) == len(book)
    for key, place in book.places.items():
        assert 0 <= place.start < place.start + place.size <= len(book)
        assert (place.start, Span(key, place.size)) in starts


def test_an_answer_extends_the_span_of_its_first_tokens() -> None:
    book = Book((1, 2, 3), (Span("q", 2), Span("a", 1))).with_answer("a", [4, 5])
    assert book == Book((1, 2, 3, 4, 5), (Span("q", 2), Span("a", 3)))
    assert book.places == {"q": Place(0, 2), "a": Place(2, 3)}


def test_an_empty_answer_changes_nothing() -> None:
    book = Book((1,), (Span("q", 1),))
    assert book.with_answer("a", []) is book


def test_a_key_that_occurs_twice_has_the_place_of_the_first() -> None:
    book = Book((1, 2, 3), (Span("a", 1), Span("q", 1), Span("a", 1)))
    assert book.places["a"] == Place(0, 1)


def test_a_cut_in_the_middle_of_a_message_leaves_its_beginning() -> None:
    book = Book((1, 2, 3, 4), (Span("q", 2), Span("a", 2)))
    assert book.cut_to(3) == Book((1, 2, 3), (Span("q", 2), Span("a", 1)))
    assert book.cut_to(2) == Book((1, 2), (Span("q", 2),))
    assert book.cut_to(0) == EMPTY
    assert book.cut_to(9) == book


@pytest.mark.parametrize(
    ("book", "fault"),
    [
        (Book((1, 2), (Span("q", 1),)), "sizes add up to 1, live ids are 2"),
        (Book((), (Span("q", 2),)), "sizes add up to 2, live ids are 0"),
        (Book((1,), (Span("q", 1), Span("a", 0))), "a takes 0 cells"),
    ],
)
def test_an_inconsistent_book_names_its_fault(book: Book, fault: str) -> None:
    assert book.faults() == (fault,)


def test_an_account_says_whether_the_engine_did_what_was_expected() -> None:
    account = CacheUse(
        expected=5, reused=5, evaluated=2, shifted=1, cells=7, window=64, origin="slot"
    )
    assert account.agrees
    assert account.to_dict() == {
        "expected": 5,
        "reused": 5,
        "evaluated": 2,
        "shifted": 1,
        "cells": 7,
        "window": 64,
        "origin": "slot",
        "restored_ms": None,
    }
