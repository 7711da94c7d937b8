"""Long texts in pieces: counted piece by piece they have as many tokens as at once."""

from __future__ import annotations

import random

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsite.providers.tokens import tokenizers as tokens_in_pieces
from chatsite.providers.tokens.tokenizers import (
    LONGEST_RUN,
    PIECE,
    O200k,
    Unbroken,
    is_countable,
    pieces,
)
from tests.examples import some
from tests.providers.test_tokenizers import SCRIPTS

MARKS = list(" \n/_\t1!{'aé漢\u3000\u0301\x1c\x85²") + ["  ", "\n\n", " \n", "\n ", "'s", "\r\n"]


@pytest.fixture(scope="module")
def encoding() -> tiktoken.Encoding:
    found = O200k.find()
    assert found is not None
    return found._load()


def length(encoding: tiktoken.Encoding, *texts: str) -> int:
    return sum(len(encoding.encode_ordinary(text)) for text in texts)


@pytest.mark.parametrize("script", SCRIPTS)
def test_ordinary_text_keeps_its_count(encoding: tiktoken.Encoding, script: str) -> None:
    text = f"{SCRIPTS[script]}\n\n" * (3 * PIECE // len(SCRIPTS[script]))
    found = list(pieces(text))
    assert len(found) > 1 and "".join(found) == text
    assert max(map(len, found)) <= LONGEST_RUN
    assert length(encoding, *found) == length(encoding, text)


@settings(max_examples=some(300), deadline=None)
@given(st.lists(st.sampled_from([*MARKS, *SCRIPTS.values()]), min_size=10, max_size=60))
def test_so_does_any_mixture_of_words_and_marks(
    encoding: tiktoken.Encoding, parts: list[str]
) -> None:
    text = "".join(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens_in_pieces, "PIECE", 5)
        found = list(pieces(text))
    assert "".join(found) == text
    assert length(encoding, *found) == length(encoding, text)


def test_a_run_without_a_break_has_a_bound() -> None:
    for run in (" ", "a", "-", "\n", " \t"):
        assert is_countable("word " + run * (LONGEST_RUN // 2 // len(run)))
        assert not is_countable("word " * 30_000 + run * (2 * LONGEST_RUN // len(run)))
        with pytest.raises(Unbroken):
            list(pieces(run * LONGEST_RUN + "x" * LONGEST_RUN))


def test_a_long_text_of_short_words_is_countable() -> None:
    words = random.Random(1).choices(["a", "bc", "word", "1"], k=500_000)
    assert is_countable(" ".join(words))
