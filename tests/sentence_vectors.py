"""The sentence vectors of `make embeddings`, for tests that need them."""

from __future__ import annotations

import pytest

from chatsite.providers.tokens.sentence_vectors import SentenceVectors


def installed_vectors() -> SentenceVectors:
    """Without them the test is left out, which CI doesn't allow."""
    found = SentenceVectors.find()
    if found is None:
        pytest.skip("`make embeddings` installs what this needs")
    return found
