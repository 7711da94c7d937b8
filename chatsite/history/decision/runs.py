"""Verdicts as a reader gets them: runs that share no message, and no two neighbours alike.

Storage knows of the messages that weren't loaded only how many they are, as one verdict from the
first to the last. Marked messages among them are loaded and have verdicts of their own: so the
first one's `spans` leave these out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple

from chatsite.history.values.counts import weakest

Shown = Mapping[str, Any]

# What neighbours have in common where they are one run.
_ALIKE = ("sent", "quoted", "before", "reason", "sentence")


class Span(NamedTuple):
    """Messages by sequence number, `last` among them."""

    first: int
    last: int


def disjoint_runs(verdicts: Sequence[Shown]) -> list[dict[str, Any]]:
    """The verdicts, oldest first, each with its `spans` where it is more than one; the head's
    (with sequence number 0) stay before them as they are."""
    head = [dict(one) for one in verdicts if one["first"] <= 0]
    rest = sorted(
        (one for one in verdicts if one["first"] > 0), key=lambda one: (one["first"], -one["last"])
    )
    pieces = sorted((span, index) for index in range(len(rest)) for span in _spans(rest, index))
    run_of = list(range(len(rest)))
    for (_, before), (_, after) in pairwise(pieces):
        if _alike(rest[before], rest[after]):
            first, second = sorted((_root(run_of, before), _root(run_of, after)))
            run_of[second] = first
    spans: dict[int, list[Span]] = {}
    last = -1
    for span, index in pieces:
        run = _root(run_of, index)
        own = spans.setdefault(run, [])
        if last == run:
            own[-1] = Span(own[-1].first, span.last)
        else:
            own.append(span)
        last = run
    members: dict[int, list[Shown]] = {}
    for index, one in enumerate(rest):
        members.setdefault(_root(run_of, index), []).append(one)
    return [*head, *(_merge(members[run], own) for run, own in spans.items())]


def _spans(rest: Sequence[Shown], index: int) -> list[Span]:
    """What one verdict says that none inside its bounds says."""
    outer = rest[index]
    first, last = outer["first"], outer["last"]
    left = []
    for inner in islice(rest, index + 1, None):
        if inner["first"] > last:
            break
        if first < inner["first"]:
            left.append(Span(first, inner["first"] - 1))
        first = inner["last"] + 1
    return [*left, Span(first, last)] if first <= last else left


def _root(run_of: Sequence[int], index: int) -> int:
    """The first verdict of its run, by way of those that it was joined to."""
    while run_of[index] != index:
        index = run_of[index]
    return index


def _alike(one: Shown, other: Shown) -> bool:
    return all(one.get(name) == other.get(name) for name in _ALIKE)


def _merge(verdicts: Sequence[Shown], spans: Sequence[Span]) -> dict[str, Any]:
    first = verdicts[0]
    roles = {one["role"] for one in verdicts}
    merged = {
        **first,
        "first": spans[0].first,
        "last": spans[-1].last,
        "messages": sum(one["messages"] for one in verdicts),
        "role": first["role"] if len(roles) == 1 else None,
        "tokens": sum(one["tokens"] for one in verdicts),
        "basis": weakest(one["basis"] for one in verdicts),
    }
    merged.pop("spans", None)
    return {**merged, "spans": [list(one) for one in spans]} if len(spans) > 1 else merged
