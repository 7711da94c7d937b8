"""A language that isn't English, for tests: every text of it stands between ⟦ and ⟧."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from chatsite.wording import TRANSLATE, Translator

_MARKED = Translator(
    lambda text: f"⟦{text}⟧",
    lambda one, many, count: f"⟦{one if count == 1 else many}⟧",
    lambda: "pseudo",
)


@contextmanager
def pseudo_language() -> Iterator[None]:
    token = TRANSLATE.set(_MARKED)
    try:
        yield
    finally:
        TRANSLATE.reset(token)


def is_said(text: str) -> bool:
    """Whether all of it comes from the catalogue, as one or several texts side by side."""
    depth = 0
    for letter in text:
        depth += {"⟦": 1, "⟧": -1}.get(letter, 0)
        if depth < 0 or (depth == 0 and letter not in "⟧ "):
            return False
    return depth == 0 and "⟦" in text
