"""Exact values are found as they were written, all of them and nothing else."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.history.anchors import (
    LOST_TOKENS,
    MOST_TOKENS,
    Anchor,
    find_anchors,
    lost_anchors,
    lost_line,
    telling_values,
)
from chatsite.history.token_estimate import estimate

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
    assert lost_anchors(text, "Ada showed it. Graceful!") == {
        Anchor("name", "Grace"): text.index("Grace")
    }


@pytest.mark.parametrize(
    "text",
    [
        "and/or he/she, e.g. 3 dogs, the 2nd; it's state-of-the-art.",
        "The quay is long. Nobody knows why.\nToday it rains! So what?",
        "... --- -- / \\ ~ # @ + ' \"",
    ],
)
def test_ordinary_words_are_no_values(text: str) -> None:
    assert find_anchors(text) == {}


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


# ---- the few for a line --------------------------------------------------------------------------
ORDERS = [
    {"order_id": f"A-{1000 + n}", "customer": name, "placed": "2026-03-04", "tracking": f"TRK{n}77"}
    for n, name in enumerate("Ada Boris Clara Dmitri Edith Farid Greta Hanna".split())
]
ASKED = "list this week's orders; Edith asked about a parcel."


def test_the_values_stand_beside_what_was_asked_for() -> None:
    said = telling_values(json.dumps(ORDERS, indent=1), ASKED)
    assert said == "order_id: A-1004; tracking: TRK477", "not the date of all, not the name"


def test_a_result_reads_the_same_as_it_is_stored() -> None:
    """As JSON on one line, and a text in it as JSON again."""
    plain, stored = json.dumps(ORDERS, indent=1), json.dumps(ORDERS)
    assert telling_values(plain, ASKED) == telling_values(stored, ASKED)
    assert telling_values(json.dumps(stored), ASKED) == telling_values(stored, ASKED)
    log = (
        "\n".join(f"12:0{n} INFO id=a{n}f3 done" for n in range(9))
        + "\n12:10 ERROR id=bad7 harbour"
    )
    assert "id: bad7" in telling_values(json.dumps({"text": log}), "What failed in the harbour?")


@pytest.mark.parametrize("value", ["src/quay_01.py:12", "quay.example/crane:2.4.1"])
def test_a_file_with_its_line_and_an_image_with_its_tag_are_one_value(value: str) -> None:
    text = f"{value} moor\n" + "calm water\n" * 30
    assert telling_values(text, "where do we moor?") == value


@pytest.mark.parametrize("text", ["", "null", "calm water " * 90, "[" * 20_000, '"\\ud800"'])
def test_there_may_be_none(text: str) -> None:
    assert telling_values(text, "What is there?") == ""


@given(st.text(max_size=3_000) | anchors().map(lambda found: " ".join(a.text for a in found)))
def test_they_are_few_on_one_line_and_stand_in_the_text(text: str) -> None:
    stored = json.dumps(text, ensure_ascii=False)
    said = telling_values(stored, "What is there?")
    assert "\n" not in said
    assert estimate(said) <= MOST_TOKENS + 1
    assert len(said) < max(200, len(text)), "much shorter than the result"
    said.encode()
    for value in filter(None, said.split("; ")):
        assert value.rsplit(": ")[-1] in stored


def test_a_hostile_result_takes_no_longer() -> None:
    for text in ("12 " * 30_000, "a" * 90_000, "a_1:" * 20_000, "- " * 40_000, "\n" * 90_000):
        began = time.process_time()
        telling_values(text, "What about 12 and a_1?")
        assert time.process_time() - began < 0.5


# ---- what a summary lost -------------------------------------------------------------------------
@pytest.mark.parametrize("lost", [None, [], {}, "TRK1"])
def test_a_summary_that_lost_nothing_has_no_line(lost: object) -> None:
    assert lost_line(lost) == ""


def test_the_first_lost_values_stand_in_the_line_as_far_as_it_goes() -> None:
    lost = [[f"TRK{1000 + number}", number] for number in range(40)]
    line = lost_line(lost)
    assert ": TRK1000 (0); TRK1001 (1); " in line
    assert estimate(line) <= LOST_TOKENS + 1
    assert 5 < line.count("TRK") < 40
