"""Sentence vectors of a conversation's passages, as it grows and as it is cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatsite.history.lexical.index import Index, Line
from chatsite.providers.tokens.passage_vectors import PassageVectors
from chatsite.providers.tokens.sentence_vectors import SentenceVectors
from tests.sentence_vectors import installed_vectors

SAID = (
    "We adopted a puppy from the shelter",
    "The train leaves from platform nine",
    "She paints mountains in oil",
    "My salary went up in spring",
    "The soup needs more salt",
)


@pytest.fixture(scope="module")
def vectors() -> SentenceVectors:
    return installed_vectors()


def grown(vectors: SentenceVectors, *groups: tuple[str, ...]) -> PassageVectors:
    index = Index()
    passages = PassageVectors(vectors, index)
    seq = 0
    for group in groups:
        lines = [Line(seq=seq + n, author="u", text=text) for n, text in enumerate(group, 1)]
        seq += len(lines)
        passages.add(index.extend(lines))
    return passages


@pytest.mark.parametrize(
    ("question", "place"),
    [("Do they own a dog?", 0), ("How much money do I earn?", 3), ("What art does she make?", 2)],
)
def test_passages_of_similar_meaning_rank_first(
    vectors: SentenceVectors, question: str, place: int
) -> None:
    scores = grown(vectors, SAID).closeness(question, among=(), best=100).scores
    assert max(scores, key=lambda found: scores[found]) == place


def test_a_long_message_beside_counts_by_its_closest_passage(vectors: SentenceVectors) -> None:
    """What stands before it is as near to its last passage as to its first."""
    filler = "Nothing of note was said about the minutes of the meeting. " * 12
    long = "\n\n".join([filler] * 8 + ["They adopted a puppy, a dog. " * 40])
    said = ("It rained.", long, *SAID[1:], "It rained.")
    index = Index()
    passages = PassageVectors(vectors, index)
    passages.add(
        index.extend(Line(seq=seq, author="u", text=text) for seq, text in enumerate(said, 1))
    )
    assert list(index.seqs).count(2) > 3
    scores = passages.closeness("a dog", among=(), best=100).scores
    assert scores[0] > scores[len(index) - 1] + 0.1


def test_adding_one_by_one_equals_adding_at_once_when_weights_are_recomputed(
    vectors: SentenceVectors,
) -> None:
    slowly = grown(vectors, *((text,) for text in SAID[:4]))
    at_once = grown(vectors, SAID[:4])
    one, other = (made.closeness("a dog", among=(), best=9).scores for made in (slowly, at_once))
    assert one == pytest.approx(other, abs=1e-4)


def test_removed_passages_are_not_found(vectors: SentenceVectors) -> None:
    passages = grown(vectors, SAID)
    passages._index.cut(2)
    passages.cut(2)
    assert set(passages.closeness("salt", among=(), best=9).scores) == {0, 1}
    passages.cut(0)
    assert passages.closeness("salt", among=(), best=9).scores == {}


def test_of_many_passages_the_best_and_the_requested_are_scored(vectors: SentenceVectors) -> None:
    passages = grown(vectors, SAID * 20)
    scores = passages.closeness("a puppy", among={1, 2}, best=10).scores
    assert {1, 2} < set(scores)
    assert len(scores) <= 12


def test_nothing_is_close_to_no_words(vectors: SentenceVectors) -> None:
    assert grown(vectors, SAID).closeness("", among=(), best=9).scores == {}
    assert grown(vectors).closeness("a dog", among=(), best=9).scores == {}
    assert grown(vectors, ("", "one")).closeness("one", among=(), best=9).close == {1}


def test_of_an_endless_text_the_beginning_counts(vectors: SentenceVectors) -> None:
    endless, beginning = "word " * 400_000, "word " * 10_000
    assert vectors.split([endless]) == vectors.split([beginning])
    assert vectors.split([endless, "a"]) == vectors.split([beginning, "a"])


def test_without_the_package_there_are_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("chatsite.providers.tokens.sentence_vectors.find_spec", lambda name: None)
    assert SentenceVectors.find() is None
