"""Verdicts as a reader gets them: runs share no message, cover the path, and no neighbours are
alike."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chatsite.history.decision.shown_verdicts import disjoint_runs


def verdict(first: int, last: int, reason: str = "over_length", **other: Any) -> dict[str, Any]:
    return {
        "first": first,
        "last": last,
        "messages": last - first + 1 if first else 1,
        "role": None,
        "sent": reason in ("pinned", "within_length", "system"),
        "quoted": False,
        "before": 0,
        "reason": reason,
        "sentence": reason,
        "tokens": 10 * (last - first + 1),
        "basis": "counted",
        **other,
    }


def spans_of(run: dict[str, Any]) -> list[tuple[int, int]]:
    return [(first, last) for first, last in run.get("spans", [(run["first"], run["last"])])]


def test_pinned_messages_are_not_counted_among_those_around_them() -> None:
    around = verdict(1, 111, messages=109, tokens=900, basis="estimated")
    first, second = disjoint_runs([around, verdict(4, 5, "pinned")])
    assert spans_of(first) == [(1, 3), (6, 111)]
    assert (first["messages"], first["tokens"]) == (109, 900)
    assert spans_of(second) == [(4, 5)]


def test_what_was_not_loaded_and_its_neighbours_with_the_same_verdict_are_one() -> None:
    [one] = disjoint_runs([verdict(1, 111, basis="estimated"), verdict(112, 135)])
    assert (one["first"], one["last"], one["messages"]) == (1, 135, 135)
    assert one["basis"] == "estimated"
    assert "spans" not in one


def test_neighbours_with_another_reason_stay_apart() -> None:
    runs = disjoint_runs([verdict(1, 4), verdict(5, 6, "excluded"), verdict(7, 8)])
    assert [one["first"] for one in runs] == [1, 5, 7]


def test_the_head_stays_before_all() -> None:
    runs = disjoint_runs([verdict(0, 0, "system"), verdict(0, 0, "prefilled"), verdict(1, 2)])
    assert [one["reason"] for one in runs] == ["system", "prefilled", "over_length"]


@st.composite
def paths(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A part that wasn't loaded, marked messages inside it, and a loaded tail; its numbers have
    gaps where other versions stand."""
    reasons = st.sampled_from(["over_length", "pinned", "excluded", "within_length"])
    number = 1
    inside: list[dict[str, Any]] = []
    not_loaded = 0
    for marked in draw(st.lists(st.booleans(), max_size=12)):
        last = number + draw(st.integers(0, 3))
        if marked:
            inside.append(verdict(number, last, draw(reasons)))
        else:
            not_loaded += last - number + 1
        number = last + 1 + (draw(st.integers(0, 2)) if not marked else 0)
    rest = [verdict(1, number - 1, messages=not_loaded, tokens=not_loaded)] if not_loaded else []
    tail = []
    for reason in draw(st.lists(reasons, max_size=6)):
        last = number + draw(st.integers(0, 3))
        tail.append(verdict(number, last, reason))
        number = last + 1
    return [*rest, *inside, *tail]


@given(paths())
def test_runs_are_disjoint_cover_the_path_and_are_as_long_as_can_be(
    verdicts: list[dict[str, Any]],
) -> None:
    runs = disjoint_runs(verdicts)
    spans = sorted((*span, index) for index, run in enumerate(runs) for span in spans_of(run))
    for before, after in pairwise(spans):
        assert before[1] < after[0], "no message has two verdicts"
        one, other = runs[before[2]], runs[after[2]]
        assert one is not other, "what touches is one span"
        assert one["reason"] != other["reason"], "equal neighbours are one run"
    covered = {n for first, last, _ in spans for n in range(first, last + 1)}
    assert covered == {n for v in verdicts for n in range(v["first"], v["last"] + 1)}
    for name in ("messages", "tokens"):
        assert sum(run[name] for run in runs) == sum(one[name] for one in verdicts)
    narrow = [v for v in verdicts if v["messages"] == v["last"] - v["first"] + 1]
    for own in narrow:
        holders = [runs[i] for first, last, i in spans if first <= own["first"] <= last]
        assert [run["reason"] for run in holders] == [own["reason"]] or own is verdicts[0]


@given(paths())
def test_runs_of_runs_are_the_same_runs_where_nothing_lies_inside(
    verdicts: list[dict[str, Any]],
) -> None:
    runs = disjoint_runs(verdicts)
    assert [one["first"] for one in runs] == sorted(one["first"] for one in runs)
