"""Cutting a long answer into the posts of a room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chatsite.talk.text.parts import cut

PARAGRAPHS = "\n\n".join(f"{name}. " + "word " * 30 for name in ("One", "Two", "Three", "Four"))
_TEXTS = st.lists(
    st.sampled_from(
        ["word ", "a sentence ends. ", "\n", "\n\n", "```python\n", "```\n", "~~~~\n", "x" * 90]
    )
    | st.text(max_size=5),
    max_size=200,
).map("".join)


@given(_TEXTS, st.integers(1, 400))
def test_parts_together_are_the_text_and_none_is_too_long(text: str, most: int) -> None:
    parts = cut(text, most)
    assert "".join(part.body for part in parts) == text
    assert all(len(part.text) <= most for part in parts)
    assert len(parts) == 1 or all(part.body for part in parts)


def test_a_short_answer_is_one_post() -> None:
    assert [part.text for part in cut("Four metres.", 1000)] == ["Four metres."]


def test_a_long_answer_is_cut_at_a_paragraph() -> None:
    parts = cut(PARAGRAPHS, 400)
    assert [part.body[:3] for part in parts] == ["One", "Thr"]


def test_without_paragraphs_it_is_cut_at_a_line_a_sentence_a_word_or_anywhere() -> None:
    assert cut("one\ntwo\nthree", 10)[0].body == "one\ntwo\n"
    assert cut("One is. Two are. Three", 19)[0].body == "One is. Two are. "
    assert cut("one two three", 10)[0].body == "one two "
    assert cut("x" * 25, 10)[0].body == "x" * 10


def test_code_that_is_cut_is_closed_and_opened_again_in_its_language() -> None:
    lines = "".join(f"line_{n} = {n}\n" for n in range(40))
    first, *more = cut(f"Before:\n\n```python\n{lines}```\n\nAfter.", 300)
    assert first.text.endswith("\n```")
    assert all(part.text.startswith("```python\nline_") for part in more[:-1])
    for part in (first, *more):
        assert part.text.count("```") % 2 == 0
