"""The scores of passages are those of their definition, computed the slow way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.history.lexical.index import AROUND, OWN, REACH, Index, Line
from chatsite.history.lexical.scoring import K1, B, scores
from chatsite.history.lexical.words import terms

WORDS = ("tern", "petrel", "gannet", "skua", "may")
BEGAN = datetime(2026, 5, 1, tzinfo=UTC)

messages = st.lists(
    st.tuples(st.lists(st.sampled_from(WORDS), max_size=12), st.sampled_from((1, 1, 1, 1, 400))),
    min_size=1,
    max_size=60,
)


def index_of(said: list[tuple[list[str], int]]) -> Index:
    """Each message after a pause of minutes; one of 400 begins a session."""
    index, at = Index(), BEGAN
    for seq, (words, pause) in enumerate(said, 1):
        at += timedelta(minutes=pause)
        index.extend([Line(seq=seq, author="u", text=" ".join(words), at=at)])
    return index


def defined(said: list[tuple[list[str], int]], asked: set[str]) -> dict[int, float]:
    index = index_of(said)
    own = [terms(" ".join(words)) for words, _ in said]
    session = [index.session_number(place) for place in range(len(said))]
    windows = [
        [
            (OWN if other == place else AROUND[abs(place - other) - 1], own[other])
            for other in range(len(said))
            if session[other] == session[place] and abs(place - other) <= REACH
        ]
        for place in range(len(said))
    ]
    days = [
        {word for word, sessions in index.days.items() if session[place] in sessions}
        for place in range(len(said))
    ]
    near = {
        term: [
            sum(weight * words.count(term) for weight, words in window) + (term in day)
            for window, day in zip(windows, days, strict=True)
        ]
        for term in asked
    }
    widths = [
        sum(weight * len(words) for weight, words in window) + len(day)
        for window, day in zip(windows, days, strict=True)
    ]
    by_own = bm25(
        {term: [words.count(term) for words in own] for term in asked},
        [len(words) for words in own],
    )
    by_window = bm25(near, widths)
    reached = {place for counts in near.values() for place, count in enumerate(counts) if count}
    return {place: scaled(by_own)[place] + scaled(by_window)[place] for place in reached}


def bm25(counts: Mapping[str, Sequence[float]], lengths: Sequence[float]) -> list[float]:
    found = [0.0] * len(lengths)
    mean = max(sum(lengths), 1) / len(lengths)
    for some in counts.values():
        holding = sum(count > 0 for count in some)
        idf = math.log(1 + (len(some) - holding + 0.5) / (holding + 0.5))
        for place, count in enumerate(some):
            slow = K1 * (1 - B + B * lengths[place] / mean)
            found[place] += idf * count / (count + slow)
    return found


def scaled(found: list[float]) -> list[float]:
    mean = sum(found) / len(found)
    variance = sum(score * score for score in found) / len(found) - mean * mean
    return [score / math.sqrt(variance) if variance > 1e-12 else 0.0 for score in found]


@given(said=messages, asked=st.sets(st.sampled_from((*WORDS, "2026")), min_size=1))
def test_scores_are_those_of_the_definition(
    said: list[tuple[list[str], int]], asked: set[str]
) -> None:
    index = index_of(said)
    wanted = set(terms(" ".join(sorted(asked))))
    assert scores(index, wanted) == pytest.approx(defined(said, wanted), rel=1e-3, abs=1e-3)
