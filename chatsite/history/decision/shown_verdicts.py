"""Verdicts as a reader gets them, with their sentences: no message has two of them, and no
neighbours are alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from chatsite.history.decision.verdicts import ROLES
from chatsite.history.lexical.sharing import show_why
from chatsite.history.reasons import SENT, SENTENCES
from chatsite.history.room import Window, weakest
from chatsite.messages import Basis
from chatsite.wording import say

Stored = Mapping[str, Any]
Shown = Mapping[str, Any]

# What neighbours have in common where they are one run.
_ALIKE = ("sent", "quoted", "before", "reason", "sentence")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What the sentences of verdicts name: how far the policy goes, in words, the token budget,
    the window, and the low-water mark in percent."""

    scope: str
    budget: int | None
    window: Window
    low_water: int


def show_verdicts(stored: Sequence[Stored], bounds: Bounds, basis: Basis) -> list[dict[str, Any]]:
    """The verdicts of a stored receipt, whose usual basis is `basis`, with all that they leave
    out."""
    return disjoint_runs([_show_verdict(one, bounds, basis) for one in stored])


def _show_verdict(stored: Stored, bounds: Bounds, basis: Basis) -> dict[str, Any]:
    reason, first = stored["reason"], stored.get("first", 0)
    last, before = stored.get("last", first), stored.get("before", 0)
    why = stored.get("why", "")
    return {
        "first": first,
        "last": last,
        "messages": stored.get("messages", last - first + 1),
        "role": stored.get("role", ROLES.get(reason)),
        "sent": reason in SENT,
        "quoted": before > 0,
        "before": before,
        "reason": reason,
        "sentence": show_why(why) if why else _sentence(reason, bounds),
        "tokens": stored["tokens"],
        "basis": stored.get("basis", basis),
    }


def _sentence(reason: str, bounds: Bounds) -> str:
    """Why, for a reader; it completes "sent:" or "not sent:"."""
    if reason == "within_length":
        return say("within {scope}", scope=bounds.scope)
    if reason == "over_length":
        return say("older than {scope}", scope=bounds.scope)
    if reason == "over_budget":
        return say(
            "left out to stay within the budget of {budget:,} tokens", budget=bounds.budget or 0
        )
    if reason == "over_window":
        return say(
            "left out because the model's window of {window:,} tokens is full",
            window=bounds.window.size,
        )
    if reason == "above_cut":
        return say(
            "above the cut: {limit} was exceeded, so the oldest turns went at once, down to "
            "{low_water}% of the room; the beginning then stays the same",
            limit=_limit(bounds),
            low_water=bounds.low_water,
        )
    return say(SENTENCES.get(reason, reason.replace("_", " ")))


def _limit(bounds: Bounds) -> str:
    """What limits the request, in words."""
    if bounds.budget is not None and bounds.budget <= bounds.window.room:
        return say("the budget of {budget:,} tokens", budget=bounds.budget)
    return say("the model's window of {window:,} tokens", window=bounds.window.size)


# ---- runs ------------------------------------------------------------------------------------
def disjoint_runs(verdicts: Sequence[Shown]) -> list[dict[str, Any]]:
    """The verdicts, oldest first, each with its `spans` where it is more than one; the head's
    (with sequence number 0) stay before them as they are.

    Storage knows of the messages that weren't loaded only how many they are, as one verdict from
    the first to the last. Marked messages among them are loaded and have verdicts of their own.
    """
    head = [dict(one) for one in verdicts if one["first"] <= 0]
    path = sorted(
        (one for one in verdicts if one["first"] > 0), key=lambda one: (one["first"], -one["last"])
    )
    run_of: dict[int, _Run] = {}
    spans = sorted(_spans(path), key=lambda span: span.first)
    for _, alike in groupby(spans, key=lambda span: [span.verdict.get(name) for name in _ALIKE]):
        together = list(alike)
        # A verdict around others comes back after them, and is one run with all its neighbours.
        known = (run_of[id(span.verdict)] for span in together if id(span.verdict) in run_of)
        run = next(known, None) or _Run([], [])
        run.spans.append((together[0].first, together[-1].last))
        for span in together:
            if id(span.verdict) not in run_of:
                run_of[id(span.verdict)] = run
                run.verdicts.append(span.verdict)
    return [*head, *(run.shown() for run in dict.fromkeys(run_of.values()))]


@dataclass(frozen=True, slots=True)
class _Span:
    """Messages by sequence number, `last` among them, and the verdict on them."""

    first: int
    last: int
    verdict: Shown


def _spans(verdicts: Sequence[Shown]) -> Iterator[_Span]:
    """What each verdict says that none inside its bounds says."""
    for index, outer in enumerate(verdicts):
        first, last = outer["first"], outer["last"]
        for inner in islice(verdicts, index + 1, None):
            if inner["first"] > last:
                break
            if first < inner["first"]:
                yield _Span(first, inner["first"] - 1, outer)
            first = inner["last"] + 1
        if first <= last:
            yield _Span(first, last, outer)


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """Verdicts that say the same of neighbours."""

    verdicts: list[Shown]
    spans: list[tuple[int, int]]

    def shown(self) -> dict[str, Any]:
        roles = {one["role"] for one in self.verdicts}
        merged = {
            **self.verdicts[0],
            "first": self.spans[0][0],
            "last": self.spans[-1][1],
            "messages": sum(one["messages"] for one in self.verdicts),
            "role": self.verdicts[0]["role"] if len(roles) == 1 else None,
            "tokens": sum(one["tokens"] for one in self.verdicts),
            "basis": weakest(one["basis"] for one in self.verdicts),
        }
        return merged | {"spans": [list(one) for one in self.spans]} if self.spans[1:] else merged
