"""Exact values are found as they were written, all of them and nothing else."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.history.anchors import (
    Anchor,
    find_anchors,
    lost_anchors,
)

FORMS = {
    "path": r"/srv/[a-z]{2,8}/[a-z]{2,8}\.(log|py)|https://[a-z]{3,9}\.org/[a-z0-9]{1,9}|"
    r"[a-z]{2,8}/[a-z]{2,8}_[0-9]{1,3}|[a-z]{2,9}\.(yaml|py)|C:\\[a-z]{2,8}\\[a-z]{2,8}",
    "identifier": r"[A-Z]-[0-9]{4}|[0-9][a-f][0-9a-f]{6}|[a-z]{2,8}_[a-z]{2,8}|[a-z]{3,6}Id|"
    r"[a-z]{2,9}@[a-z]{2,9}\.org|[a-z]{2,6}\.[a-z]{2,6}\.[a-z]{2,6}",
    "number": r"[0-9]{2,9}|[0-9]{1,3},[0-9]{3}\.[0-9]{2}|[0-9]\.[0-9]{1,4}|[1-9][0-9]{1,4}(ms|kB)",
    "date": r"20[0-9]{2}-[01][0-9]-[0-3][0-9]|[0-2][0-9]:[0-5][0-9]|(May|June) [1-9] 20[0-9]{2}|"
    r"20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]Z",
    "name": r"[A-Z][a-z]{3,9} [A-Z][a-z]{3,9}|[A-Z][a-z]{2,5}bk",
}
WORDS = st.sampled_from("was seen near the old mill before noon, and".split())


@st.composite
def anchors(draw: st.DrawFn) -> list[Anchor]:
    one = st.sampled_from(sorted(FORMS)).flatmap(
        lambda kind: st.from_regex(FORMS[kind], fullmatch=True).map(
            lambda text: Anchor(kind, text)  # type: ignore[arg-type]
        )
    )
    found = draw(st.lists(one, max_size=8, unique_by=lambda anchor: anchor.text))
    months = {"May", "Jan", "Mar", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
    return [one for one in found if one.kind != "name" or one.text[:3] not in months]


@st.composite
def written(draw: st.DrawFn, values: list[Anchor]) -> str:
    """A text with these values in order, apart from each other."""
    glue = st.sampled_from([" {} ", ' "{}", ', " ({}) ", " is {}.\nit ", "={}\n", "\tto {}, "])
    return "it " + "".join(
        f"{draw(WORDS)} {draw(glue).format(value.text)}{draw(WORDS)} " for value in values
    )


@given(st.data())
def test_every_value_is_found_as_it_was_written_and_nothing_else(data: st.DataObject) -> None:
    values = data.draw(anchors())
    assert list(find_anchors(data.draw(written(values)))) == values


@given(st.data())
def test_what_a_draft_lost_is_the_set_difference(data: st.DataObject) -> None:
    values = data.draw(anchors())
    kept = data.draw(st.lists(st.sampled_from(values), unique=True)) if values else []
    text, draft = data.draw(written(values)), data.draw(written(kept))
    assert set(lost_anchors(text, draft)) == set(values) - set(kept)


def test_a_name_that_begins_a_sentence_of_the_draft_is_not_lost() -> None:
    text = "We met Ada, who showed Grace the slip."
    assert lost_anchors(text, "Ada showed it. Graceful!") == [Anchor("name", "Grace")]


@pytest.mark.parametrize(
    "text",
    [
        "and/or he/she, e.g. 3 dogs, the 2nd; it's state-of-the-art.",
        "The quay is long. Nobody knows why.\nToday it rains! So what?",
        "... --- -- / \\ ~ # @ + ' \"",
    ],
)
def test_ordinary_words_are_no_values(text: str) -> None:
    assert find_anchors(text) == ()


def test_values_in_data_logs_and_code_are_found() -> None:
    text = (
        '{"order_id": "A-4711", "by": "Ada Lovelace", "total": 1,234.50}\n'
        "2026-11-05 10:32:07,123 ERROR [worker-3] host=10.0.3.7 took 312ms\n"
        "-rw-r--r-- 1 root 4096 Nov  5 10:30 src/main.py; see https://a.org/b?c=1&d=2."
    )
    assert [anchor.text for anchor in find_anchors(text)] == [
        *("order_id", "A-4711", "Ada Lovelace", "1,234.50", "2026-11-05", "10:32:07,123"),
        *("worker-3", "10.0.3.7", "312ms", "4096", "Nov  5", "10:30", "src/main.py"),
        "https://a.org/b?c=1&d=2",
    ]


@pytest.mark.parametrize(
    "piece",
    ["a", "/", "a.", "1", "1,", "1,234,", "A ", "Ab ", "Ab", " ", "a-", "'a", "a:", "\\", "_"]
    + [
        "Jan ",
        "http://",
        "ab://",
        "1:1",
        "1-",
        ".",
        "-",
        "#",
        "2026-",
        "\u2019aa",
        "Ab" + " " * 99,
    ],
)
def test_hostile_text_takes_no_longer_than_its_length(piece: str) -> None:
    """A way back from every place would take minutes."""
    text = piece * (300_000 // len(piece))
    began = time.process_time()
    find_anchors(text)
    assert time.process_time() - began < 5
